// SELinux of this host: whether it is on, and the file label that the policy gives to containers. Read from the kernel's
// filesystem and the policy's configuration, at the paths that container runtimes read.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SELinux {
  /** The label of a container's files: `user:role:type:level`. */
  readonly fileLabel: string;
}

/** Undefined where SELinux is off, or the policy has no label for containers. `root`: for tests. */
export async function hostSELinux(root = '/'): Promise<SELinux | undefined> {
  const read = (path: string) => readFile(join(root, path), 'utf8').catch(() => undefined);
  if ((await read('sys/fs/selinux/enforce')) === undefined) return undefined;
  const policy = settings(await read('etc/selinux/config')).get('SELINUXTYPE') ?? 'targeted';
  const contexts =
    (await read('usr/share/containers/selinux/contexts')) ??
    (await read(`etc/selinux/${policy}/contexts/lxc_contexts`));
  const labels = settings(contexts);
  const fileLabel = labels.get('file');
  return fileLabel && labels.has('process') ? { fileLabel } : undefined;
}

/** `key = "value"` lines; `#` and `;` start comments. */
function settings(text = ''): Map<string, string> {
  const lines = text.split('\n').filter((line) => !/^\s*[#;]/.test(line) && line.includes('='));
  return new Map(
    lines.map((line) => {
      const at = line.indexOf('=');
      return [
        line.slice(0, at).trim(),
        line
          .slice(at + 1)
          .trim()
          .replaceAll(/^"|"$/g, ''),
      ];
    }),
  );
}

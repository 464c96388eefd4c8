// Finds the programs of a real node, which Berth starts and does not ship: kubelet, containerd, runc and the CNI plugins. Rejects
// with what is missing and how to get it, before anything is started.

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';

export interface KubeletPrograms {
  readonly kubelet: string;
  /** `v1.36.4`. */
  readonly kubeletVersion: string;
  readonly containerd: string;
  readonly containerdVersion: string;
  /** containerd's own client, for importing images. */
  readonly ctr: string;
  /** Directory of the CNI plugins. */
  readonly cni: string;
}

/** A real node cannot be started; the message says why and what to do. */
export class KubeletError extends Error {
  override readonly name = 'KubeletError';
}

/** Directories that the PATH of a user often lacks. */
const MORE_DIRECTORIES = ['/usr/local/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
const CNI_DIRECTORIES = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];
const CNI_PLUGINS = ['bridge', 'host-local', 'loopback', 'portmap'];
const INSTALL =
  'on Debian: apt install containerd runc containernetworking-plugins; see docs/real-containers.md';

/** The first with CRI v1, the only one that a kubelet from 1.26 on speaks. */
const LEAST_CONTAINERD = [1, 6] as const;
/** The first whose configuration has `podLogsDir`, so that logs can be below the data directory. */
const LEAST_KUBELET = [1, 30] as const;

/** `kubelet`: a path, or undefined for the one on the PATH. */
export async function findKubeletPrograms(
  kubelet: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<KubeletPrograms> {
  const directories = [...(env.PATH ?? '').split(delimiter).filter(isAbsolute), ...MORE_DIRECTORIES];
  const find = (name: string): Promise<string | undefined> => firstExecutable(directories, name);
  const need = async (name: string): Promise<string> => {
    const found = await find(name);
    if (found === undefined) throw new KubeletError(`${name} was not found; install it (${INSTALL})`);
    return found;
  };
  const kubeletPath = kubelet === undefined ? await find('kubelet') : resolve(kubelet);
  if (kubeletPath === undefined) {
    throw new KubeletError(
      'kubelet was not found; download it (https://dl.k8s.io/release/VERSION/bin/linux/amd64/kubelet, see ' +
        'docs/real-containers.md) and give its path with --kubelet=PATH',
    );
  }
  if (!(await isExecutable(kubeletPath))) {
    throw new KubeletError(`--kubelet: ${kubeletPath} is not an executable program`);
  }
  const kubeletVersion = await versionOf(kubeletPath, {
    name: 'kubelet',
    pattern: /Kubernetes (v\S+)/,
    least: LEAST_KUBELET,
  });
  const containerd = await need('containerd');
  const containerdVersion = await versionOf(containerd, {
    name: 'containerd',
    pattern: /containerd\/containerd\S* v?(\d\S*)/,
    least: LEAST_CONTAINERD,
  });
  await need('runc');
  const ctr = await need('ctr');
  await need('ip');
  const cni = await firstWithAll(CNI_DIRECTORIES, CNI_PLUGINS);
  if (cni === undefined) {
    throw new KubeletError(
      `the CNI plugins ${CNI_PLUGINS.join(', ')} were not found in ${CNI_DIRECTORIES.join(', ')}; install them (${INSTALL})`,
    );
  }
  return { kubelet: kubeletPath, kubeletVersion, containerd, containerdVersion, ctr, cni };
}

async function versionOf(
  path: string,
  { name, pattern, least }: { name: string; pattern: RegExp; least: readonly [number, number] },
): Promise<string> {
  const output = await new Promise<string>((done, fail) => {
    execFile(path, ['--version'], (error, stdout) => {
      if (error)
        fail(
          new KubeletError(`${path} --version failed: ${error.message}; is it a ${name} for this machine?`),
        );
      else done(stdout);
    });
  });
  const version = pattern.exec(output)?.[1];
  if (version === undefined) {
    throw new KubeletError(`${path} is no ${name}: --version says ${JSON.stringify(output.slice(0, 100))}`);
  }
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const isOld = major < least[0] || (major === least[0] && minor < least[1]);
  if (isOld) {
    throw new KubeletError(`${name} ${version} at ${path} is too old: ${least.join('.')} or newer is needed`);
  }
  return version;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function firstExecutable(directories: readonly string[], name: string): Promise<string | undefined> {
  for (const directory of directories) {
    if (await isExecutable(join(directory, name))) return join(directory, name);
  }
  return undefined;
}

async function firstWithAll(
  directories: readonly string[],
  names: readonly string[],
): Promise<string | undefined> {
  for (const directory of directories) {
    const each = await Promise.all(names.map((name) => isExecutable(join(directory, name))));
    if (each.every(Boolean)) return directory;
  }
  return undefined;
}

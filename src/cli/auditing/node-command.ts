// `berth audit node`: the volume directories and mounts of this machine that no pod owns.

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { auditNode, type NodeAudit } from '../../audit/node/audit-node.ts';
import { diskFiles } from '../../csi-plugin/mount/disk-files.ts';
import type { HttpKubeClient } from '../../runtime/kube/http-kube-client.ts';
import { printableLine } from '../../runtime/log/printable.ts';
import { openLinuxMounter } from '../../runtime/mount/linux-mounter.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { type Environment, UsageError } from '../command.ts';
import { dataDirectory } from './find-driver.ts';

const KUBELET_ROOT = '/var/lib/kubelet';

export async function auditThisNode(options: {
  kube: HttpKubeClient;
  flags: { kubeconfig: string | undefined; root: string | undefined; confirmAfterMs: number };
  env: Environment;
  name: string | undefined;
  signal: AbortSignal;
}): Promise<NodeAudit> {
  const { kube, flags, env, signal } = options;
  const node = options.name ?? hostname();
  const own = join(dataDirectory(flags, env), 'n', node);
  const root = flags.root ?? (existsSync(own) ? own : KUBELET_ROOT);
  if (!existsSync(root))
    throw new UsageError(
      `there is no kubelet directory ${root}; name it with --root, and run this on the node`,
    );
  const mounter = await openLinuxMounter();
  return auditNode(
    {
      kube,
      files: diskFiles(root, realClock),
      mountPoints: async () => (await mounter.list()).map(({ mountPoint }) => mountPoint),
      node,
      root,
      signal,
    },
    { clock: realClock, confirmAfterMs: flags.confirmAfterMs },
  );
}

export function nodeLines({ node, root, orphans, facts }: NodeAudit): string[] {
  const looked = `${facts.podVolumes.length} volumes of pods and ${facts.staged.length} staged volumes`;
  return [
    `node ${node}: ${looked} below ${root}, ${facts.pods.size} pods`,
    ...orphans.flatMap(({ path, says, advice }) => [
      printableLine(`LEAK  ${path}: ${says}`),
      printableLine(`       → ${advice}`),
    ]),
    `${orphans.length} without an owner`,
  ];
}

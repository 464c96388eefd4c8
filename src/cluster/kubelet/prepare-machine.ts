// What a kubelet and a containerd need of this machine: a shared mount, cgroups and a free port; and what containerd's
// configuration must respect on it.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { ContainerdChoices } from './kubelet-plan.ts';
import { KubeletError } from './kubelet-programs.ts';
import { lastLine } from './pod-network.ts';
import type { PlannedRealNode } from './real-node.ts';

const run = promisify(execFile);

const OVERLAYFS_MAGIC = 0x794c7630;
const CAP_SYS_RESOURCE = 24n;

export async function chooseForMachine({
  home,
  programs,
  sandboxImage,
}: Pick<PlannedRealNode, 'home' | 'programs' | 'sandboxImage'>): Promise<ContainerdChoices> {
  // An overlay cannot be the upper layer of another.
  const isOverlay = (await statfs(home.path)).type === OVERLAYFS_MAGIC;
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return {
    cni: programs.cni,
    sandboxImage,
    snapshotter: isOverlay ? 'native' : 'overlayfs',
    lowersOomScore: ((BigInt(`0x${effective}`) >> CAP_SYS_RESOURCE) & 1n) === 1n,
  };
}

/**
 * Drivers in containers mount below the kubelet's root for others to see, which needs shared propagation there. After a
 * crash it is a mount already, with volumes of pods below it.
 */
export async function shareMounts(root: string, mounter: Mounter): Promise<void> {
  if (await mounter.isMountPoint(root)) return;
  try {
    await run('mount', ['--bind', root, root]);
    await run('mount', ['--make-rshared', root]);
  } catch (error) {
    throw new KubeletError(`${root} could not be made a shared mount: ${lastLine(error)}`, { cause: error });
  }
}

/** The kubelet wants its root cgroup to be there: in each hierarchy with v1, in the only one with v2. */
export async function makeCgroups(cgroup: string): Promise<void> {
  const top = '/sys/fs/cgroup';
  const isUnified = existsSync(join(top, 'cgroup.controllers'));
  const hierarchies = isUnified ? ['.'] : await readdir(top);
  for (const hierarchy of hierarchies) {
    if (existsSync(join(top, hierarchy, 'cgroup.procs')))
      await mkdir(join(top, hierarchy, cgroup), { recursive: true });
  }
}

export async function freePort(host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.once('error', reject);
  server.listen(0, host, () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
  });
  return promise;
}

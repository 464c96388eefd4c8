// Clusters with a temporary data directory (--ephemeral) that crashed: no later start has their directory, so the containers
// would run for ever. The next start with a real node ends them.

import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mounter } from '../../runtime/mount/mounter.ts';
import type { Clock } from '../../runtime/ports.ts';
import { unmountBelow } from '../unmount-below.ts';
import { type KubeletHome, kubeletHome } from './kubelet-plan.ts';
import { endLeftovers } from './leftovers.ts';

const ownerFile = ({ path }: KubeletHome): string => join(path, 'owner');

/** A process and when it was started, in the kernel's ticks: process IDs are used again. */
async function identityOf(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return status && `${pid} ${status.slice(status.lastIndexOf(')') + 2).split(' ')[19]}`;
}

/** Says that this process runs the real node. */
export async function claimHome(home: KubeletHome): Promise<void> {
  await writeFile(ownerFile(home), `${await identityOf(process.pid)}\n`);
}

/** Ends what is left of every such cluster in `parent`, and removes its directory; resolves with the directories. */
export async function endAbandoned(
  parent: string,
  ports: { mounter: Mounter; clock: Clock },
): Promise<string[]> {
  const ended: string[] = [];
  for (const name of await readdir(parent)) {
    if (!name.startsWith('berth-')) continue;
    const directory = join(parent, name);
    const home = kubeletHome(directory);
    const owner = (await readFile(ownerFile(home), 'utf8').catch(() => '')).trim();
    if (owner === '' || (await identityOf(Number.parseInt(owner, 10))) === owner) continue;
    await endLeftovers(home, ports);
    const busy = await unmountBelow(directory, { mounter: ports.mounter, keep: new Set(), except: '' });
    // Never through a mount into what it shows.
    if (busy.length === 0) await rm(directory, { recursive: true, force: true });
    ended.push(directory);
  }
  return ended;
}

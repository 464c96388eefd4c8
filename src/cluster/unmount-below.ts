// Unmounts everything below a directory, deepest first, when a cluster ends. Mounts in use stay and are reported. Pods get their
// volumes back at the next start, as after a reboot. Mounts of a driver that keeps running can be kept, as a stopping kubelet
// keeps them.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Mounter } from '../runtime/mount/mounter.ts';

export interface UnmountOptions {
  mounter: Mounter;
  /** Drivers whose mounts stay. */
  keep: ReadonlySet<string>;
  /** A mount that is somebody else's to end. */
  except: string;
}

export async function unmountBelow(
  directory: string,
  { mounter, keep, except }: UnmountOptions,
): Promise<{ path: string; why: string }[]> {
  const mounts = (await mounter.list()).map(({ mountPoint }) => mountPoint);
  const below = new Set(mounts.filter((path) => path.startsWith(`${directory}/`) && path !== except));
  const busy: { path: string; why: string }[] = [];
  const kept: string[] = [];
  // Longest path first: a nested mount has a longer path.
  for (const path of [...below].toSorted((a, b) => b.length - a.length)) {
    const holdsKept = kept.some((each) => each.startsWith(`${path}/`));
    if (holdsKept || (keep.size > 0 && keep.has(await driverOf(path)))) {
      kept.push(path);
      continue;
    }
    try {
      await mounter.unmount(path);
    } catch (error) {
      busy.push({ path, why: (error as Error).message });
    }
  }
  return busy;
}

/** What the node wrote beside the mount point before it was made; the empty name where there is no such record. */
async function driverOf(mountPoint: string): Promise<string> {
  try {
    const record: unknown = JSON.parse(await readFile(join(dirname(mountPoint), 'vol_data.json'), 'utf8'));
    return String((record as { driverName?: unknown }).driverName ?? '');
  } catch {
    return '';
  }
}

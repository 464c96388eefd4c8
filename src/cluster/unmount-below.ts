// Unmounts everything below a directory, deepest first: the end of a cluster on this machine. What is in use stays, and
// is told. Pods whose volumes were unmounted so get them back at the next start, as after a reboot.

import type { Mounter } from '../runtime/mount/mounter.ts';

export async function unmountBelow(
  directory: string,
  mounter: Mounter,
): Promise<{ path: string; why: string }[]> {
  const mounts = (await mounter.list()).map(({ mountPoint }) => mountPoint);
  const below = new Set(mounts.filter((path) => path.startsWith(`${directory}/`)));
  const busy: { path: string; why: string }[] = [];
  // A mount below another is never shorter than it.
  for (const path of [...below].toSorted((a, b) => b.length - a.length)) {
    try {
      await mounter.unmount(path);
    } catch (error) {
      busy.push({ path, why: (error as Error).message });
    }
  }
  return busy;
}

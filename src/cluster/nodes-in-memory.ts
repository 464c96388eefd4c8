// Mounts a tmpfs for the node roots: what a node writes there describes mounts, which end with the machine anyway. On disk much
// of a volume's life would be spent waiting for the journal. The tmpfs survives the process, as the mounts do; data that an
// earlier process left on disk stays there.

import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RECORD_FILE } from '../csi-plugin/mount/volume-paths.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { Log } from '../runtime/ports.ts';

export interface NodesInMemory {
  /** Unmounts it, unless something is still mounted there, or a driver that keeps running has records there. */
  release(options: { keepRecords: boolean }): Promise<void>;
}

export async function keepNodesInMemory(
  directory: string,
  { mounter, log }: { mounter: Mounter; log: Log },
): Promise<NodesInMemory> {
  await mkdir(directory, { recursive: true });
  if (!(await mounter.isMountPoint(directory))) {
    if ((await readdir(directory)).length > 0) return { release: async () => {} };
    try {
      await mounter.mount({ source: 'berth', target: directory, fsType: 'tmpfs', options: ['mode=0755'] });
    } catch (error) {
      log.v(1).info('Nodes keep their directories on disk: no memory filesystem can be mounted', { error });
      return { release: async () => {} };
    }
  }
  return {
    async release({ keepRecords }) {
      const isUsed = (await mounter.list()).some(({ mountPoint }) => mountPoint.startsWith(`${directory}/`));
      if (isUsed || (keepRecords && (await holdsRecords(directory)))) return;
      await mounter.unmount(directory);
    },
  };
}

async function holdsRecords(directory: string): Promise<boolean> {
  const files = await readdir(directory, { recursive: true });
  return files.some((file) => join('/', file).endsWith(`/${RECORD_FILE}`));
}

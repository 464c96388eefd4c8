// A driver for disks of an array, written with the SDK. It reaches nothing but what it is given: the array, the mount table, the files.
// Two mistakes that real drivers make can be switched on.

import {
  type Driver,
  defineDriver,
  type Mounter,
  refuse,
  type SimulatedFiles,
} from '../../src/driver/index.ts';
import type { Disk, DiskArray } from './disk-array.ts';

/** `forgets names`: it remembers in memory which disk it made for a name. `forgets mounts`: likewise what it has mounted. */
export type Mistake = 'forgets names' | 'forgets mounts';

export interface Surroundings {
  array: DiskArray;
  nodeName: string | undefined;
  mounter: Mounter;
  files: SimulatedFiles;
}

export function diskDriver({ array, nodeName, mounter, files }: Surroundings, mistake?: Mistake): Driver {
  const madeFor = new Map<string, Disk>();
  const mounted = new Set<string>();

  /** Nobody knows what the array did if it does not answer: UNAVAILABLE says so, and the caller asks again. */
  async function ask<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw refuse.unavailable(`the array does not answer: ${(error as Error).message}`, error);
    }
  }

  async function existing(volumeId: string): Promise<Disk> {
    const disk = await ask(array.getDisk(volumeId));
    if (disk === undefined) throw refuse.notFound(`volume ${volumeId} does not exist`);
    return disk;
  }

  return defineDriver({
    name: 'disks.example.com',
    version: '1.0.0',
    accessModes: ['SINGLE_NODE_WRITER', 'SINGLE_NODE_READER_ONLY'],
    controller: {
      async createVolume({ name, capacityRange }) {
        const known = mistake === 'forgets names' ? madeFor.get(name) : await ask(array.findDisk(name));
        const bytes = capacityRange?.requiredBytes ?? 1n << 30n;
        const disk = known ?? (await ask(array.createDisk(name, bytes)));
        madeFor.set(name, disk);
        return { volume: { volumeId: disk.id, capacityBytes: disk.bytes } };
      },
      async deleteVolume({ volumeId }) {
        const disk = await ask(array.getDisk(volumeId));
        if (disk?.attachedTo)
          throw refuse.failedPrecondition(`volume ${volumeId} is attached to ${disk.attachedTo}`);
        await ask(array.deleteDisk(volumeId));
        return {};
      },
      async controllerPublishVolume({ volumeId, nodeId }) {
        const { attachedTo } = await existing(volumeId);
        if (attachedTo !== undefined && attachedTo !== nodeId)
          throw refuse.failedPrecondition(`volume ${volumeId} is attached to ${attachedTo}`);
        await ask(array.attachDisk(volumeId, nodeId));
        return { publishContext: { device: `/dev/disk/by-id/${volumeId}` } };
      },
      async controllerUnpublishVolume({ volumeId, nodeId }) {
        await ask(array.detachDisk(volumeId, nodeId));
        return {};
      },
      async validateVolumeCapabilities({ volumeId, volumeCapabilities }) {
        await existing(volumeId);
        return { confirmed: { volumeCapabilities } };
      },
    },
    node: {
      nodeGetInfo: () => ({ nodeId: nodeName ?? '' }),
      async nodePublishVolume({ targetPath, publishContext, readonly }) {
        await files.makeDirectory(targetPath);
        if (!(await mounter.isMountPoint(targetPath)))
          await mounter.bind(publishContext.device ?? '', targetPath, { readOnly: readonly });
        mounted.add(targetPath);
        return {};
      },
      async nodeUnpublishVolume({ targetPath }) {
        if (mistake === 'forgets mounts' && !mounted.has(targetPath)) return {};
        await mounter.unmount(targetPath);
        await files.remove(targetPath);
        mounted.delete(targetPath);
        return {};
      },
    },
  });
}

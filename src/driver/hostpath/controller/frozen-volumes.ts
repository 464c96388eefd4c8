// Freezes volumes while they are copied. The filesystem of a mounted image is frozen, so that the copy is consistent; a
// raw device is flushed; a directory is only locked against other operations of the driver, so its copy is a copy of
// files in use. After a crash thawVolume thaws at start-up; it is harmless when nothing is frozen.

import { open } from 'node:fs/promises';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { existingVolume, type HostpathCore, volumeLock } from '../core.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Locks the volumes, in sorted order against deadlock, and freezes the mounted ones while `work` runs. */
export async function withFrozenVolumes<T>(
  core: HostpathCore,
  volumeIds: readonly VolumeHandle[],
  work: () => Promise<T>,
): Promise<T> {
  const [first, ...rest] = volumeIds.toSorted();
  if (first === undefined) return work();
  return core.locks.exclusive(volumeLock(first), async () => {
    const volume = existingVolume(core, first);
    const paths = await frozenPaths(core, volume);
    try {
      for (const path of paths) {
        await core.step('freeze');
        await core.mounter.freeze(path);
      }
      return await withFrozenVolumes(core, rest, work);
    } finally {
      for (const path of paths) {
        await core.step('thaw');
        await core.mounter.thaw(path);
      }
    }
  });
}

async function frozenPaths(core: HostpathCore, volume: VolumeRecord): Promise<string[]> {
  if (volume.backing !== 'image') return [];
  if (volume.accessType === 'block') {
    const image = core.layout.volume(volume.id);
    for (const device of await core.mounter.loop.find(image, { readOnly: false })) await flush(device);
    return [];
  }
  // Mounts of one image share one filesystem: any of them can freeze it.
  return (await mountedPaths(core, volume.id)).slice(0, 1);
}

async function mountedPaths(core: HostpathCore, volumeId: VolumeHandle): Promise<string[]> {
  const paths: string[] = [];
  for (const { record } of core.records.stagings.findAll('volume', volumeId)) {
    if (record.accessType === 'mount' && (await core.mounter.isMountPoint(record.path)))
      paths.push(record.path);
  }
  return paths;
}

async function flush(device: string): Promise<void> {
  const handle = await open(device, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Undoes the freeze of a process that died. The caller holds the volume's lock. */
export async function thawVolume(core: HostpathCore, volumeId: VolumeHandle): Promise<void> {
  if (core.records.volumes.get(volumeId)?.backing !== 'image') return;
  for (const path of (await mountedPaths(core, volumeId)).slice(0, 1)) await core.mounter.thaw(path);
}

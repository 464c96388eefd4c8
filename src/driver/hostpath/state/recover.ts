// Crash recovery at start-up: rolls back operations that an earlier process did not finish. Volumes that a live process
// works on are locked by it, and skipped. Mounts are not touched: their calls are retried, and repair them.

import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { thawVolume } from '../controller/frozen-volumes.ts';
import { discardGroup } from '../controller/group-snapshot-operations.ts';
import { discardVolume } from '../controller/remove-volume.ts';
import { discardSnapshot } from '../controller/snapshot-operations.ts';
import { groupLock, type HostpathCore, snapshotLock, volumeLock } from '../core.ts';

export async function recover(core: HostpathCore): Promise<void> {
  const { records, log } = core;
  const say = (what: string, id: string, state: string) =>
    log.info(`rolling back a ${what} that an earlier process left unfinished`, { id, state });

  for (const { record } of records.groups.list()) {
    if (record.state === 'ready') continue;
    await core.locks.ifFree(groupLock(record.id), async () => {
      const group = records.groups.get(record.id);
      if (group === undefined || group.state === 'ready') return;
      say('group snapshot', group.id, group.state);
      for (const volumeId of group.sourceVolumeIds) await thawIfFree(core, volumeId);
      await discardGroup(core, group);
    });
  }
  for (const { record } of records.snapshots.list()) {
    if (record.state === 'ready' || record.groupSnapshotId !== undefined) continue;
    await core.locks.ifFree(snapshotLock(record.id), async () => {
      const snapshot = records.snapshots.get(record.id);
      if (snapshot === undefined || snapshot.state === 'ready') return;
      say('snapshot', snapshot.id, snapshot.state);
      await thawIfFree(core, snapshot.sourceVolumeId);
      await discardSnapshot(core, snapshot);
    });
  }
  for (const { record: volume } of records.volumes.list()) {
    if (volume.state === 'ready') continue;
    await core.locks.ifFree(volumeLock(volume.id), async () => {
      const current = records.volumes.get(volume.id);
      if (current === undefined || current.state === 'ready') return;
      say('volume', current.id, current.state);
      if (current.source && 'volumeId' in current.source) await thawIfFree(core, current.source.volumeId);
      await discardVolume(core, current);
    });
  }
  for (const name of await core.files.list(core.layout.volumes)) {
    // A directory is created empty before its record: see createPlainDirectory. One with content is kept.
    if (!isVolumeName(name) || records.volumes.get(name) !== undefined) continue;
    await core.locks.ifFree(volumeLock(name), async () => {
      if (records.volumes.get(name) !== undefined) return;
      if (await core.files.removeEmpty(core.layout.volume(name))) say('directory', name, 'without a record');
    });
  }
}

/** Names with a hash or a suffix belong to volumes whose record is written first. */
function isVolumeName(name: string): name is VolumeHandle {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);
}

/** If the volume's lock is held, its holder is alive and will thaw it. */
async function thawIfFree(core: HostpathCore, volumeId: VolumeHandle): Promise<void> {
  await core.locks.ifFree(volumeLock(volumeId), () => thawVolume(core, volumeId));
}

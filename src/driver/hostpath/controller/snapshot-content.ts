// Creates and removes the copies behind snapshots. For one snapshot or a group: all volumes are frozen together, all
// copies are made, then all records become ready in one transaction.

import type { SnapshotHandle } from '../../../csi/names/driver-name.ts';
import type { HostpathCore } from '../core.ts';
import type { SnapshotRecord } from '../state/records.ts';
import { withFrozenVolumes } from './frozen-volumes.ts';

export async function cutSnapshots(
  core: HostpathCore,
  snapshots: readonly SnapshotRecord[],
): Promise<number> {
  const sources = snapshots.map(({ sourceVolumeId }) => sourceVolumeId);
  return withFrozenVolumes(core, sources, async () => {
    const cutAt = core.clock.now();
    for (const snapshot of snapshots) await copyToSnapshot(core, snapshot);
    return cutAt;
  });
}

async function copyToSnapshot(core: HostpathCore, snapshot: SnapshotRecord): Promise<void> {
  const path = core.layout.snapshot(snapshot.id);
  const unfinished = core.layout.unfinished(path);
  await core.step('snapshot: clear');
  await core.files.removeTree(unfinished);
  await core.files.removeTree(path);
  await core.step('snapshot: copy');
  await core.files.copy(core.layout.volume(snapshot.sourceVolumeId), unfinished);
  await core.step('snapshot: rename');
  await core.files.rename(unfinished, path);
}

/** Removes the content of a snapshot. The caller holds its lock and removes its record. */
export async function removeSnapshotContent(core: HostpathCore, snapshotId: SnapshotHandle): Promise<void> {
  const path = core.layout.snapshot(snapshotId);
  await core.step('snapshot: remove content');
  await core.files.removeTree(core.layout.unfinished(path));
  await core.files.removeTree(path);
}

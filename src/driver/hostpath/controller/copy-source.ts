// Fills a new volume from a snapshot or another volume. The copy is written under a temporary name and renamed when
// complete, so a volume is never seen partly filled.

import { refuse } from '../../refuse.ts';
import { type HostpathCore, snapshotLock } from '../core.ts';
import type { VolumeRecord, VolumeSource } from '../state/records.ts';
import { withFrozenVolumes } from './frozen-volumes.ts';

export async function copySource(
  core: HostpathCore,
  volume: VolumeRecord,
  source: VolumeSource,
): Promise<void> {
  const path = core.layout.volume(volume.id);
  if ((await core.files.kindOf(path)) !== 'absent') return;
  if ('snapshotId' in source) {
    const { snapshotId } = source;
    await core.locks.exclusive(snapshotLock(snapshotId), async () => {
      if (core.records.snapshots.get(snapshotId)?.state !== 'ready') {
        throw refuse.notFound(`snapshot ${snapshotId} does not exist`);
      }
      await copyWhole(core, core.layout.snapshot(snapshotId), path, volume);
    });
    return;
  }
  await withFrozenVolumes(core, [source.volumeId], () =>
    copyWhole(core, core.layout.volume(source.volumeId), path, volume),
  );
}

async function copyWhole(core: HostpathCore, from: string, to: string, volume: VolumeRecord): Promise<void> {
  const unfinished = core.layout.unfinished(to);
  await core.step('copy: clear');
  await core.files.removeTree(unfinished);
  await core.step('copy: copy');
  await core.files.copy(from, unfinished);
  await core.step('copy: grow');
  if (volume.backing === 'image') await core.files.growImage(unfinished, volume.sizeBytes);
  await core.step('copy: rename');
  await core.files.rename(unfinished, to);
}

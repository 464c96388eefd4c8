// Fills a new volume from a snapshot or another volume. The copy is made under another name and renamed when it is
// whole, so a volume is never seen half full.

import type { HostpathCore } from './core.ts';
import { withFrozenVolumes } from './frozen-volumes.ts';
import type { VolumeRecord, VolumeSource } from './records.ts';

export async function copySource(
  core: HostpathCore,
  volume: VolumeRecord,
  source: VolumeSource,
): Promise<void> {
  const path = core.layout.volume(volume.id);
  if ((await core.files.kindOf(path)) !== 'absent') return;
  if ('snapshotId' in source) {
    await copyWhole(core, core.layout.snapshot(source.snapshotId), path, volume);
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

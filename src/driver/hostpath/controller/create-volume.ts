// Creates a volume: record, placement, content. A record in state `creating` is written before any change on disk,
// except for a plain directory, which is created before its record. What a crash leaves is completed or rolled back by
// the next call or at start-up.

import type { TopologyRequirement } from '../../../csi/index.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { findOrCreate } from '../../find-or-create.ts';
import { refuse } from '../../refuse.ts';
import { existingVolume, type HostpathCore, volumeLock } from '../core.ts';
import type { VolumeRecord, VolumeSource } from '../state/records.ts';
import { copySource } from './copy-source.ts';
import { placeVolume } from './placement.ts';
import { difference, planVolume, type SourceRecord, sourceOf, type VolumeRequest } from './plan-volume.ts';
import { discardVolume } from './remove-volume.ts';

export type CreateRequest = VolumeRequest & { accessibilityRequirements?: TopologyRequirement | undefined };

/** The volume of that name, or the record of a new one if there is enough capacity. */
export function recordVolume(
  core: HostpathCore,
  request: CreateRequest,
  state: 'creating' | 'ready',
  id = core.random.uuid() as VolumeHandle,
): VolumeRecord {
  return findOrCreate(core.store, core.records.volumes, {
    kind: 'volume',
    name: request.name,
    differs: (existing) => difference(existing, request, core),
    make: () => {
      const source = sourceRecord(core, sourceOf(request.volumeContentSource));
      const plan = planVolume(request, core, source);
      const topology = placeVolume(core, plan.sizeBytes, request.accessibilityRequirements);
      return { key: id, record: { id, name: request.name, state, ...plan, ...(topology && { topology }) } };
    },
  });
}

export function isPlainDirectory(core: HostpathCore, request: CreateRequest): boolean {
  return request.volumeContentSource === undefined && planVolume(request, core).backing === 'directory';
}

/**
 * The common case, with one transaction instead of two: the directory first, then its record. Start-up removes a
 * directory without a record; the lock protects one that is being created.
 */
export function createPlainDirectory(core: HostpathCore, request: CreateRequest): Promise<VolumeRecord> {
  const id = core.random.uuid() as VolumeHandle;
  const path = core.layout.volume(id);
  return core.locks.exclusive(volumeLock(id), async () => {
    await core.step('volume: make');
    await core.files.makeVolumeDirectory(path);
    let record: VolumeRecord | undefined;
    try {
      await core.step('volume: record');
      record = recordVolume(core, request, 'ready', id);
    } finally {
      // A volume of that name exists, or there is not enough capacity.
      if (record?.id !== id) await core.files.removeTree(path);
    }
    return record;
  });
}

/** Creates the content for a record in state `creating`; removes everything again if that fails. */
export async function finishCreation(
  core: HostpathCore,
  record: VolumeRecord,
  signal?: AbortSignal,
): Promise<VolumeRecord> {
  if (record.state === 'ready') return record;
  return core.locks.exclusive(
    volumeLock(record.id),
    async () => {
      // Another process may have made it ready or cleaned it up since the record was read.
      const current = core.records.volumes.get(record.id);
      if (current?.state === 'ready') return current;
      if (current?.state !== 'creating') {
        throw refuse.aborted(`volume ${record.name} is being deleted; retry when that has ended`);
      }
      try {
        await makeContent(core, current);
      } catch (error) {
        await discardVolume(core, current);
        throw error;
      }
      await core.step('volume: mark ready');
      const ready: VolumeRecord = { ...current, state: 'ready' };
      core.records.volumes.put(ready.id, ready);
      return ready;
    },
    signal,
  );
}

async function makeContent(core: HostpathCore, volume: VolumeRecord): Promise<void> {
  const path = core.layout.volume(volume.id);
  if (volume.source !== undefined) return copySource(core, volume, volume.source);
  await core.step('volume: make');
  if (volume.backing === 'directory') await core.files.makeVolumeDirectory(path);
  else await core.files.makeImage(path, volume.sizeBytes);
}

function sourceRecord(core: HostpathCore, source: VolumeSource | undefined): SourceRecord | undefined {
  if (source === undefined) return undefined;
  if ('volumeId' in source) return existingVolume(core, source.volumeId);
  const snapshot = core.records.snapshots.get(source.snapshotId);
  if (snapshot?.state !== 'ready') throw refuse.notFound(`snapshot ${source.snapshotId} does not exist`);
  return snapshot;
}

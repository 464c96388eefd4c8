// CreateSnapshot, DeleteSnapshot, and the calls that read snapshots. As with volumes, a record is written before any
// change on disk. Snapshots are copies: they do not depend on their volume, nor volumes restored from them on the
// snapshot.

import type { SnapshotSchema } from '../../../csi/index.ts';
import type { GroupSnapshotHandle, SnapshotHandle } from '../../../csi/names/driver-name.ts';
import type { MessageInitShape } from '../../../wire/protobuf/descriptor.ts';
import { timestampFromMs } from '../../../wire/protobuf/well-known.ts';
import type { ControllerOperations } from '../../driver.ts';
import { findOrCreate } from '../../find-or-create.ts';
import { paginate } from '../../pagination.ts';
import { refuse } from '../../refuse.ts';
import type { ListOptions } from '../../state/state-store.ts';
import { checkSecrets, existingVolume, type HostpathCore, snapshotLock } from '../core.ts';
import { readPassing, type SnapshotRecord, type VolumeRecord } from '../state/records.ts';
import { cutSnapshots, removeSnapshotContent } from './snapshot-content.ts';

export function snapshotOperations(core: HostpathCore) {
  const { records, store, can } = core;

  const createSnapshot: ControllerOperations['createSnapshot'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    const { name, sourceVolumeId } = request;
    const record = findOrCreate(store, records.snapshots, {
      kind: 'snapshot',
      name,
      differs: (existing) =>
        existing.sourceVolumeId === sourceVolumeId
          ? undefined
          : `its source is volume ${existing.sourceVolumeId}`,
      make: () => {
        const made = newSnapshot(core, existingVolume(core, sourceVolumeId), { name });
        return { key: made.id, record: made };
      },
    });
    const ready = record.state === 'ready' ? record : await finishSnapshot(core, record, signal);
    return { snapshot: snapshotMessage(ready) };
  };

  const deleteSnapshot: ControllerOperations['deleteSnapshot'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    const snapshot = records.snapshots.get(request.snapshotId);
    if (snapshot === undefined) return {};
    if (snapshot.groupSnapshotId !== undefined) {
      throw refuse.invalidArgument(
        `snapshot ${snapshot.id} belongs to group snapshot ${snapshot.groupSnapshotId}; delete that instead`,
      );
    }
    await core.locks.exclusive(snapshotLock(snapshot.id), () => discardSnapshot(core, snapshot), signal);
    return {};
  };

  const listSnapshots: ControllerOperations['listSnapshots'] = (request) => {
    checkSecrets(core, request.secrets);
    const { snapshotId, sourceVolumeId } = request;
    if (snapshotId !== '') {
      const snapshot = records.snapshots.get(snapshotId);
      const matches =
        snapshot?.state === 'ready' && (sourceVolumeId === '' || snapshot.sourceVolumeId === sourceVolumeId);
      return { entries: matches ? [{ snapshot: snapshotMessage(snapshot) }] : [] };
    }
    const source = (options: ListOptions) =>
      sourceVolumeId === ''
        ? records.snapshots.list(options)
        : records.snapshots.findAll('volume', sourceVolumeId, options);
    const page = paginate(request, {
      read: (after, limit) => readPassing(source, ({ state }) => state === 'ready', { after, limit }),
      keyOf: ({ id }) => id,
    });
    return {
      entries: page.items.map((snapshot) => ({ snapshot: snapshotMessage(snapshot) })),
      nextToken: page.nextToken,
    };
  };

  const getSnapshot: ControllerOperations['getSnapshot'] = (request) => {
    checkSecrets(core, request.secrets);
    const snapshot = records.snapshots.get(request.snapshotId);
    if (snapshot?.state !== 'ready') throw refuse.notFound(`snapshot ${request.snapshotId} does not exist`);
    return { snapshot: snapshotMessage(snapshot) };
  };

  if (!can.snapshots) return {};
  return {
    createSnapshot,
    deleteSnapshot,
    ...(can.listSnapshots && { listSnapshots }),
    ...(can.getSnapshot && { getSnapshot }),
  };
}

export function newSnapshot(
  core: HostpathCore,
  volume: VolumeRecord,
  { name, groupSnapshotId }: { name: string; groupSnapshotId?: GroupSnapshotHandle },
): SnapshotRecord {
  return {
    id: core.random.uuid() as SnapshotHandle,
    name,
    state: 'creating',
    sourceVolumeId: volume.id,
    backing: volume.backing,
    accessType: volume.accessType,
    ...(volume.fsType && { fsType: volume.fsType }),
    sizeBytes: volume.sizeBytes,
    createdAt: core.clock.now(),
    ...(groupSnapshotId && { groupSnapshotId }),
  };
}

function finishSnapshot(
  core: HostpathCore,
  record: SnapshotRecord,
  signal: AbortSignal,
): Promise<SnapshotRecord> {
  const work = async () => {
    // Another process may have made it ready or cleaned it up since the record was read.
    const current = core.records.snapshots.get(record.id);
    if (current?.state === 'ready') return current;
    if (current?.state !== 'creating') {
      throw refuse.aborted(`snapshot ${record.name} is being deleted; retry when that has ended`);
    }
    try {
      const createdAt = await cutSnapshots(core, [current]);
      await core.step('snapshot: mark ready');
      const ready: SnapshotRecord = { ...current, state: 'ready', createdAt };
      core.records.snapshots.put(ready.id, ready);
      return ready;
    } catch (error) {
      await discardSnapshot(core, current);
      throw error;
    }
  };
  return core.locks.exclusive(snapshotLock(record.id), work, signal);
}

/** Removes the content of a snapshot, then its record. The caller holds the snapshot's lock. */
export async function discardSnapshot(core: HostpathCore, snapshot: SnapshotRecord): Promise<void> {
  // A snapshot that is not ready needs no `deleting` state, and a full disk could not store it before the removal.
  if (snapshot.state === 'ready') {
    await core.step('snapshot: mark deleting');
    core.records.snapshots.put(snapshot.id, { ...snapshot, state: 'deleting' });
  }
  await removeSnapshotContent(core, snapshot.id);
  await core.step('snapshot: remove record');
  core.records.snapshots.delete(snapshot.id);
}

export function snapshotMessage(snapshot: SnapshotRecord): MessageInitShape<typeof SnapshotSchema> {
  return {
    snapshotId: snapshot.id,
    sourceVolumeId: snapshot.sourceVolumeId,
    sizeBytes: snapshot.sizeBytes,
    creationTime: timestampFromMs(snapshot.createdAt),
    readyToUse: true,
    ...(snapshot.groupSnapshotId && { groupSnapshotId: snapshot.groupSnapshotId }),
  };
}

// The group controller service: atomic snapshots of several volumes. Images are frozen together.

import type { GroupSnapshotHandle, SnapshotHandle, VolumeHandle } from '../../../csi/names/driver-name.ts';
import { timestampFromMs } from '../../../wire/protobuf/well-known.ts';
import type { GroupControllerOperations } from '../../driver.ts';
import { findOrCreate } from '../../find-or-create.ts';
import { refuse } from '../../refuse.ts';
import { checkSecrets, existingVolume, groupLock, type HostpathCore, snapshotLock } from '../core.ts';
import type { GroupSnapshotRecord, SnapshotRecord } from '../state/records.ts';
import { cutSnapshots, removeSnapshotContent } from './snapshot-content.ts';
import { newSnapshot, snapshotMessage } from './snapshot-operations.ts';

export function groupSnapshotOperations(core: HostpathCore): GroupControllerOperations {
  const { records, store } = core;
  return {
    async createVolumeGroupSnapshot(request, { signal }) {
      checkSecrets(core, request.secrets);
      const { name, sourceVolumeIds } = request;
      const group = findOrCreate(store, records.groups, {
        kind: 'group snapshot',
        name,
        differs: (existing) =>
          sameMembers(existing.sourceVolumeIds, sourceVolumeIds)
            ? undefined
            : 'its source volumes are others',
        make: () => {
          const made = newGroup(core, name, sourceVolumeIds);
          return { key: made.id, record: made };
        },
      });
      if (group.state !== 'ready') {
        await core.locks.exclusive(groupLock(group.id), () => finishGroup(core, group.id), signal);
      }
      return { groupSnapshot: groupMessage(core, group.id) };
    },

    async deleteVolumeGroupSnapshot(request, { signal }) {
      checkSecrets(core, request.secrets);
      const group = records.groups.get(request.groupSnapshotId);
      if (group === undefined) return {};
      requireMembers(group, request.snapshotIds);
      await core.locks.exclusive(groupLock(group.id), () => discardGroup(core, group), signal);
      return {};
    },

    getVolumeGroupSnapshot(request) {
      checkSecrets(core, request.secrets);
      const group = records.groups.get(request.groupSnapshotId);
      if (group?.state !== 'ready') {
        throw refuse.notFound(`group snapshot ${request.groupSnapshotId} does not exist`);
      }
      requireMembers(group, request.snapshotIds);
      return { groupSnapshot: groupMessage(core, group.id) };
    },
  };
}

/** Returns the group's record, for the caller to write; writes those of its snapshots in the same transaction. */
function newGroup(core: HostpathCore, name: string, volumeIds: readonly VolumeHandle[]): GroupSnapshotRecord {
  if (new Set(volumeIds).size !== volumeIds.length) {
    throw refuse.invalidArgument('source_volume_ids names a volume twice');
  }
  const id = core.random.uuid() as GroupSnapshotHandle;
  const snapshots = volumeIds.map((volumeId) =>
    newSnapshot(core, existingVolume(core, volumeId), {
      name: `group ${id} ${volumeId}`,
      groupSnapshotId: id,
    }),
  );
  for (const snapshot of snapshots) core.records.snapshots.put(snapshot.id, snapshot);
  return {
    id,
    name,
    state: 'creating',
    sourceVolumeIds: [...volumeIds],
    snapshotIds: snapshots.map((snapshot) => snapshot.id),
    createdAt: core.clock.now(),
  };
}

async function finishGroup(core: HostpathCore, groupSnapshotId: GroupSnapshotHandle): Promise<void> {
  // Another process may have made it ready or cleaned it up since the record was read.
  const group = core.records.groups.get(groupSnapshotId);
  if (group?.state === 'ready') return;
  if (group?.state !== 'creating') {
    throw refuse.aborted(`group snapshot ${groupSnapshotId} is being deleted; retry when that has ended`);
  }
  try {
    const members = membersOf(core, group);
    const createdAt = await cutSnapshots(core, members);
    await core.step('group snapshot: mark ready');
    core.store.transaction(() => {
      for (const member of members)
        core.records.snapshots.put(member.id, { ...member, state: 'ready', createdAt });
      core.records.groups.put(group.id, { ...group, state: 'ready', createdAt });
    });
  } catch (error) {
    await discardGroup(core, group);
    throw error;
  }
}

/** The caller holds the group's lock. */
export async function discardGroup(core: HostpathCore, group: GroupSnapshotRecord): Promise<void> {
  // As for a single snapshot: one that is not ready needs no `deleting` state, and a full disk could not store it.
  if (group.state === 'ready') {
    await core.step('group snapshot: mark deleting');
    core.store.transaction(() => {
      for (const member of membersOf(core, group)) {
        core.records.snapshots.put(member.id, { ...member, state: 'deleting' });
      }
      core.records.groups.put(group.id, { ...group, state: 'deleting' });
    });
  }
  for (const snapshotId of group.snapshotIds) {
    await core.locks.exclusive(snapshotLock(snapshotId), () => removeSnapshotContent(core, snapshotId));
  }
  await core.step('group snapshot: remove records');
  core.store.transaction(() => {
    for (const snapshotId of group.snapshotIds) core.records.snapshots.delete(snapshotId);
    core.records.groups.delete(group.id);
  });
}

function membersOf(core: HostpathCore, group: GroupSnapshotRecord): SnapshotRecord[] {
  return core.records.snapshots.findAll('group', group.id).map(({ record }) => record);
}

/** Callers may omit snapshot_ids; if given, they must be exactly the members. */
function requireMembers(group: GroupSnapshotRecord, snapshotIds: readonly SnapshotHandle[]): void {
  if (snapshotIds.length > 0 && !sameMembers(group.snapshotIds, snapshotIds)) {
    throw refuse.invalidArgument(
      `snapshot_ids are not those of group snapshot ${group.id}: ${group.snapshotIds.join(', ')}`,
    );
  }
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a.toSorted()) === JSON.stringify(b.toSorted());
}

function groupMessage(core: HostpathCore, groupSnapshotId: GroupSnapshotHandle) {
  const group = core.records.groups.get(groupSnapshotId);
  if (group === undefined) throw refuse.aborted(`group snapshot ${groupSnapshotId} was deleted meanwhile`);
  return {
    groupSnapshotId,
    snapshots: membersOf(core, group).map(snapshotMessage),
    creationTime: timestampFromMs(group.createdAt),
    readyToUse: true,
  };
}

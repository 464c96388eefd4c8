// Snapshots without a content, and contents without a snapshot; members of groups with their group. Pure.

import type { ContentRow, GroupContentRow, StorageSnapshot } from '../facts.ts';
import type { Action, Finding } from '../finding.ts';
import type { FactIndex } from './fact-index.ts';
import { keptOnPurpose } from './find-volumes.ts';
import type { JudgeOptions } from './options.ts';
import { snapshotOwner } from './ownership.ts';
import { isYoung, targetOf } from './parts.ts';

export function* findSnapshots(index: FactIndex, options: JudgeOptions): Generator<Finding> {
  const { snapshots } = index.storage;
  if (snapshots === undefined) return;
  const seenGroups = new Set<string>();
  for (const snapshot of snapshots.values()) {
    if (isKnown(index, snapshot) || mayBeInFlight(index, snapshot)) continue;
    if (snapshot.createdMs !== undefined && isYoung(index, snapshot.createdMs, options)) continue;
    // One finding a group: its members are deleted together.
    if (snapshot.group !== '' && seenGroups.has(snapshot.group)) continue;
    seenGroups.add(snapshot.group);
    yield leaked(index, snapshot, options);
  }
  for (const content of index.cluster.contents ?? []) {
    if (content.handle === '' || snapshots.has(content.handle)) continue;
    const finding = missing(index, content, options);
    if (finding) yield finding;
  }
  for (const group of index.cluster.groupContents ?? []) {
    if (group.members.length === 0 || group.members.some((member) => snapshots.has(member))) continue;
    const finding = missingGroup(index, group, options);
    if (finding) yield finding;
  }
}

function isKnown(index: FactIndex, { id, group }: StorageSnapshot): boolean {
  return (
    index.contentsByHandle.has(id) ||
    index.groupsByMember.has(id) ||
    (group !== '' && index.groupsByHandle.has(group))
  );
}

/** A content of the same volume waits for its handle. */
function mayBeInFlight({ cluster }: FactIndex, { source }: StorageSnapshot): boolean {
  return (
    (cluster.contents ?? []).some((each) => each.handle === '' && each.source === source) ||
    (cluster.groupContents ?? []).some((each) => each.handle === '' && each.sources.includes(source))
  );
}

function leaked(index: FactIndex, snapshot: StorageSnapshot, options: JudgeOptions): Finding {
  const { id, source, bytes, createdMs, group } = snapshot;
  const { owner, why } = snapshotOwner(index, snapshot, options);
  const members =
    group === '' ? [] : [...(index.storage.snapshots?.values() ?? [])].filter((each) => each.group === group);
  const base = {
    id: group === '' ? `snapshot-leaked/${id}` : `snapshot-leaked/group/${group}`,
    kind: 'snapshot-leaked' as const,
    subject: group === '' ? `snapshot ${id}` : `group snapshot ${group}`,
    says:
      group === ''
        ? 'the driver lists it, and no VolumeSnapshotContent names it'
        : `the driver lists its member ${id}, and no content of a snapshot or group names it`,
    evidence: [
      `${group === '' ? 'it' : id} is of volume ${source}`,
      why,
      ...(group === '' ? [] : [`its members are ${members.map((member) => member.id).join(', ')}`]),
    ],
    bytes: group === '' ? bytes : members.reduce((sum, member) => sum + member.bytes, 0n),
    ...(createdMs !== undefined && { sinceMs: createdMs }),
    fingerprint: [id, source, ...members.map((member) => member.id), owner].join(' '),
  };
  const doubt = (advice: string): Finding => ({ ...base, severity: 'doubt', advice });
  if (owner !== 'ours' || index.cluster.contents === undefined)
    return doubt(
      'it may be another cluster’s: nothing is done; if the storage is this cluster’s alone, say --exclusive',
    );
  const kept = keptOnPurpose(index.cluster.snapshotClasses, 'VolumeSnapshotClass', options);
  if (kept) return doubt(kept);
  const action = actionFor(index, snapshot, members);
  if (action === undefined)
    return doubt('a member of its group is still in use: members are deleted with their group');
  return { ...base, severity: 'leak', action };
}

function actionFor(
  index: FactIndex,
  { id, group }: StorageSnapshot,
  members: readonly StorageSnapshot[],
): Action | undefined {
  if (group === '') return { do: 'DeleteSnapshot', snapshotId: id };
  if (!index.storage.can.has('CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT')) return undefined;
  if (members.some((member) => isKnown(index, member))) return undefined;
  const snapshotIds = members.map((member) => member.id).toSorted();
  return { do: 'DeleteVolumeGroupSnapshot', groupSnapshotId: group, snapshotIds };
}

function missing(index: FactIndex, content: ContentRow, options: JudgeOptions): Finding | undefined {
  const { key, handle, deletedMs, createdMs, snapshot, snapshotUid, isOfGroup } = content;
  if (deletedMs !== undefined || content.isBeingDeleted || isYoung(index, createdMs, options))
    return undefined;
  const { snapshots = [] } = index.cluster;
  const isBound = snapshots.some(({ uid, content: bound }) => uid === snapshotUid || bound === key);
  const base = {
    id: `snapshot-missing/${key}`,
    kind: 'snapshot-missing' as const,
    severity: 'leak' as const,
    subject: `VolumeSnapshotContent ${key}`,
    says: `its snapshot ${handle} is not among those that the driver lists`,
    evidence: [
      isBound ? `VolumeSnapshot ${snapshot} has it` : `its VolumeSnapshot ${snapshot} does not exist`,
    ],
    fingerprint: [content.uid, handle, isBound].join(' '),
  };
  if (isBound || isOfGroup || index.cluster.snapshots === undefined)
    return {
      ...base,
      advice: 'its data is gone or out of reach: delete the VolumeSnapshot, which cannot be restored',
    };
  return { ...base, action: { do: 'delete-object', object: targetOf('volumesnapshotcontents', content) } };
}

function missingGroup(index: FactIndex, group: GroupContentRow, options: JudgeOptions): Finding | undefined {
  if (group.deletedMs !== undefined || group.isBeingDeleted || isYoung(index, group.createdMs, options))
    return undefined;
  return {
    id: `snapshot-missing/group/${group.key}`,
    kind: 'snapshot-missing',
    severity: 'leak',
    subject: `VolumeGroupSnapshotContent ${group.key}`,
    says: `none of its ${group.members.length} snapshots is among those that the driver lists`,
    evidence: [`group ${group.handle} of VolumeGroupSnapshot ${group.group}`],
    fingerprint: [group.uid, ...group.members].join(' '),
    advice: 'its data is gone or out of reach: delete the VolumeGroupSnapshot, which cannot be restored',
  };
}

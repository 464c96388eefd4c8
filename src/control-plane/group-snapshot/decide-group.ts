// The next step for one VolumeGroupSnapshot, from it, its content and its members. Pure: the reconciler performs the step,
// reads again, and asks for the next.

import { memberNames, refersToGroup } from '../../api/group-snapshots.ts';
import type {
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../api/kinds.ts';
import { ANN_GROUP_SNAPSHOT_BEING_DELETED, FINALIZER_GROUP_SNAPSHOT_BOUND } from '../../api/well-known.ts';
import type { Failure } from '../snapshot/plan-content.ts';
import { errorChange, type StatusChange } from '../snapshot/snapshot-status.ts';
import { groupStatusChange, isCut, isReady } from './group-status.ts';
import type { GroupPlan } from './plan-group-content.ts';
import type { Member } from './plan-member.ts';

export type GroupStep =
  | { do: 'nothing'; why: string }
  /** With `isUnplanned` nothing can be cut as things are, so no claim that is being deleted has to wait. */
  | ({ do: 'fail'; unready: boolean; isUnplanned?: true } & Failure)
  /** Set the finalizer on the group snapshot, and the class where it was chosen for it. */
  | { do: 'protect'; className?: string }
  | { do: 'protect-claims'; claims: readonly PersistentVolumeClaim[] }
  | { do: 'create-content'; plan: GroupPlan }
  /** Bind a pre-provisioned content to this group snapshot. */
  | { do: 'bind-content'; content: VolumeGroupSnapshotContent }
  | { do: 'create-members'; content: VolumeGroupSnapshotContent; infos: readonly Member['info'][] }
  | ({ do: 'write-status' } & StatusChange)
  | { do: 'delete-members'; members: readonly VolumeSnapshot[] }
  | { do: 'delete-strays'; strays: readonly VolumeSnapshotContent[] }
  | { do: 'mark-content'; content: VolumeGroupSnapshotContent }
  | { do: 'delete-content'; content: VolumeGroupSnapshotContent }
  | { do: 'release' };

export interface GroupFacts {
  group: VolumeGroupSnapshot;
  /** The content that the group snapshot names, or that was created for it; it may be bound to another one. */
  content: VolumeGroupSnapshotContent | undefined;
  /** The VolumeSnapshots that it owns. */
  members: readonly VolumeSnapshot[];
  /** Contents of members whose VolumeSnapshots are gone. Read only for a group snapshot that is being deleted. */
  strays?: readonly VolumeSnapshotContent[];
  /** Read only where a content is to be created. */
  plan(): GroupPlan | Failure;
  /** Whether the claim keeps its finalizer until it is let go on purpose. */
  isHeld(claim: PersistentVolumeClaim): boolean;
}

const fail = (reason: string, message: string): GroupStep => ({ do: 'fail', reason, message, unready: true });
const nothing = (why: string): GroupStep => ({ do: 'nothing', why });

export function decideGroup(facts: GroupFacts): GroupStep {
  const { group, content } = facts;
  if (group.metadata.deletionTimestamp !== undefined) return decideDeletion(facts);
  const { selector, volumeGroupSnapshotContentName } = group.spec.source;
  if ((selector === undefined) === (volumeGroupSnapshotContentName === undefined)) {
    return fail(
      'GroupSnapshotValidationError',
      'exactly one of selector and volumeGroupSnapshotContentName must be given as the source',
    );
  }
  if (content === undefined) return decideWithoutContent(facts);
  return (
    mismatch(group, content) ??
    protection(group) ??
    (content.spec.volumeGroupSnapshotRef.uid ? undefined : { do: 'bind-content', content }) ??
    follow(facts, content)
  );
}

function decideWithoutContent({ group, plan, isHeld }: GroupFacts): GroupStep {
  const { volumeGroupSnapshotContentName: given } = group.spec.source;
  if (given !== undefined) {
    return fail('GroupSnapshotContentMissing', `VolumeGroupSnapshotContent "${given}" does not exist`);
  }
  // A new content would hold other data than the group snapshot promises.
  if (isCut(group) || isReady(group)) {
    const name = group.status?.boundVolumeGroupSnapshotContentName ?? '';
    return fail(
      'GroupSnapshotContentMissing',
      `VolumeGroupSnapshotContent "${name}" no longer exists; the group snapshot is lost`,
    );
  }
  const planned = plan();
  if ('reason' in planned) return { do: 'fail', ...planned, unready: true, isUnplanned: true };
  const protect = protection(group, planned.groupClass.metadata.name);
  if (protect !== undefined) return protect;
  const unprotected = planned.claims.filter((claim) => !isHeld(claim));
  return unprotected.length > 0
    ? { do: 'protect-claims', claims: unprotected }
    : { do: 'create-content', plan: planned };
}

/** Both must reference each other and agree: dynamically created, or pre-provisioned. */
function mismatch(group: VolumeGroupSnapshot, content: VolumeGroupSnapshotContent): GroupStep | undefined {
  const { name } = content.metadata;
  const { source, volumeGroupSnapshotRef: ref } = content.spec;
  const wasThereFirst = group.spec.source.volumeGroupSnapshotContentName !== undefined;
  if (wasThereFirst !== (source.groupSnapshotHandles !== undefined)) {
    return fail(
      'GroupSnapshotContentMismatch',
      wasThereFirst
        ? `VolumeGroupSnapshotContent "${name}" was created dynamically; a pre-provisioned one is expected`
        : `VolumeGroupSnapshotContent "${name}" is pre-provisioned; a dynamically created one is expected`,
    );
  }
  const isMeant = ref.name === group.metadata.name && ref.namespace === group.metadata.namespace;
  if (refersToGroup(ref, group) || (wasThereFirst && isMeant && !ref.uid)) return undefined;
  const isBound = group.status?.boundVolumeGroupSnapshotContentName !== undefined && isReady(group);
  return fail(
    isBound ? 'GroupSnapshotMisbound' : 'GroupSnapshotContentMisbound',
    `VolumeGroupSnapshotContent "${name}" is bound to another group snapshot`,
  );
}

function protection(
  { metadata: { finalizers = [] }, spec }: VolumeGroupSnapshot,
  className = spec.volumeGroupSnapshotClassName,
): GroupStep | undefined {
  const isChosen = className !== undefined && className !== spec.volumeGroupSnapshotClassName;
  if (finalizers.includes(FINALIZER_GROUP_SNAPSHOT_BOUND) && !isChosen) return undefined;
  return { do: 'protect', ...(isChosen && { className }) };
}

function follow({ group, members }: GroupFacts, content: VolumeGroupSnapshotContent): GroupStep {
  // A ready group snapshot stays ready: the storage is not checked again.
  if (isReady(group) && group.status?.boundVolumeGroupSnapshotContentName !== undefined) {
    return nothing('it is ready');
  }
  const infos = memberInfos(content);
  const missing = infos.filter(({ volumeHandle }) => {
    const { snapshot } = memberNames(group.metadata.uid, volumeHandle);
    const member = members.find(({ metadata }) => metadata.name === snapshot);
    return member?.status?.boundVolumeSnapshotContentName === undefined;
  });
  if (missing.length > 0) return { do: 'create-members', content, infos: missing };
  const asked = content.spec.source.volumeHandles ?? [];
  const lost = asked.find((handle) => !infos.some(({ volumeHandle }) => volumeHandle === handle));
  if (content.status?.readyToUse && lost !== undefined) {
    return fail(
      'GroupSnapshotIncomplete',
      `the driver returned no snapshot of volume ${lost} in group snapshot ${content.status.volumeGroupSnapshotHandle}`,
    );
  }
  const change = groupStatusChange(group, content, members);
  return change === undefined
    ? nothing('its content or a member is not ready yet')
    : { do: 'write-status', ...change };
}

/** Those that the driver named; empty until the group snapshot has a handle. */
export function memberInfos({ status }: VolumeGroupSnapshotContent): Member['info'][] {
  if (status?.volumeGroupSnapshotHandle === undefined) return [];
  return (status.volumeSnapshotInfoList ?? []).flatMap((info) => {
    const { volumeHandle, snapshotHandle } = info;
    return volumeHandle && snapshotHandle ? [{ ...info, volumeHandle, snapshotHandle }] : [];
  });
}

/** Members first: a volume may be being restored from one, and its own deletion waits for that. */
function decideDeletion({ group, content: found, members, strays = [] }: GroupFacts): GroupStep {
  if (!group.metadata.finalizers?.includes(FINALIZER_GROUP_SNAPSHOT_BOUND)) {
    return nothing('other finalizers keep it');
  }
  const standing = members.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (standing.length > 0) return { do: 'delete-members', members: standing };
  if (members.length > 0) return nothing('its member snapshots are deleted first');
  // A content that references another group snapshot is left alone.
  const content = found && refersToGroup(found.spec.volumeGroupSnapshotRef, group) ? found : undefined;
  if (content === undefined) return { do: 'release' };
  // A member that was deleted while its content was being created.
  const left = strays.filter(
    ({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.deletionPolicy === 'Delete',
  );
  if (left.length > 0) return { do: 'delete-strays', strays: left };
  if (content.metadata.annotations?.[ANN_GROUP_SNAPSHOT_BEING_DELETED] === undefined) {
    return { do: 'mark-content', content };
  }
  if (content.spec.deletionPolicy !== 'Delete') return { do: 'release' };
  if (content.metadata.deletionTimestamp === undefined) return { do: 'delete-content', content };
  // The reason why it cannot be deleted is written to the status, where users look.
  const patch = content.status?.error ? errorChange(group, content.status.error) : {};
  if (Object.keys(patch).length > 0) return { do: 'write-status', patch, isCut: false, isReady: false };
  return nothing('its content is deleted first');
}

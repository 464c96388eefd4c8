// The next step for one VolumeSnapshot, from it, its content and the claims that restore from it. Pure: the reconciler
// performs the step, reads again, and asks for the next.

import { groupOwnerOf } from '../../api/group-snapshots.ts';
import type {
  PersistentVolumeClaim,
  VolumeGroupSnapshot,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../api/kinds.ts';
import { isReadyToUse, refersToSnapshot } from '../../api/snapshots.ts';
import {
  ANN_SNAPSHOT_BEING_DELETED,
  FINALIZER_SNAPSHOT_AS_SOURCE,
  FINALIZER_SNAPSHOT_BOUND,
  FINALIZER_SNAPSHOT_IN_GROUP,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../../api/well-known.ts';
import type { ContentPlan, Failure } from './plan-content.ts';
import { errorChange, isCut, type StatusChange, statusChange } from './snapshot-status.ts';

export type SnapshotStep =
  | { do: 'nothing'; why: string }
  /** It is being deleted and still in use. */
  | { do: 'wait'; why: string }
  | ({ do: 'fail'; unready: boolean } & Failure)
  /** Set these on the snapshot, and the class where it was chosen for it. */
  | { do: 'protect'; finalizers: string[]; className?: string }
  | { do: 'protect-claim'; plan: ContentPlan }
  | { do: 'create-content'; plan: ContentPlan }
  /** Bind a pre-provisioned content to this snapshot. */
  | { do: 'bind-content'; content: VolumeSnapshotContent }
  | ({ do: 'write-status' } & StatusChange)
  | { do: 'mark-content'; content: VolumeSnapshotContent }
  | { do: 'delete-content'; content: VolumeSnapshotContent }
  /** Make a snapshot that was there first a member of the group that its content belongs to. */
  | { do: 'join-group'; group: VolumeGroupSnapshot }
  | { do: 'release'; finalizers: string[] };

export interface SnapshotFacts {
  snapshot: VolumeSnapshot;
  /** The content that the snapshot names, or that was created for it; it may be bound to another snapshot. */
  content: VolumeSnapshotContent | undefined;
  /** A claim whose volume is being created from the snapshot. */
  restoring: string | undefined;
  /** The group snapshot that it is a member of; it lives as long as that does. */
  group: VolumeGroupSnapshot | undefined;
  /** Without the feature gate nobody knows whether its group snapshot still exists. */
  knowsGroups: boolean;
  /** Read only where a content is to be created. */
  plan(): ContentPlan | Failure;
  /** Whether the claim keeps its finalizer until it is let go on purpose. */
  isHeld(claim: PersistentVolumeClaim): boolean;
}

const fail = (reason: string, message: string, unready = true): SnapshotStep => ({
  do: 'fail',
  reason,
  message,
  unready,
});
const nothing = (why: string): SnapshotStep => ({ do: 'nothing', why });

export function decideSnapshot(facts: SnapshotFacts): SnapshotStep {
  const { snapshot, content } = facts;
  if (snapshot.metadata.deletionTimestamp !== undefined) return decideDeletion(facts);
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec.source;
  if ((persistentVolumeClaimName === undefined) === (volumeSnapshotContentName === undefined)) {
    return fail(
      'SnapshotValidationError',
      'exactly one of persistentVolumeClaimName and volumeSnapshotContentName must be given as the source',
    );
  }
  if (content === undefined) return decideWithoutContent(facts);
  return (
    mismatch(snapshot, content) ??
    protection(snapshot, content.spec.deletionPolicy) ??
    (content.spec.volumeSnapshotRef.uid ? undefined : { do: 'bind-content', content }) ??
    joining(facts) ??
    follow(snapshot, content, facts.group?.metadata.name)
  );
}

function decideWithoutContent({ snapshot, plan, isHeld }: SnapshotFacts): SnapshotStep {
  const { source } = snapshot.spec;
  if (source.volumeSnapshotContentName !== undefined) {
    return fail(
      'SnapshotContentMissing',
      `VolumeSnapshotContent "${source.volumeSnapshotContentName}" does not exist`,
    );
  }
  if (groupOwnerOf(snapshot)) return nothing('its group snapshot creates its content');
  // A new content would hold other data than the snapshot promises.
  if (isCut(snapshot) || isReadyToUse(snapshot)) {
    const name = snapshot.status?.boundVolumeSnapshotContentName ?? '';
    return fail(
      'SnapshotContentMissing',
      `VolumeSnapshotContent "${name}" no longer exists; the snapshot is lost`,
    );
  }
  const planned = plan();
  if ('reason' in planned) {
    // The class may be deleted without affecting a snapshot that has its content.
    return fail(planned.reason, planned.message, planned.reason === 'SnapshotContentCreationFailed');
  }
  const { claim, snapshotClass } = planned;
  const protect = protection(
    snapshot,
    snapshotClass.deletionPolicy,
    snapshot.spec.volumeSnapshotClassName ?? snapshotClass.metadata.name,
  );
  if (protect !== undefined) return protect;
  if (!isHeld(claim)) return { do: 'protect-claim', plan: planned };
  return { do: 'create-content', plan: planned };
}

/** Both must reference each other and agree: dynamically created, or pre-provisioned. */
function mismatch(snapshot: VolumeSnapshot, content: VolumeSnapshotContent): SnapshotStep | undefined {
  const { name } = content.metadata;
  const { source, volumeSnapshotRef: ref } = content.spec;
  const wasThereFirst = snapshot.spec.source.volumeSnapshotContentName !== undefined;
  const isBound = snapshot.status?.boundVolumeSnapshotContentName !== undefined && isReadyToUse(snapshot);
  if (wasThereFirst && source.snapshotHandle === undefined) {
    return fail(
      'SnapshotContentMismatch',
      `VolumeSnapshotContent "${name}" was created dynamically; a pre-provisioned one is expected`,
    );
  }
  if (!wasThereFirst && source.volumeHandle === undefined && !groupOwnerOf(snapshot)) {
    return fail(
      'SnapshotContentMismatch',
      `VolumeSnapshotContent "${name}" is pre-provisioned; a dynamically created one is expected`,
    );
  }
  const isMeant = ref.name === snapshot.metadata.name && ref.namespace === snapshot.metadata.namespace;
  if (
    wasThereFirst ? isMeant && (!ref.uid || refersToSnapshot(ref, snapshot)) : refersToSnapshot(ref, snapshot)
  ) {
    return undefined;
  }
  return fail(
    isBound ? 'SnapshotMisbound' : 'SnapshotContentMisbound',
    `VolumeSnapshotContent "${name}" is bound to another snapshot`,
  );
}

function protection(
  { metadata: { finalizers = [] }, spec }: VolumeSnapshot,
  deletionPolicy: string,
  className = spec.volumeSnapshotClassName,
): SnapshotStep | undefined {
  const wanted = [
    FINALIZER_SNAPSHOT_AS_SOURCE,
    ...(deletionPolicy === 'Delete' ? [FINALIZER_SNAPSHOT_BOUND] : []),
  ];
  const missing = wanted.filter((each) => !finalizers.includes(each));
  if (missing.length === 0 && className === spec.volumeSnapshotClassName) return undefined;
  const isChosen = className !== undefined && className !== spec.volumeSnapshotClassName;
  return { do: 'protect', finalizers: missing, ...(isChosen && { className }) };
}

function joining({ snapshot, group }: SnapshotFacts): SnapshotStep | undefined {
  const isNew = group !== undefined && groupOwnerOf(snapshot) === undefined;
  return isNew && group.metadata.deletionTimestamp === undefined ? { do: 'join-group', group } : undefined;
}

function follow(
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
  groupName: string | undefined,
): SnapshotStep {
  // A member is bound last: its group snapshot takes a bound one for complete.
  const handle = content.status?.snapshotHandle ?? content.spec.source.snapshotHandle;
  if (groupOwnerOf(snapshot) && !handle) return nothing('its group snapshot has not set its handle yet');
  // A ready snapshot stays ready: the storage is not checked again.
  const isSettled = isReadyToUse(snapshot) && snapshot.status?.boundVolumeSnapshotContentName !== undefined;
  const isNamed = groupName === undefined || snapshot.status?.volumeGroupSnapshotName !== undefined;
  const change = isSettled && isNamed ? undefined : statusChange(snapshot, content, groupName);
  if (change !== undefined) return { do: 'write-status', ...change };
  return nothing(isSettled ? 'it is ready' : 'its content is not ready yet');
}

function decideDeletion(facts: SnapshotFacts): SnapshotStep {
  const { snapshot, content: found, group } = facts;
  const { finalizers = [] } = snapshot.metadata;
  const early = [FINALIZER_SNAPSHOT_AS_SOURCE, FINALIZER_SNAPSHOT_IN_GROUP];
  const ours = [...early, FINALIZER_SNAPSHOT_BOUND].filter((each) => finalizers.includes(each));
  if (ours.length === 0) return nothing('other finalizers keep it');
  // A content that references another snapshot is left alone.
  const content = found && refersToSnapshot(found.spec.volumeSnapshotRef, snapshot) ? found : undefined;
  const why = stillNeeded(facts, content);
  if (why !== undefined) {
    // While it waits it is followed: its group snapshot and its source claim wait until it is ready.
    const step = content && follow(snapshot, content, group?.metadata.name);
    return step?.do === 'write-status' ? step : { do: 'wait', why };
  }
  if (content === undefined) return { do: 'release', finalizers: ours };
  if (content.metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED] === undefined) {
    return { do: 'mark-content', content };
  }
  if (content.spec.deletionPolicy !== 'Delete') return { do: 'release', finalizers: ours };
  if (content.metadata.deletionTimestamp === undefined) return { do: 'delete-content', content };
  const goingNow = ours.filter((each) => each !== FINALIZER_SNAPSHOT_BOUND);
  if (goingNow.length > 0) return { do: 'release', finalizers: goingNow };
  // The reason why it cannot be deleted is written to the snapshot's status, where users look.
  const patch = content.status?.error ? errorChange(snapshot, content.status.error) : {};
  if (Object.keys(patch).length > 0) return { do: 'write-status', patch, isCut: false, isReady: false };
  return nothing('its content is deleted first');
}

/** Why it cannot be deleted yet. */
function stillNeeded(
  { snapshot, restoring, group, knowsGroups }: SnapshotFacts,
  content: VolumeSnapshotContent | undefined,
): string | undefined {
  const { finalizers = [] } = snapshot.metadata;
  if (group !== undefined && group.metadata.deletionTimestamp === undefined)
    return `it is a member of group snapshot "${group.metadata.name}"; delete that instead`;
  if (!knowsGroups && finalizers.includes(FINALIZER_SNAPSHOT_IN_GROUP))
    return 'it is a member of a group snapshot, and those are not enabled here';
  if (content === undefined) return undefined;
  if (restoring !== undefined) return `a volume is being created from it for claim "${restoring}"`;
  return finalizers.includes(FINALIZER_SNAPSHOT_SOURCE_PROTECTION)
    ? 'a volume is being created from it'
    : undefined;
}

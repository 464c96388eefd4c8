// Reconciles one content, of a snapshot or of a group snapshot: adds its finalizer once a snapshot is bound to it, and lets
// it be deleted when an administrator deletes it and its snapshot is gone. Writes the finalizer and the being-deleted
// annotation; the snapshotter then deletes or keeps the snapshot on the storage, as the content's policy says. Deletes only
// contents that were created too late: for a snapshot that was gone by then.

import { dynamicGroupContentName, memberContentName } from '../../api/group-snapshots.ts';
import {
  type ObjectReference,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { dynamicContentName, isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_BEING_DELETED,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';

/** What differs between the two kinds of contents. */
export interface BoundContentKind<C extends KubeObject> {
  resource: Resource<C>;
  /** Of the snapshots that contents are bound to. */
  owners: Resource;
  finalizer: string;
  /** The annotation by which the snapshotter may delete it. */
  beingDeleted: string;
  validationReason: string;
  refOf(content: C): ObjectReference;
  /** What is wrong with the content's source. */
  sourceProblem(content: C): string | undefined;
  /** By its name, it was created for the snapshot that it is bound to. */
  isDynamic(content: C): boolean;
  /** It was created for the snapshot that it is bound to, and is to be deleted with it. */
  isDisposable(content: C): boolean;
  /** The snapshot on the storage is known. */
  hasHandle(content: C): boolean;
}

/**
 * The value of the being-deleted annotation on a content that was found without a handle and without a snapshot. It says that
 * the content goes although it gets its handle meanwhile; one that was marked with its snapshot, and kept, stays.
 */
const ORPHAN = 'orphan';

export const snapshotContents: BoundContentKind<VolumeSnapshotContent> = {
  resource: volumeSnapshotContents,
  owners: volumeSnapshots,
  finalizer: FINALIZER_SNAPSHOT_CONTENT,
  beingDeleted: ANN_SNAPSHOT_BEING_DELETED,
  validationReason: 'ContentValidationError',
  refOf: ({ spec }) => spec.volumeSnapshotRef,
  sourceProblem: ({ spec: { source } }) =>
    (source.volumeHandle === undefined) === (source.snapshotHandle === undefined)
      ? 'exactly one of volumeHandle and snapshotHandle must be given as the source'
      : undefined,
  isDynamic: (content) => {
    const { name, uid } = content.spec.volumeSnapshotRef;
    const snapshot = { metadata: { name, uid } } as VolumeSnapshot;
    const { name: own } = content.metadata;
    return (
      own === dynamicContentName(snapshot) || (isOfGroup(content) && own === memberContentName(snapshot))
    );
  },
  isDisposable: ({ spec }) => spec.source.volumeHandle !== undefined && spec.deletionPolicy === 'Delete',
  hasHandle: ({ status }) => status?.snapshotHandle !== undefined,
};

export const groupSnapshotContents: BoundContentKind<VolumeGroupSnapshotContent> = {
  resource: volumeGroupSnapshotContents,
  owners: volumeGroupSnapshots,
  finalizer: FINALIZER_GROUP_SNAPSHOT_CONTENT,
  beingDeleted: ANN_GROUP_SNAPSHOT_BEING_DELETED,
  validationReason: 'GroupContentValidationError',
  refOf: ({ spec }) => spec.volumeGroupSnapshotRef,
  sourceProblem: ({ spec: { source } }) =>
    (source.volumeHandles ?? []).length > 0 === (source.groupSnapshotHandles !== undefined)
      ? 'exactly one of volumeHandles and groupSnapshotHandles must be given as the source'
      : undefined,
  isDynamic: ({ metadata, spec }) => {
    const { uid } = spec.volumeGroupSnapshotRef;
    return metadata.name === dynamicGroupContentName({ metadata: { uid } } as VolumeGroupSnapshot);
  },
  isDisposable: ({ spec }) => spec.source.volumeHandles !== undefined && spec.deletionPolicy === 'Delete',
  hasHandle: ({ status }) => status?.volumeGroupSnapshotHandle !== undefined,
};

export type ContentStep =
  | { do: 'nothing' }
  | { do: 'tell'; problem: string }
  | { do: 'protect' }
  /** It is being deleted without the being-deleted annotation: its snapshot may be gone. */
  | { do: 'mark-if-orphan' }
  /** Its creation may have taken effect after its snapshot was deleted, so that nobody would ever delete it. */
  | { do: 'delete-if-orphan' };

/** Pure. `owner`: the snapshot of the name to which the content is bound, as cached. */
export function decideContent<C extends KubeObject>(
  kind: BoundContentKind<C>,
  content: C,
  owner: KubeObject | undefined,
): ContentStep {
  const problem = kind.sourceProblem(content);
  if (problem !== undefined) return { do: 'tell', problem };
  // The snapshot's reconciler adds the finalizer later.
  const { uid } = kind.refOf(content);
  if (!uid) return { do: 'nothing' };
  const { deletionTimestamp, annotations = {} } = content.metadata;
  if (deletionTimestamp === undefined) {
    const isOwned = owner?.metadata.uid === uid;
    // One that is found with its handle stays: it holds data that somebody may want.
    const isFoundLate = annotations[kind.beingDeleted] === ORPHAN || !kind.hasHandle(content);
    if (!isOwned && isFoundLate && kind.isDynamic(content) && kind.isDisposable(content)) {
      return { do: 'delete-if-orphan' };
    }
    return hasFinalizer(content, kind.finalizer) ? { do: 'nothing' } : { do: 'protect' };
  }
  return annotations[kind.beingDeleted] === undefined ? { do: 'mark-if-orphan' } : { do: 'nothing' };
}

/** Annotates the content, so that the snapshotter may delete it. */
export async function markContent<C extends KubeObject>(
  kube: KubeClient,
  kind: BoundContentKind<C>,
  { content, as = 'yes', signal }: { content: C; as?: string; signal: AbortSignal },
): Promise<C> {
  const { name, uid } = content.metadata;
  const patch = { metadata: { uid, annotations: { [kind.beingDeleted]: as } } };
  return kube.patch(kind.resource, { name }, patch, { type: 'merge', signal });
}

export function createContentReconciler<C extends KubeObject>(
  kind: BoundContentKind<C>,
  ports: {
    kube: KubeClient;
    contents: ReadYourWrites<C>;
    /** The snapshot of the name to which a content is bound. */
    ownerOf(content: C): KubeObject | undefined;
    recorder: EventRecorder;
    log: Log;
  },
): Reconcile {
  const { kube, contents, recorder, log } = ports;

  /** Confirmed by the server, since the cache may be behind. */
  async function isOrphan(content: C, signal: AbortSignal): Promise<boolean> {
    const { name = '', namespace = '', uid } = kind.refOf(content);
    try {
      return (await kube.get(kind.owners, { name, namespace }, { signal })).metadata.uid !== uid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  /**
   * Marked first: the snapshotter does not begin to cut for a content that is marked, and ends what it has begun. What it
   * writes meanwhile makes the deletion conflict; the mark says then that the content goes nevertheless.
   */
  async function deleteOrphan(content: C, signal: AbortSignal): Promise<void> {
    const marked = contents.wrote(await markContent(kube, kind, { content, as: ORPHAN, signal }));
    // Its policy may have become Retain, which the cache does not show yet, or become so now: then the deletion fails.
    if (!kind.isDisposable(marked)) return;
    const { name, uid, resourceVersion } = marked.metadata;
    await kube.delete(kind.resource, { name }, { preconditions: { uid, resourceVersion }, signal });
  }

  return async (key, { signal }) => {
    const content = contents.get(key);
    if (content === undefined) return done;
    const step = decideContent(kind, content, ports.ownerOf(content));
    switch (step.do) {
      case 'nothing':
        return done;
      case 'tell':
        recorder.event(content, 'Warning', kind.validationReason, step.problem);
        return done;
      case 'protect': {
        const request = { kube, resource: kind.resource, object: content, signal };
        contents.wrote(await addFinalizer({ ...request, finalizer: kind.finalizer }));
        return done;
      }
      case 'mark-if-orphan':
        if (!(await isOrphan(content, signal))) return done;
        log.info('A content without a snapshot is being deleted; the snapshotter may delete it', {
          content: key,
        });
        contents.wrote(await markContent(kube, kind, { content, signal }));
        return done;
      case 'delete-if-orphan':
        if (!(await isOrphan(content, signal))) return done;
        log.info('A content was created after its snapshot was deleted; it is deleted', { content: key });
        await ifThere(deleteOrphan(content, signal));
        return done;
      default:
        return step satisfies never;
    }
  };
}

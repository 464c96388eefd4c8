// Reconciles one content, of a snapshot or of a group snapshot: adds its finalizer once a snapshot is bound to it, and lets
// it be deleted when an administrator deletes it and its snapshot is gone. Writes the finalizer and the being-deleted
// annotation; the snapshotter then deletes or keeps the snapshot on the storage, as the content's policy says.

import {
  type ObjectReference,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_BEING_DELETED,
  FINALIZER_GROUP_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_CONTENT,
} from '../../api/well-known.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer } from '../../runtime/kube/finalizers.ts';
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
}

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
};

export type ContentStep =
  | { do: 'nothing' }
  | { do: 'tell'; problem: string }
  | { do: 'protect' }
  /** It is being deleted without the being-deleted annotation: its snapshot may be gone. */
  | { do: 'mark-if-orphan' };

/** Pure. */
export function decideContent<C extends KubeObject>(kind: BoundContentKind<C>, content: C): ContentStep {
  const problem = kind.sourceProblem(content);
  if (problem !== undefined) return { do: 'tell', problem };
  // The snapshot's reconciler adds the finalizer later.
  if (!kind.refOf(content).uid) return { do: 'nothing' };
  const { deletionTimestamp, annotations = {} } = content.metadata;
  if (deletionTimestamp === undefined) {
    return hasFinalizer(content, kind.finalizer) ? { do: 'nothing' } : { do: 'protect' };
  }
  return annotations[kind.beingDeleted] === undefined ? { do: 'mark-if-orphan' } : { do: 'nothing' };
}

/** Annotates the content, so that the snapshotter may delete it. */
export async function markContent<C extends KubeObject>(
  kube: KubeClient,
  kind: BoundContentKind<C>,
  { content, signal }: { content: C; signal: AbortSignal },
): Promise<C> {
  const { name, uid } = content.metadata;
  const patch = { metadata: { uid, annotations: { [kind.beingDeleted]: 'yes' } } };
  return kube.patch(kind.resource, { name }, patch, { type: 'merge', signal });
}

export function createContentReconciler<C extends KubeObject>(
  kind: BoundContentKind<C>,
  ports: { kube: KubeClient; contents: ReadYourWrites<C>; recorder: EventRecorder; log: Log },
): Reconcile {
  const { kube, contents, recorder, log } = ports;

  /** Confirmed by the server: the data is about to be destroyed. */
  async function isOrphan(content: C, signal: AbortSignal): Promise<boolean> {
    const { name = '', namespace = '', uid } = kind.refOf(content);
    try {
      return (await kube.get(kind.owners, { name, namespace }, { signal })).metadata.uid !== uid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  return async (key, { signal }) => {
    const content = contents.get(key);
    if (content === undefined) return done;
    const step = decideContent(kind, content);
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
      default:
        return step satisfies never;
    }
  };
}

// Reconciles one VolumeSnapshotContent: adds its finalizer once a snapshot is bound to it, and lets it be deleted when
// an administrator deletes it and its snapshot is gone. Writes the finalizer and the being-deleted annotation; the
// snapshotter then deletes or keeps the snapshot on the storage, as the content's policy says.

import { type VolumeSnapshotContent, volumeSnapshotContents, volumeSnapshots } from '../../api/kinds.ts';
import { ANN_SNAPSHOT_BEING_DELETED, FINALIZER_SNAPSHOT_CONTENT } from '../../api/well-known.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer } from '../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';
import type { SnapshotWrites } from './snapshot-writes.ts';

export type ContentStep =
  | { do: 'nothing' }
  | { do: 'tell'; problem: string }
  | { do: 'protect' }
  /** It is being deleted without the being-deleted annotation: its snapshot may be gone. */
  | { do: 'mark-if-orphan' };

/** Pure. */
export function decideContent(content: VolumeSnapshotContent): ContentStep {
  const { metadata, spec } = content;
  if ((spec.source.volumeHandle === undefined) === (spec.source.snapshotHandle === undefined)) {
    return {
      do: 'tell',
      problem: 'exactly one of volumeHandle and snapshotHandle must be given as the source',
    };
  }
  // The snapshot's reconciler adds the finalizer later.
  if (!spec.volumeSnapshotRef.uid) return { do: 'nothing' };
  if (metadata.deletionTimestamp === undefined) {
    return hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT) ? { do: 'nothing' } : { do: 'protect' };
  }
  const isMarked = metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED] !== undefined;
  return isMarked ? { do: 'nothing' } : { do: 'mark-if-orphan' };
}

export function createContentReconciler(ports: {
  kube: KubeClient;
  contents: ReadYourWrites<VolumeSnapshotContent>;
  writes: SnapshotWrites;
  recorder: EventRecorder;
  log: Log;
}): Reconcile {
  const { kube, contents, writes, recorder, log } = ports;

  /** Confirmed by the server: the data is about to be destroyed. */
  async function isOrphan({ spec }: VolumeSnapshotContent, signal: AbortSignal): Promise<boolean> {
    const { name = '', namespace = '', uid } = spec.volumeSnapshotRef;
    try {
      return (await kube.get(volumeSnapshots, { name, namespace }, { signal })).metadata.uid !== uid;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  return async (key, { signal }) => {
    const content = contents.get(key);
    if (content === undefined) return done;
    const step = decideContent(content);
    switch (step.do) {
      case 'nothing':
        return done;
      case 'tell':
        recorder.event(content, 'Warning', 'ContentValidationError', step.problem);
        return done;
      case 'protect': {
        const request = { kube, resource: volumeSnapshotContents, object: content, signal };
        contents.wrote(await addFinalizer({ ...request, finalizer: FINALIZER_SNAPSHOT_CONTENT }));
        return done;
      }
      case 'mark-if-orphan':
        if (!(await isOrphan(content, signal))) return done;
        log.info('A content without a snapshot is being deleted; the snapshotter may delete it', {
          content: key,
        });
        await writes.markContent(content, signal);
        return done;
      default:
        return step satisfies never;
    }
  };
}

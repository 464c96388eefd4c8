// What to do for one VolumeSnapshotContent. Pure: the reconciler performs it.

import type { VolumeSnapshotContent } from '../../api/kinds.ts';
import { isOfGroup, isReadyToUse } from '../../api/snapshots.ts';
import { ANN_SNAPSHOT_BEING_DELETED, FINALIZER_SNAPSHOT_CONTENT } from '../../api/well-known.ts';
import type { DriverName, SnapshotHandle, VolumeHandle } from '../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../runtime/kube/finalizers.ts';
import { attemptOn } from './attempt.ts';

export type ContentDecision =
  | { do: 'nothing'; why: string }
  /** Call CreateSnapshot; repeated until the snapshot exists and is ready. */
  | { do: 'create'; volumeHandle: VolumeHandle }
  /** Check whether a pre-provisioned snapshot is ready. */
  | { do: 'look'; handle: SnapshotHandle }
  /** The handle is recorded: the record of the attempt is no longer needed. */
  | { do: 'tidy' }
  | { do: 'delete'; handle: SnapshotHandle }
  /** Remove the finalizer; nothing is to be done on the storage. */
  | { do: 'release' };

export interface ContentFacts {
  content: VolumeSnapshotContent;
  driver: DriverName;
  /** The driver of the content's class, if it has one. */
  classDriver: string | undefined;
}

const nothing = (why: string): ContentDecision => ({ do: 'nothing', why });

export function decideContent({ content, driver, classDriver }: ContentFacts): ContentDecision {
  const { source, driver: wanted } = content.spec;
  if (wanted !== driver) return nothing(`it is of driver ${wanted}`);
  if (classDriver !== undefined && classDriver !== driver) {
    return nothing(`its class is of driver ${classDriver}`);
  }
  if ((source.volumeHandle === undefined) === (source.snapshotHandle === undefined)) {
    return nothing('its source must be either a volume or a snapshot');
  }
  if (mayGo(content)) return decideDeletion(content);
  return source.volumeHandle !== undefined && !isOfGroup(content)
    ? decideCreation(content, source.volumeHandle as VolumeHandle)
    : decideLook(content);
}

/**
 * A content is deleted with its snapshot, or alone where none was bound to it. One whose snapshot may exist without a
 * known handle stays: CreateSnapshot is repeated until its outcome is known, since without the handle the snapshot
 * could not be deleted.
 */
export function mayGo(content: VolumeSnapshotContent): boolean {
  const { deletionTimestamp, annotations = {} } = content.metadata;
  if (deletionTimestamp === undefined) return false;
  const { source, volumeSnapshotRef } = content.spec;
  if (source.snapshotHandle !== undefined && !volumeSnapshotRef.uid) return true;
  return annotations[ANN_SNAPSHOT_BEING_DELETED] !== undefined && attemptOn(content).is !== 'asking';
}

function decideDeletion(content: VolumeSnapshotContent): ContentDecision {
  const { source, deletionPolicy } = content.spec;
  const isProtected = hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT);
  const recorded = content.status?.snapshotHandle;
  const handle = (recorded ?? source.snapshotHandle) as SnapshotHandle | undefined;
  // Without finalizer and handle the snapshot was deleted already; other finalizers keep the object.
  const isThere = isProtected || recorded !== undefined;
  if (deletionPolicy === 'Delete' && handle && isThere && !isOfGroup(content))
    return { do: 'delete', handle };
  return isProtected ? { do: 'release' } : nothing('its finalizer is removed');
}

function decideCreation(content: VolumeSnapshotContent, volumeHandle: VolumeHandle): ContentDecision {
  const { metadata, spec } = content;
  const attempt = attemptOn(content);
  if (isReadyToUse(content)) {
    return attempt.is === 'recorded' && attempt.isTidy ? nothing('it is ready') : { do: 'tidy' };
  }
  if (!spec.volumeSnapshotRef.uid) return nothing('it is not bound to a snapshot');
  if (metadata.deletionTimestamp !== undefined && !hasFinalizer(content, FINALIZER_SNAPSHOT_CONTENT)) {
    return nothing('it is being deleted, and no finalizer would keep it until the snapshot is deleted');
  }
  const isUnwanted = metadata.annotations?.[ANN_SNAPSHOT_BEING_DELETED] !== undefined;
  if (isUnwanted && spec.deletionPolicy === 'Delete' && attempt.is === 'none') {
    return nothing('it is about to be deleted, and the driver was not called yet');
  }
  return { do: 'create', volumeHandle };
}

function decideLook(content: VolumeSnapshotContent): ContentDecision {
  if (isReadyToUse(content)) return nothing('it is ready');
  const handle = (content.status?.snapshotHandle ?? content.spec.source.snapshotHandle) as
    | SnapshotHandle
    | undefined;
  return handle ? { do: 'look', handle } : nothing('its group snapshot has not set its handle yet');
}

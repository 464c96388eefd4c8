// Pure facts about snapshots and their contents that the snapshot controller, the snapshotter and those who restore
// must agree on.

import type { ObjectReference, VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent } from './kinds.ts';
import {
  ANN_DEFAULT_SNAPSHOT_CLASS,
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
} from './well-known.ts';

/** The name of the content that is made for a snapshot. */
export function dynamicContentName(snapshot: VolumeSnapshot): string {
  return `snapcontent-${snapshot.metadata.uid}`;
}

/** Whether `ref` names this snapshot and this very incarnation of it. */
export function refersToSnapshot(ref: ObjectReference, { metadata }: VolumeSnapshot): boolean {
  return ref.name === metadata.name && ref.namespace === metadata.namespace && ref.uid === metadata.uid;
}

/** `namespace/name` of the snapshot that a content belongs to, or is meant for. */
export function snapshotKeyOf({ spec: { volumeSnapshotRef: ref } }: VolumeSnapshotContent): string {
  return `${ref.namespace ?? ''}/${ref.name ?? ''}`;
}

export function isReadyToUse({ status }: VolumeSnapshot | VolumeSnapshotContent): boolean {
  return status?.readyToUse === true;
}

/** It is about to be deleted before the driver was called for it, so the driver will not be called. */
export function isGivenUp({ metadata: { annotations = {} }, spec, status }: VolumeSnapshotContent): boolean {
  const isMarked = annotations[ANN_SNAPSHOT_BEING_DELETED] !== undefined;
  const isCalled = annotations[ANN_SNAPSHOT_BEING_CREATED] !== undefined;
  return isMarked && spec.deletionPolicy === 'Delete' && !isCalled && status?.snapshotHandle === undefined;
}

export function isDefaultSnapshotClass({ metadata }: VolumeSnapshotClass): boolean {
  return metadata.annotations?.[ANN_DEFAULT_SNAPSHOT_CLASS] === 'true';
}

/** Made by a group snapshot, and deleted with it. */
export function isOfGroup({ metadata, status }: VolumeSnapshotContent): boolean {
  return (
    metadata.annotations?.[ANN_GROUP_SNAPSHOT_HANDLE] !== undefined ||
    status?.volumeGroupSnapshotHandle !== undefined
  );
}

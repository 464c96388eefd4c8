// Pure facts about snapshots and their contents that the snapshot controller, the snapshotter and those who restore
// must agree on.

import type { ObjectReference, VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent } from './kinds.ts';
import { ANN_DEFAULT_SNAPSHOT_CLASS, ANN_GROUP_SNAPSHOT_HANDLE } from './well-known.ts';

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

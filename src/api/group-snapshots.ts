// Pure facts about group snapshots that the snapshot controller, the snapshotter and those who restore must agree on.

import { createHash } from 'node:crypto';
import {
  type ObjectReference,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  volumeGroupSnapshots,
} from './kinds.ts';
import { apiVersionOf, type OwnerReference } from './object.ts';
import { ANN_DEFAULT_GROUP_SNAPSHOT_CLASS } from './well-known.ts';

/** The name of the content that is created for a group snapshot. */
export function dynamicGroupContentName({ metadata }: VolumeGroupSnapshot): string {
  return `groupsnapcontent-${metadata.uid}`;
}

/** The names of the VolumeSnapshot and the VolumeSnapshotContent of one member, as the official controller has them. */
export function memberNames(groupUid: string, volumeHandle: string): { snapshot: string; content: string } {
  const digest = createHash('sha256').update(`${groupUid}${volumeHandle}`).digest('hex');
  return { snapshot: `snapshot-${digest}`, content: `snapcontent-${digest}` };
}

/** The name of a member's content, from the member's own name. */
export function memberContentName({ metadata }: VolumeSnapshot): string {
  return metadata.name.replace(/^snapshot-/, 'snapcontent-');
}

/** Whether `ref` names this group snapshot and this very incarnation of it. */
export function refersToGroup(ref: ObjectReference, { metadata }: VolumeGroupSnapshot): boolean {
  return ref.name === metadata.name && ref.namespace === metadata.namespace && ref.uid === metadata.uid;
}

/** `namespace/name` of the group snapshot that a content belongs to, or is meant for. */
export function groupKeyOf({ spec: { volumeGroupSnapshotRef: ref } }: VolumeGroupSnapshotContent): string {
  return `${ref.namespace ?? ''}/${ref.name ?? ''}`;
}

/** The owner reference of a member to its group snapshot, whichever version wrote it. */
export function groupOwnerOf({ metadata }: VolumeSnapshot): { name: string; uid: string } | undefined {
  return metadata.ownerReferences?.find(
    ({ kind, apiVersion }) =>
      kind === volumeGroupSnapshots.kind && apiVersion.startsWith(`${volumeGroupSnapshots.group}/`),
  );
}

export function ownerReferenceTo({ metadata }: VolumeGroupSnapshot): OwnerReference {
  return {
    apiVersion: apiVersionOf(volumeGroupSnapshots),
    kind: volumeGroupSnapshots.kind,
    name: metadata.name,
    uid: metadata.uid,
  };
}

export function isDefaultGroupSnapshotClass({ metadata }: VolumeGroupSnapshotClass): boolean {
  return metadata.annotations?.[ANN_DEFAULT_GROUP_SNAPSHOT_CLASS] === 'true';
}

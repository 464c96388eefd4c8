// The VolumeSnapshot and the VolumeSnapshotContent of one member of a group snapshot. Pure.

import { memberNames, ownerReferenceTo } from '../../api/group-snapshots.ts';
import {
  type PersistentVolume,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  type VolumeSnapshotInfo,
  volumeSnapshots,
} from '../../api/kinds.ts';
import { apiVersionOf, type Draft } from '../../api/object.ts';
import {
  ANN_GROUP_SNAPSHOT_HANDLE,
  ANN_GROUP_SNAPSHOT_SECRET_NAME,
  ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE,
  ANN_SNAPSHOT_SECRET_NAME,
  ANN_SNAPSHOT_SECRET_NAMESPACE,
  FINALIZER_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_IN_GROUP,
} from '../../api/well-known.ts';

export interface Member {
  info: VolumeSnapshotInfo & { volumeHandle: string; snapshotHandle: string };
  /** The volume that was cut, where a PersistentVolume still stands for it. */
  volume: PersistentVolume | undefined;
}

/** Created before its content, which then names its UID: a content is never without its snapshot. */
export function memberSnapshot(
  group: VolumeGroupSnapshot,
  { info, volume }: Member,
): Draft<VolumeSnapshot> & { metadata: { name: string; namespace: string } } {
  return {
    metadata: {
      name: memberNames(group.metadata.uid, info.volumeHandle).snapshot,
      namespace: group.metadata.namespace ?? '',
      ownerReferences: [ownerReferenceTo(group)],
      // Keeps it from being deleted alone.
      finalizers: [FINALIZER_SNAPSHOT_IN_GROUP],
    },
    spec: { source: { persistentVolumeClaimName: volume?.spec.claimRef?.name ?? '' } },
  };
}

export function memberContent(
  { content, snapshot }: { content: VolumeGroupSnapshotContent; snapshot: VolumeSnapshot },
  { info, volume }: Member,
): Draft<VolumeSnapshotContent> & { metadata: { name: string } } {
  const { metadata, spec, status } = content;
  const secretName = metadata.annotations?.[ANN_GROUP_SNAPSHOT_SECRET_NAME];
  const secretNamespace = metadata.annotations?.[ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE];
  return {
    metadata: {
      name: memberNames(spec.volumeGroupSnapshotRef.uid ?? '', info.volumeHandle).content,
      finalizers: [FINALIZER_SNAPSHOT_CONTENT],
      annotations: {
        [ANN_GROUP_SNAPSHOT_HANDLE]: status?.volumeGroupSnapshotHandle ?? '',
        ...(secretName !== undefined && { [ANN_SNAPSHOT_SECRET_NAME]: secretName }),
        ...(secretNamespace !== undefined && { [ANN_SNAPSHOT_SECRET_NAMESPACE]: secretNamespace }),
      },
    },
    spec: {
      driver: spec.driver,
      deletionPolicy: spec.deletionPolicy,
      source: { volumeHandle: info.volumeHandle },
      ...(volume?.spec.volumeMode !== undefined && { sourceVolumeMode: volume.spec.volumeMode }),
      volumeSnapshotRef: {
        apiVersion: apiVersionOf(volumeSnapshots),
        kind: volumeSnapshots.kind,
        name: snapshot.metadata.name,
        namespace: snapshot.metadata.namespace ?? '',
        uid: snapshot.metadata.uid,
      },
    },
  };
}

export function memberContentStatus(
  { status }: VolumeGroupSnapshotContent,
  { info }: Member,
): NonNullable<VolumeSnapshotContent['status']> {
  const { snapshotHandle, creationTime, restoreSize, readyToUse = false } = info;
  return {
    snapshotHandle,
    readyToUse,
    ...(status?.volumeGroupSnapshotHandle !== undefined && {
      volumeGroupSnapshotHandle: status.volumeGroupSnapshotHandle,
    }),
    ...(creationTime !== undefined && { creationTime }),
    ...(restoreSize !== undefined && { restoreSize }),
  };
}

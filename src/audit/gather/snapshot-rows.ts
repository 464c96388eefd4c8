// From snapshots and their contents to rows. Pure.

import type { VolumeGroupSnapshotContent, VolumeSnapshotContent } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { isOfGroup } from '../../api/snapshots.ts';
import {
  ANN_GROUP_SNAPSHOT_BEING_CREATED,
  ANN_GROUP_SNAPSHOT_BEING_DELETED,
  ANN_SNAPSHOT_BEING_CREATED,
  ANN_SNAPSHOT_BEING_DELETED,
} from '../../api/well-known.ts';
import type { ContentRow, GroupContentRow, SnapshotRow } from '../facts.ts';
import { objectRow } from './rows.ts';

const NONE: readonly string[] = [];

export const contentRow =
  (driver: string) =>
  (content: VolumeSnapshotContent): ContentRow | undefined => {
    const { spec, status, metadata } = content;
    if (spec.driver !== driver) return undefined;
    const { annotations = {} } = metadata;
    const ref = spec.volumeSnapshotRef;
    return {
      ...objectRow(content),
      handle: status?.snapshotHandle ?? spec.source.snapshotHandle ?? '',
      source: spec.source.volumeHandle ?? '',
      policy: spec.deletionPolicy,
      snapshot: `${ref.namespace ?? ''}/${ref.name ?? ''}`,
      snapshotUid: ref.uid ?? '',
      isBeingCreated: annotations[ANN_SNAPSHOT_BEING_CREATED] !== undefined,
      isBeingDeleted: annotations[ANN_SNAPSHOT_BEING_DELETED] !== undefined,
      isOfGroup: isOfGroup(content),
    };
  };

export const groupContentRow =
  (driver: string) =>
  (content: VolumeGroupSnapshotContent): GroupContentRow | undefined => {
    const { spec, status, metadata } = content;
    if (spec.driver !== driver) return undefined;
    const { annotations = {} } = metadata;
    const given = spec.source.groupSnapshotHandles;
    const ref = spec.volumeGroupSnapshotRef;
    return {
      ...objectRow(content),
      handle: status?.volumeGroupSnapshotHandle ?? given?.volumeGroupSnapshotHandle ?? '',
      sources: spec.source.volumeHandles ?? NONE,
      members: [
        ...(given?.volumeSnapshotHandles ?? []),
        ...(status?.volumeSnapshotInfoList ?? []).flatMap(({ snapshotHandle }) => snapshotHandle ?? []),
      ],
      policy: spec.deletionPolicy,
      group: `${ref.namespace ?? ''}/${ref.name ?? ''}`,
      groupUid: ref.uid ?? '',
      isBeingCreated: annotations[ANN_GROUP_SNAPSHOT_BEING_CREATED] !== undefined,
      isBeingDeleted: annotations[ANN_GROUP_SNAPSHOT_BEING_DELETED] !== undefined,
    };
  };

interface Bound extends KubeObject {
  status?: { boundVolumeSnapshotContentName?: string; boundVolumeGroupSnapshotContentName?: string };
}

export function snapshotRow(snapshot: Bound): SnapshotRow {
  const { boundVolumeSnapshotContentName: single, boundVolumeGroupSnapshotContentName: group } =
    snapshot.status ?? {};
  return { ...objectRow(snapshot), content: single ?? group ?? '' };
}

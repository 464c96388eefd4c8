// The status of a VolumeGroupSnapshot, computed from its content's and its members'. Pure.

import type { VolumeGroupSnapshot, VolumeGroupSnapshotContent, VolumeSnapshot } from '../../api/kinds.ts';
import { isReadyToUse } from '../../api/snapshots.ts';
import { errorChange, type StatusChange } from '../snapshot/snapshot-status.ts';

export const isCut = ({ status }: VolumeGroupSnapshot): boolean => status?.creationTime !== undefined;
export const isReady = ({ status }: VolumeGroupSnapshot): boolean => status?.readyToUse === true;

/** Ready when the driver says so and every member is. Undefined when the status is so already. */
export function groupStatusChange(
  group: VolumeGroupSnapshot,
  { metadata, status: from = {} }: VolumeGroupSnapshotContent,
  members: readonly VolumeSnapshot[],
): StatusChange | undefined {
  const { status = {} } = group;
  const ready = from.readyToUse === true && members.every(isReadyToUse);
  const patch = {
    ...(status.boundVolumeGroupSnapshotContentName === undefined && {
      boundVolumeGroupSnapshotContentName: metadata.name,
    }),
    ...(status.creationTime === undefined &&
      from.creationTime !== undefined && { creationTime: from.creationTime }),
    ...(status.readyToUse !== ready && { readyToUse: ready }),
    ...errorChange(group, from.error),
  };
  if (Object.keys(patch).length === 0) return undefined;
  return { patch, isCut: !isCut(group) && 'creationTime' in patch, isReady: !isReady(group) && ready };
}

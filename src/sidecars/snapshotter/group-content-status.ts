// The snapshotter's patches of a VolumeGroupSnapshotContent's status. Pure.

import type { VolumeGroupSnapshotContent, VolumeSnapshotInfo } from '../../api/kinds.ts';
import { sameJson } from '../../api/same-json.ts';
import type { GroupSnapshotHandle } from '../../csi/names/driver-name.ts';
import type { StatusPatch } from './content-kind.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

/** A group snapshot in the driver's response. */
export interface GroupFacts {
  handle: GroupSnapshotHandle;
  ready: boolean;
  /** Undefined when the driver returns none. */
  createdMs: number | undefined;
  members: VolumeSnapshotInfo[];
}

type Status = { [K in keyof NonNullable<VolumeGroupSnapshotContent['status']>]?: unknown };

/** Undefined when the status is so already. A recorded handle is kept: others have acted on it. */
export function groupStatusPatch(
  { spec, status = {} }: VolumeGroupSnapshotContent,
  { handle, ready, createdMs, members }: GroupFacts,
  nowMs: number,
): StatusPatch | undefined {
  const { volumeGroupSnapshotHandle: recorded } = status;
  if (recorded !== undefined && recorded !== handle) {
    throw new SnapshotProblem(
      `the driver now returns group snapshot ${handle}; the recorded ${recorded} is kept`,
    );
  }
  // Users bring the members of a pre-provisioned group themselves.
  const isMembersOwner = spec.source.groupSnapshotHandles === undefined;
  const patch: Status = {
    ...(recorded === undefined && { volumeGroupSnapshotHandle: handle }),
    ...(status.readyToUse !== ready && { readyToUse: ready }),
    ...(status.creationTime === undefined && {
      creationTime: new Date(createdMs ?? nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    }),
    ...(isMembersOwner &&
      !sameJson(status.volumeSnapshotInfoList, members) && { volumeSnapshotInfoList: members }),
    ...(status.error !== undefined && { error: null }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** The group snapshot is gone from the storage. */
export const DELETED_GROUP_STATUS: Status = {
  volumeGroupSnapshotHandle: null,
  readyToUse: null,
  creationTime: null,
};

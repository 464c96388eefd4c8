// The snapshotter's patches of a VolumeSnapshotContent's status. Pure.

import type { VolumeSnapshotContent } from '../../api/kinds.ts';
import type { GroupSnapshotHandle, SnapshotHandle } from '../../csi/names/driver-name.ts';
import type { StatusPatch } from './content-kind.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

/** A snapshot in the driver's response. */
export interface SnapshotFacts {
  handle: SnapshotHandle;
  ready: boolean;
  /** Nanoseconds since 1970; undefined when the driver returns none. */
  createdNs: bigint | undefined;
  /** 0 when the driver returns none. */
  sizeBytes: bigint;
  groupHandle?: GroupSnapshotHandle;
}

type Status = { [K in keyof NonNullable<VolumeSnapshotContent['status']>]?: unknown };

/** Undefined when the status is so already. A recorded value is kept: others have acted on it. */
export function statusPatch(
  { status = {} }: VolumeSnapshotContent,
  snapshot: SnapshotFacts,
  nowMs: number,
): StatusPatch | undefined {
  const { handle, ready, createdNs = BigInt(nowMs) * 1_000_000n, sizeBytes, groupHandle } = snapshot;
  if (status.snapshotHandle !== undefined && status.snapshotHandle !== handle) {
    throw new SnapshotProblem(
      `the driver now returns snapshot ${handle}; the recorded ${status.snapshotHandle} is kept`,
    );
  }
  const patch: Status = {
    ...(status.snapshotHandle === undefined && { snapshotHandle: handle }),
    ...(status.readyToUse !== ready && { readyToUse: ready }),
    ...(status.creationTime === undefined && { creationTime: Number(createdNs) }),
    ...(status.restoreSize === undefined && sizeBytes > 0n && { restoreSize: Number(sizeBytes) }),
    ...(status.volumeGroupSnapshotHandle === undefined &&
      groupHandle && { volumeGroupSnapshotHandle: groupHandle }),
    ...(status.error !== undefined && { error: null }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** The snapshot is gone from the storage. */
export const DELETED_STATUS: Status = {
  snapshotHandle: null,
  readyToUse: null,
  creationTime: null,
  restoreSize: null,
};

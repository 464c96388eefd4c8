// What the snapshotter writes into the status of a VolumeSnapshotContent. Pure.

import type { SnapshotError, VolumeSnapshotContent } from '../../api/kinds.ts';
import type { SnapshotHandle } from '../../csi/names/driver-name.ts';
import { SnapshotProblem } from './snapshot-problem.ts';

/** A snapshot as the driver tells of it. */
export interface SnapshotFacts {
  handle: SnapshotHandle;
  ready: boolean;
  /** Nanoseconds since 1970; undefined when the driver does not say. */
  createdNs: bigint | undefined;
  /** 0 when the driver does not say. */
  sizeBytes: bigint;
  groupHandle?: string;
}

/** A merge patch of the status; null takes a field away. */
export type StatusPatch = { [K in keyof NonNullable<VolumeSnapshotContent['status']>]?: unknown };

const LONGEST_MESSAGE = 4096;

/** Undefined when the status says so already. What was recorded once is kept: it is what others have acted on. */
export function statusPatch(
  { status = {} }: VolumeSnapshotContent,
  snapshot: SnapshotFacts,
  nowMs: number,
): StatusPatch | undefined {
  const { handle, ready, createdNs = BigInt(nowMs) * 1_000_000n, sizeBytes, groupHandle } = snapshot;
  if (status.snapshotHandle !== undefined && status.snapshotHandle !== handle) {
    throw new SnapshotProblem(
      `the driver now answers with snapshot ${handle}; it was ${status.snapshotHandle}, which is kept`,
    );
  }
  const patch: StatusPatch = {
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

/** Undefined when the status says so already. */
export function errorPatch(
  { status = {} }: VolumeSnapshotContent,
  message: string,
  nowMs: number,
): StatusPatch | undefined {
  const shown = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} […]` : message;
  if (status.error?.message === shown && status.readyToUse !== undefined) return undefined;
  const error: SnapshotError = {
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    message: shown,
  };
  // A snapshot that cannot be deleted is as usable as it was.
  return { readyToUse: status.readyToUse ?? false, error };
}

/** The snapshot is gone from the storage. */
export const DELETED_PATCH: StatusPatch = {
  snapshotHandle: null,
  readyToUse: null,
  creationTime: null,
  restoreSize: null,
};

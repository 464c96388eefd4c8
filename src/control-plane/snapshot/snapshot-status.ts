// The status of a VolumeSnapshot, computed from its content's. Pure.

import type { SnapshotError, VolumeSnapshot, VolumeSnapshotContent } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { formatQuantity, quantityFromBytes } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import { isReadyToUse } from '../../api/snapshots.ts';

/** A merge patch of a status; null removes a field. */
export type StatusPatch = Readonly<Record<string, unknown>>;

/**
 * The metadata of a status patch. One that takes something back holds only for the version it was decided on: late, it would
 * make a snapshot unready that became ready since. A conflict means that the next run decides again.
 */
export function statusPreconditions(
  { metadata: { uid, resourceVersion } }: KubeObject,
  { readyToUse, error }: StatusPatch,
): { uid: string; resourceVersion?: string } {
  const takesBack = readyToUse === false || (error !== undefined && error !== null);
  return { uid, ...(takesBack && { resourceVersion }) };
}

/** A VolumeSnapshot or a VolumeGroupSnapshot, as far as its failures go. */
interface Failing {
  status?: { readyToUse?: boolean; error?: SnapshotError };
}

export interface StatusChange {
  patch: StatusPatch;
  /** With this patch the snapshot is shown as created, and as ready to use. */
  isCut: boolean;
  isReady: boolean;
}

export const isCut = ({ status }: VolumeSnapshot): boolean => status?.creationTime !== undefined;

/** Undefined when the status is so already. */
export function statusChange(
  snapshot: VolumeSnapshot,
  { metadata, status: from = {} }: VolumeSnapshotContent,
  groupName?: string,
): StatusChange | undefined {
  const { status = {} } = snapshot;
  const ready = from.readyToUse ?? false;
  const hasNoSize = status.restoreSize === undefined || status.restoreSize === '0';
  const patch = {
    ...(status.boundVolumeSnapshotContentName === undefined && {
      boundVolumeSnapshotContentName: metadata.name,
    }),
    ...(status.volumeGroupSnapshotName === undefined &&
      groupName !== undefined && { volumeGroupSnapshotName: groupName }),
    ...(status.creationTime === undefined &&
      from.creationTime !== undefined && { creationTime: timeText(from.creationTime / 1e6) }),
    ...(status.readyToUse !== ready && { readyToUse: ready }),
    ...(hasNoSize &&
      from.restoreSize !== undefined &&
      (status.restoreSize === undefined || from.restoreSize > 0) && {
        restoreSize: formatQuantity(quantityFromBytes(from.restoreSize)),
      }),
    ...errorChange(snapshot, from.error),
  };
  if (Object.keys(patch).length === 0) return undefined;
  return {
    patch,
    isCut: !isCut(snapshot) && 'creationTime' in patch,
    isReady: !isReadyToUse(snapshot) && ready,
  };
}

/** The error field of a status patch. */
export function errorChange({ status }: Failing, error: SnapshotError | undefined): StatusPatch {
  if (sameJson(status?.error, error)) return {};
  return { error: error ?? null };
}

/** Undefined when the status is so already. `unready`: the snapshot cannot be used. */
export function failureChange(
  { status = {} }: Failing,
  failure: { message: string; unready: boolean },
  nowMs: number,
): StatusPatch | undefined {
  const { message, unready } = failure;
  const becomesUnready = unready && status.readyToUse !== false;
  if (status.error?.message === message && !becomesUnready) return undefined;
  return { ...(becomesUnready && { readyToUse: false }), error: { time: timeText(nowMs), message } };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

// The error in a content's status, of a snapshot or of a group snapshot. Pure.

import type { SnapshotError } from '../../api/kinds.ts';
import type { StatusPatch } from './content-kind.ts';

const LONGEST_MESSAGE = 4096;

/** Undefined when the status is so already. */
export function errorPatch(
  { status = {} }: { status?: { error?: SnapshotError; readyToUse?: boolean } },
  message: string,
  nowMs: number,
): StatusPatch | undefined {
  const shown = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} […]` : message;
  if (status.error?.message === shown && status.readyToUse !== undefined) return undefined;
  const error: SnapshotError = {
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    message: shown,
  };
  // A snapshot whose deletion failed is as usable as before.
  return { readyToUse: status.readyToUse ?? false, error };
}

// What a pod asks of its node, from its own fields and the time. Pure.

import type { Pod } from '../../api/kinds.ts';
import { isTerminated } from '../../api/volumes.ts';

export type PodNeed =
  /** Its volumes are to be there. `untilMs`: the wall-clock time at which that ends, when it is known. */
  | { kind: 'volumes'; untilMs?: number }
  /** Its volumes are to go. */
  | { kind: 'nothing' };

/** A pod that is being deleted keeps its volumes for its grace period, unless it never had them all. */
export function podNeed(pod: Pod, nowMs: number): PodNeed {
  if (isTerminated(pod)) return { kind: 'nothing' };
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined) return { kind: 'volumes' };
  const untilMs = Date.parse(deletionTimestamp);
  if (pod.status?.phase !== 'Running' || !(nowMs < untilMs)) return { kind: 'nothing' };
  return { kind: 'volumes', untilMs };
}

// Whether a pod needs its volumes now, from its fields and the time. Pure.

import type { Pod } from '../../api/kinds.ts';
import { isTerminated } from '../../api/volumes.ts';

export type PodNeed =
  /** Its volumes must be mounted. `untilMs`: wall-clock time at which its grace period ends, when it is being deleted. */
  | { kind: 'volumes'; untilMs?: number }
  /** Its volumes must be unmounted. */
  | { kind: 'nothing' };

/** A pod that is being deleted keeps its volumes for its grace period, unless it never ran. */
export function podNeed(pod: Pod, nowMs: number): PodNeed {
  if (isTerminated(pod)) return { kind: 'nothing' };
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined) return { kind: 'volumes' };
  const untilMs = Date.parse(deletionTimestamp);
  if (pod.status?.phase !== 'Running' || !(nowMs < untilMs)) return { kind: 'nothing' };
  return { kind: 'volumes', untilMs };
}

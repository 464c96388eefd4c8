// Whether a pod needs its volumes now. Pure.

import type { Pod } from '../../api/kinds.ts';
import { isTerminated } from '../../api/volumes.ts';

export type PodNeed =
  /** Its volumes must be mounted. `leftMs`: what is left of its grace period, when it is being deleted. */
  | { kind: 'volumes'; leftMs?: number }
  /** Its volumes must be unmounted. */
  | { kind: 'nothing' };

/** A pod that is being deleted keeps its volumes for its grace period, unless it never ran. */
export function podNeed(pod: Pod, leftMs: number | undefined): PodNeed {
  if (isTerminated(pod)) return { kind: 'nothing' };
  if (leftMs === undefined) return { kind: 'volumes' };
  if (pod.status?.phase !== 'Running' || leftMs <= 0) return { kind: 'nothing' };
  return { kind: 'volumes', leftMs };
}

// Whether a pod waits for a node from the scheduler of this name. Pure.

import type { Pod } from '../../api/kinds.ts';
import { isTerminated } from '../../api/volumes.ts';

export function awaitsScheduler(pod: Pod, schedulerName: string): boolean {
  const { nodeName, schedulerName: named = 'default-scheduler' } = pod.spec;
  const gates = (pod.spec as { schedulingGates?: unknown[] }).schedulingGates ?? [];
  return (
    !nodeName &&
    named === schedulerName &&
    gates.length === 0 &&
    !pod.metadata.deletionTimestamp &&
    !isTerminated(pod)
  );
}

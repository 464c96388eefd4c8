// Which pods give way to one of higher priority: those that have its ReadWriteOncePod claim. Room is never made by
// preemption. Pure.

import type { Pod } from '../../api/kinds.ts';

export interface Preemption {
  readonly nodeName: string;
  readonly victims: readonly Pod[];
}

/** `holders`: the scheduled pods that use exclusive claims of the pod. */
export function preemptionFor(pod: Pod, holders: readonly Pod[]): Preemption | undefined {
  const [first] = holders;
  const nodeName = first?.spec.nodeName;
  if (nodeName === undefined || pod.spec.preemptionPolicy === 'Never') return undefined;
  const givesWay = (holder: Pod): boolean =>
    holder.spec.nodeName === nodeName &&
    // One that is going is waited for.
    holder.metadata.deletionTimestamp === undefined &&
    priorityOf(holder) < priorityOf(pod);
  return holders.every(givesWay) ? { nodeName, victims: holders } : undefined;
}

/** Whether others gave way to this pod, which is therefore scheduled before a pod of lower priority. */
export function goesFirst(nominated: Pod, pod: Pod): boolean {
  const waits = nominated.status?.nominatedNodeName !== undefined && !nominated.metadata.deletionTimestamp;
  return waits && priorityOf(nominated) > priorityOf(pod);
}

const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

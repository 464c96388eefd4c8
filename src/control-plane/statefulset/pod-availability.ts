// When a pod counts as available: it runs, and has been ready for long enough. Pure.

import type { Pod } from '../../api/kinds.ts';

export function isReady({ status }: Pod): boolean {
  return status?.phase === 'Running' && readyCondition({ status }) !== undefined;
}

/** How long until a ready pod counts as available; 0 when it does. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(readyCondition(pod)?.lastTransitionTime ?? '');
  // Without a transition time it counts as ready from now on.
  const leftMs = (Number.isNaN(since) ? nowMs : since) + minReadySeconds * 1000 - nowMs;
  return Math.max(0, leftMs);
}

function readyCondition({ status }: Pick<Pod, 'status'>) {
  return (status?.conditions ?? []).find((each) => each.type === 'Ready' && each.status === 'True');
}

// Whether a pod must be force-deleted, because no kubelet is left to end it. Pure.

import type { Node, Pod } from '../../api/kinds.ts';
import { TAINT_OUT_OF_SERVICE } from '../../api/well-known.ts';

export interface PodSnapshot {
  pod: Pod;
  /** The pod's node; undefined when it has none or the cache shows none. */
  node: Node | undefined;
}

export type PodStep =
  | { do: 'nothing' }
  /** Its node does not exist. A node may be created again, and caches lag: the server is asked after a delay. */
  | { do: 'quarantine' }
  | { do: 'delete'; why: string };

export function decidePod({ pod, node }: PodSnapshot): PodStep {
  const isTerminating = pod.metadata.deletionTimestamp !== undefined;
  if (!pod.spec.nodeName) {
    return isTerminating ? { do: 'delete', why: 'it was never scheduled' } : { do: 'nothing' };
  }
  if (!node) return { do: 'quarantine' };
  if (isTerminating && isOutOfService(node)) {
    return { do: 'delete', why: 'its node is out of service' };
  }
  return { do: 'nothing' };
}

/** The taint out-of-service is an operator's assurance that the node is off, so its pods do not run. */
export function isOutOfService({ spec, status }: Node): boolean {
  const isReady = (status?.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');
  return !isReady && (spec?.taints ?? []).some(({ key }) => key === TAINT_OUT_OF_SERVICE);
}

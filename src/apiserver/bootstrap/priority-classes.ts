// The two priority classes that every Kubernetes cluster has.

import type { PriorityClass } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';

/** The highest value that a user's class may have; higher ones are the system's. */
export const HIGHEST_USER_PRIORITY = 1_000_000_000;

export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2 * HIGHEST_USER_PRIORITY,
  'system-node-critical': 2 * HIGHEST_USER_PRIORITY + 1000,
};

export function systemPriorityClasses(): Draft<PriorityClass>[] {
  return Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
    description: `Used for system critical pods that must ${
      name === 'system-node-critical'
        ? 'not be moved from their current node.'
        : 'run in the cluster, but can be moved to another node if necessary.'
    }`,
  }));
}

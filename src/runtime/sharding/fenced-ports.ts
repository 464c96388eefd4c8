// Ports that check right before each write that the replica's Lease still counts: a process that was stopped for a minute
// and goes on must not finish what it was about to do. Reads are not checked.

import type { KubeClient } from '../kube/kube.ts';

export interface Fence {
  /** Throws when this replica must not act any more. */
  check(): void;
}

const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deleteCollection', 'createSubresource']);

export function fencedKube<K extends KubeClient>(kube: K, fence: Fence): K {
  return new Proxy(kube, {
    get(target, name, receiver) {
      const method = Reflect.get(target, name, receiver);
      if (typeof method !== 'function') return method;
      if (typeof name !== 'string' || !WRITES.has(name)) return method.bind(target);
      return async (...given: unknown[]) => {
        fence.check();
        return method.apply(target, given);
      };
    },
  });
}

// Force-deletes pods that no kubelet will end: pods of nodes that no longer exist, terminating pods of nodes that are out
// of service, and pods deleted before they were scheduled. Watches pods and nodes; marks such pods as Failed and deletes
// them.

import { type Node, nodes, type Pod, pods } from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { isTerminated } from '../../api/volumes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByNode } from '../pods-by-node.ts';
import { decidePod, isOutOfService } from './decide-pod.ts';

const WORKERS = 8;
const BACKOFF = { startMs: 200, maxMs: 60_000 };
/** As in Kubernetes: a node that is registered again under its name keeps its pods. */
export const QUARANTINE_MS = 40_000;

/** What the server has may be gone again before the cache shows it: then no event comes, so it is looked at again. */
const cacheIsBehind = failed({ why: 'the cache does not show its node as it is', quiet: true });

export function createPodGc(ports: ControllerPorts, options: { quarantineMs?: number } = {}): Controller {
  const { kube, informers, clock } = ports;
  const { quarantineMs = QUARANTINE_MS } = options;
  const log = ports.log.with({ controller: 'pod-garbage-collector' });
  const podCache = informers.of(pods);
  const nodeCache = informers.of(nodes);
  const podsOn = indexPodsByNode(podCache);
  /** When a node was first found missing, by the monotonic clock. */
  const missingSinceMs = new Map<string, number>();

  const loop = createLoop({
    ...ports,
    log,
    name: 'pod-garbage',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const pod = podCache.get(key);
      if (!pod) return done;
      const nodeName = pod.spec.nodeName ?? '';
      const step = decidePod({ pod, node: nodeCache.get(nodeName) });
      switch (step.do) {
        case 'nothing':
          return done;
        case 'delete':
          // The taint may have been removed, unseen: then the node's kubelet runs again, and ends the pod itself.
          if (nodeName !== '') {
            const node = await liveNode(nodeName, signal);
            if (!node || !isOutOfService(node)) return cacheIsBehind;
          }
          await end(pod, step.why, signal);
          return done;
        case 'quarantine': {
          const sinceMs = missingSinceMs.get(nodeName) ?? clock.monotonicMs();
          missingSinceMs.set(nodeName, sinceMs);
          const leftMs = sinceMs + quarantineMs - clock.monotonicMs();
          if (leftMs > 0) return requeueAfter(leftMs, 'its node may come back');
          if (await liveNode(nodeName, signal)) {
            missingSinceMs.delete(nodeName);
            return cacheIsBehind;
          }
          await end(pod, 'its node no longer exists', signal);
          return done;
        }
      }
    },
  });

  const liveNode = (name: string, signal: AbortSignal): Promise<Node | undefined> =>
    ifThere(kube.get(nodes, { name }, { signal }));

  /** Marked as Failed first, so that watchers see that it did not complete. */
  async function end(pod: Pod, why: string, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const name = nameFromKey(keyOf(pod));
    try {
      if (!isTerminated(pod)) {
        const lastTransitionTime = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
        const condition = {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByPodGC',
          message: `PodGC: ${why}`,
          lastTransitionTime,
        };
        const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
        const status = { phase: 'Failed', conditions: [...conditions, condition] };
        const patch = { metadata: { uid }, status };
        await kube.patch(pods, name, patch, { type: 'merge', subresource: 'status', signal });
      }
      await kube.delete(pods, name, { gracePeriodSeconds: 0, preconditions: { uid }, signal });
      log.info('Force-deleted a pod', { pod: keyOf(pod), why });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  const look = (pod: Pod): void => {
    if (decidePod({ pod, node: nodeCache.get(pod.spec.nodeName ?? '') }).do !== 'nothing')
      loop.add(keyOf(pod));
  };
  const lookAtPodsOf = ({ metadata }: Node): void => {
    for (const pod of podsOn(metadata.name)) look(pod);
  };
  podCache.subscribe({ added: look, updated: (_before, after) => look(after) });
  nodeCache.subscribe({
    added: ({ metadata }) => missingSinceMs.delete(metadata.name),
    updated: (before, after) => {
      if (isOutOfService(before) !== isOutOfService(after)) lookAtPodsOf(after);
    },
    deleted: lookAtPodsOf,
  });

  return {
    name: 'pod-garbage-collector-controller',
    async run(signal) {
      if (await cachesSynced([podCache, nodeCache], signal)) await loop.run(signal);
    },
  };
}

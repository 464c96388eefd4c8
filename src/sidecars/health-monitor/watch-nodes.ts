// Reports a node that is lost, and its return, as Events on the pods whose volumes of this driver it holds, and on their
// claims. A node is lost when it was not Ready for five minutes, or was deleted. Watches nodes, pods and volumes.

import {
  type Node,
  nodes,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  pods,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf } from '../../api/volumes.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';

/** The official health monitor's. */
const LOST_AFTER_MS = 300_000;
const BY_CLAIM = 'health-monitor/volumes-by-claim';

export function watchNodes(
  ports: SidecarPorts,
  { volumes }: { volumes: Informer<PersistentVolume> },
): Sidecar {
  const { informers, driver, clock, log, recorder } = ports;
  const nodeCache = informers.of(nodes);
  const podCache = informers.of(pods);
  const claims = informers.of(persistentVolumeClaims);
  volumes.addIndex(BY_CLAIM, ({ spec: { claimRef } }) =>
    claimRef === undefined ? [] : [`${claimRef.namespace}/${claimRef.name}`],
  );
  const lost = new Set<string>();

  const loop = createLoop({
    ...ports,
    name: 'health-monitor-node',
    workers: 1,
    backoff: { startMs: 1_000, maxMs: 60_000 },
    reconcile: async (name) => look(name),
  });

  function look(name: string): Outcome {
    const node = nodeCache.get(name);
    const brokenMs = node === undefined ? LOST_AFTER_MS : notReadyForMs(node);
    if (brokenMs === undefined) {
      if (lost.delete(name)) tell(name, 'NodeRecovered', `Node ${name} has recovered`);
      return done;
    }
    if (brokenMs < LOST_AFTER_MS) return requeueAfter(LOST_AFTER_MS - brokenMs, 'it is not Ready');
    if (!lost.has(name)) {
      lost.add(name);
      tell(name, 'NodeFailed', `Node ${name} ${node === undefined ? 'was deleted' : 'is lost'}`);
    }
    return done;
  }

  /** Undefined while it is Ready, or has not said anything yet. */
  function notReadyForMs({ status }: Node): number | undefined {
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready === undefined || ready.status === 'True') return undefined;
    return clock.now() - Date.parse(ready.lastTransitionTime ?? '');
  }

  function tell(nodeName: string, reason: 'NodeFailed' | 'NodeRecovered', what: string): void {
    log.info(what, { node: nodeName });
    const type = reason === 'NodeFailed' ? 'Warning' : 'Normal';
    for (const pod of podCache.list().filter(({ spec }) => spec.nodeName === nodeName)) {
      const claimKeys = ourClaimsOf(pod);
      if (claimKeys.length === 0) continue;
      recorder.event(pod, type, reason, `${what}; it holds the volumes of ${claimKeys.join(', ')}`);
      for (const key of claimKeys) {
        const claim = claims.get(key);
        if (claim !== undefined)
          recorder.event(claim, type, reason, `${what}; pod ${keyOf(pod)} uses the volume there`);
      }
    }
  }

  const ourClaimsOf = (pod: Pod): string[] =>
    (pod.spec.volumes ?? []).flatMap((volume) => {
      const name = claimNameOf(pod, volume);
      const key = `${pod.metadata.namespace}/${name}`;
      const isOurs = volumes.byIndex(BY_CLAIM, key).some(({ spec }) => spec.csi?.driver === driver.name);
      return name !== undefined && isOurs ? [key] : [];
    });

  return {
    async run(signal) {
      await Promise.all([nodeCache.synced(signal), podCache.synced(signal)]);
      const unsubscribe = nodeCache.subscribe({
        added: (node) => loop.add(keyOf(node)),
        updated: (_before, node) => loop.add(keyOf(node)),
        deleted: (node) => loop.add(keyOf(node)),
      });
      try {
        await loop.run(signal);
      } finally {
        unsubscribe();
      }
    },
  };
}

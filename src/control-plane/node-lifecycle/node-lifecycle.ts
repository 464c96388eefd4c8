// Detects nodes whose heartbeats stopped. Watches Nodes, their Leases and pods; sets the conditions of such a node to
// Unknown, taints nodes that are not ready, and deletes pods that do not tolerate the taint any longer. It never deletes
// a node and never force-deletes a pod, because the pod may still run there.

import { type Lease, leases, type Node, nodes, type Pod, pods } from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { isTerminated } from '../../api/volumes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByNode } from '../pods-by-node.ts';
import { evictionTimeMs, silencedStatus, wantedTaints } from './decide-node.ts';

const WORKERS = 8;
const BACKOFF = { startMs: 200, maxMs: 60_000 };
/** Five renewals of a node's lease, each of which may fail for transient reasons. */
export const GRACE_MS = 50_000;
const LEASE_NAMESPACE = 'kube-node-lease';

/** When this process last saw a heartbeat, by its own clock: the node's clock is not trusted. */
interface LastSign {
  sign: string;
  seenMs: number;
}

export function createNodeLifecycle(ports: ControllerPorts): Controller {
  const { kube, informers, recorder, clock } = ports;
  const log = ports.log.with({ controller: 'node-lifecycle' });
  const nodeCache = informers.of(nodes);
  // All namespaces, as in the garbage collector's informer, so that the two share one cache.
  const leaseCache = informers.of(leases);
  const podCache = informers.of(pods);
  const podsOn = indexPodsByNode(podCache);
  const signs = new Map<string, LastSign>();
  const nowIso = (): string => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');

  const common = { ...ports, log, workers: WORKERS, backoff: BACKOFF };
  const nodeLoop = createLoop({ ...common, name: 'node-lifecycle', reconcile: reconcileNode });
  const podLoop = createLoop({ ...common, name: 'taint-eviction', reconcile: reconcilePod });

  async function reconcileNode(name: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    let node = nodeCache.get(name);
    if (!node) {
      signs.delete(name);
      return done;
    }
    const leftMs = silenceLeftMs(node);
    const status = silencedStatus({ node, isSilent: leftMs <= 0, nowIso: nowIso() });
    if (status) {
      node = await kube.update(nodes, { ...node, status }, { subresource: 'status', signal });
      log.warn('The heartbeats of a node stopped', { node: name, graceMs: GRACE_MS });
      recorder.event(node, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    }
    const taints = wantedTaints({ node, nowIso: nowIso() });
    if (taints) await kube.update(nodes, { ...node, spec: { ...node.spec, taints } }, { signal });
    // A heartbeat arrives as a change; only its absence needs a timer.
    return leftMs > 0 ? requeueAfter(leftMs, 'the grace period of its heartbeats') : done;
  }

  function silenceLeftMs(node: Node): number {
    const { name } = node.metadata;
    const renewed = leaseCache.get(`${LEASE_NAMESPACE}/${name}`)?.spec?.renewTime ?? '';
    const sign = `${renewed} ${readyOf(node)?.lastHeartbeatTime ?? ''}`;
    const last = signs.get(name);
    if (last?.sign !== sign) signs.set(name, { sign, seenMs: clock.monotonicMs() });
    return (signs.get(name)?.seenMs ?? 0) + GRACE_MS - clock.monotonicMs();
  }

  async function reconcilePod(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const pod = podCache.get(key);
    const node = nodeCache.get(pod?.spec.nodeName ?? '');
    if (!pod || !node || pod.metadata.deletionTimestamp || isTerminated(pod)) return done;
    const atMs = evictionTimeMs(pod, node);
    if (atMs === undefined) return done;
    const leftMs = atMs - clock.now();
    if (leftMs > 0) return requeueAfter(leftMs, 'it tolerates the taint until then');
    recorder.event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
    await ifThere(kube.delete(pods, nameFromKey(key), { preconditions: { uid: pod.metadata.uid }, signal }));
    return done;
  }

  const lookAtPod = (pod: Pod): void => {
    const node = nodeCache.get(pod.spec.nodeName ?? '');
    if (node && evictionTimeMs(pod, node) !== undefined) podLoop.add(keyOf(pod));
  };
  const lookAtNode = (node: Node): void => {
    nodeLoop.add(node.metadata.name);
    for (const pod of podsOn(node.metadata.name)) lookAtPod(pod);
  };
  const heardOf = (name: string): void => {
    const node = nodeCache.get(name);
    const last = signs.get(name);
    // A node that is alive is checked again when its grace period would end: most renewals change nothing before that.
    if (node && last && last.seenMs + GRACE_MS > clock.monotonicMs()) silenceLeftMs(node);
    else nodeLoop.add(name);
  };
  nodeCache.subscribe({
    added: lookAtNode,
    updated: (before, after) => {
      if (looksTheSame(before, after)) heardOf(after.metadata.name);
      else lookAtNode(after);
    },
    deleted: ({ metadata }) => nodeLoop.add(metadata.name),
  });
  const renewed = ({ metadata: { name, namespace } }: Lease): void => {
    if (namespace === LEASE_NAMESPACE) heardOf(name);
  };
  leaseCache.subscribe({ added: renewed, updated: (_before, after) => renewed(after) });
  podCache.subscribe({ added: lookAtPod, updated: (_before, after) => lookAtPod(after) });

  return {
    name: 'node-lifecycle-controller',
    async run(signal) {
      if (!(await cachesSynced([nodeCache, leaseCache, podCache], signal))) return;
      await Promise.all([nodeLoop.run(signal), podLoop.run(signal)]);
    },
  };
}

/** Most status updates only report volumes or a heartbeat. */
function looksTheSame(before: Node, after: Node): boolean {
  return (
    readyOf(before)?.status === readyOf(after)?.status && sameJson(before.spec?.taints, after.spec?.taints)
  );
}

function readyOf({ status }: Node) {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

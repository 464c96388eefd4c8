// The Node object of this node: created once at the start, its status, and the Lease that is its heartbeat. A Node that
// is deleted while the agent runs stays deleted: that is how an administrator removes a node.

import { leases, type Node, nodes } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { type Loop, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import { nodeOwner } from '../registration/driver-facts.ts';
import { type HostFacts, missingLabels, nodeDraft, nodeStatusPatch } from './node-status.ts';

/** As the kubelet: leases of 40 s, renewed four times in that; the whole status every five minutes. */
const LEASE_SECONDS = 40;
const RENEW_MS = 10_000;
const STATUS_MS = 5 * 60_000;
const LEASE_NAMESPACE = 'kube-node-lease';

export interface NodeRegistration {
  /** Resolves once the Node exists; keeps trying. */
  register(signal: AbortSignal): Promise<void>;
  /** Heartbeats. */
  run(signal: AbortSignal): Promise<void>;
}

export function createNodeRegistration(
  ports: LoopPorts & {
    kube: KubeClient;
    nodeName: string;
    host: HostFacts;
    /** Additional labels for a new Node. */
    labels: Readonly<Record<string, string>>;
    /** Unique names of volumes that may still be mounted from an earlier run. Tidies up, so never called beside mounts. */
    volumesOnDisk(): Promise<readonly string[]>;
    /** Unique names of volumes that are or may be mounted by this run. */
    volumesInUse(): Promise<readonly string[]>;
  },
): NodeRegistration {
  const { kube, nodeName, host, clock, log } = ports;

  async function registerOnce(signal: AbortSignal): Promise<void> {
    const draft = nodeDraft(nodeName, host, ports.labels);
    let node: Node;
    try {
      node = await kube.create(nodes, draft, { signal });
      log.info('registered this node', { node: nodeName });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      node = await kube.get(nodes, { name: nodeName }, { signal });
      const labels = missingLabels(node, draft.metadata.labels);
      if (Object.keys(labels).length > 0) {
        const patch = { metadata: { labels } };
        node = await kube.patch(nodes, { name: nodeName }, patch, { type: 'merge', signal });
      }
    }
    await writeStatus(node, ports.volumesOnDisk, signal);
    await renewLease(signal);
  }

  async function writeStatus(
    node: Node,
    inUse: () => Promise<readonly string[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const { status } = nodeStatusPatch(node, host, clock.now());
    // A new Node, which somebody else may have made, gets volumesInUse with its first status: without it its volumes would
    // count as unmounted. Only over the version without a list: any other list is newer than this one.
    const volumesInUse = node.status?.volumesInUse === undefined ? await inUse() : [];
    const { resourceVersion } = node.metadata;
    const patch =
      volumesInUse.length > 0
        ? { metadata: { resourceVersion }, status: { ...status, volumesInUse } }
        : { status };
    await kube.patch(nodes, { name: nodeName }, patch, { subresource: 'status', type: 'strategic', signal });
  }

  async function renewLease(signal: AbortSignal): Promise<void> {
    const name = { name: nodeName, namespace: LEASE_NAMESPACE };
    const spec = {
      holderIdentity: nodeName,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: microTime(clock.now()),
    };
    try {
      await kube.patch(leases, name, { spec }, { type: 'merge', signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const owner = nodeOwner(await kube.get(nodes, { name: nodeName }, { signal }));
      await kube.create(leases, { metadata: { ...name, ownerReferences: [owner] }, spec }, { signal });
    }
  }

  async function heartbeat(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      if (key === 'lease') {
        await renewLease(signal);
        return requeueAfter(RENEW_MS, 'the lease is renewed');
      }
      const node = await kube.get(nodes, { name: nodeName }, { signal });
      await writeStatus(node, ports.volumesInUse, signal);
      return requeueAfter(STATUS_MS, 'the status is written again');
    } catch (error) {
      if (isNotFound(error)) {
        log.warn(
          'the Node object of this node was deleted; it is created again only when the agent restarts',
        );
        return requeueAfter(STATUS_MS, 'the Node may have been created again');
      }
      if (isConflict(error)) return requeueAfter(1, 'conflict');
      throw error;
    }
  }

  return {
    async register(signal) {
      for (let delayMs = 200; ; delayMs = Math.min(7000, delayMs * 2)) {
        try {
          return await registerOnce(signal);
        } catch (error) {
          signal.throwIfAborted();
          log.error('could not register this node; will retry', error, {
            node: nodeName,
            retryInMs: delayMs,
          });
        }
        await clock.sleep(delayMs, signal);
      }
    },
    async run(signal) {
      const loop: Loop = createLoop({
        ...ports,
        log,
        name: 'node-heartbeat',
        workers: 2,
        backoff: { startMs: 200, maxMs: 7000, jitter: 0.1 },
        reconcile: (key, context) => heartbeat(key, context.signal),
      });
      loop.addAfter('lease', RENEW_MS);
      loop.addAfter('status', STATUS_MS);
      await loop.run(signal);
    },
  };
}

/** MicroTime: six digits. */
function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

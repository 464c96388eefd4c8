// Publishes this node's drivers: the Node's annotation and labels, CSINode, and CSINodeInfo if its CRD is installed.
// Level-triggered: everything is derived from the registered drivers, so removed entries are restored and entries of
// drivers that are gone are removed. Writes are serialized, and retried on conflict.

import { type CSINode, type CSINodeInfo, csiNodeInfos, csiNodes, type Node, nodes } from '../../api/kinds.ts';
import type { KubeObject, OwnerReference, Resource } from '../../api/object.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { type Loop, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import {
  type DriverFacts,
  type NodeDrivers,
  nextCSINode,
  nextNodeInfoDrivers,
  nodeOwner,
  nodePatch,
} from './driver-facts.ts';
import { conflictError, labelConflicts } from './topology-conflict.ts';

/** Retries on conflict: other drivers write the same objects, and there are a handful of those. */
const MOST_ATTEMPTS = 20;
/** A node may get its CSINode but not watch it, so it polls. A poll costs two requests. */
const LOOK_MS = 30_000;
/** A CRD may be installed at any time; a poll costs one request. */
const MISSING_START_MS = 1000;
/** A driver that has not registered within this time after the node's start is gone; its entries are removed. */
const GONE_AFTER_MS = 2 * 60_000;

export interface NodeInfoWriter {
  /** Resolves when Node and CSINode are written; CSINodeInfo follows asynchronously. */
  install(facts: DriverFacts, socket: string, signal: AbortSignal): Promise<void>;
  /** The driver's volume limit has changed. */
  setMaxVolumes(driver: DriverName, maxVolumes: number, signal: AbortSignal): Promise<void>;
  /** Not if another socket has installed the driver since. Its labels stay: others may rely on them. */
  uninstall(installed: { driver: DriverName; socket: string }, signal: AbortSignal): Promise<void>;
  /** Reconciles until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export function createNodeInfoWriter(
  ports: LoopPorts & {
    kube: KubeClient;
    nodeName: string;
    node: Informer<Node>;
    /** Replace a label that only this driver uses when the driver reports another value. */
    replaceTopologyLabels: boolean;
  },
): NodeInfoWriter {
  const { kube, nodeName, clock, log } = ports;
  const registered = new Map<string, DriverFacts>();
  /** The registration sockets of those. */
  const sockets = new Map<string, string>();
  /** Drivers that were registered and are not any more. */
  const left = new Set<string>();
  const startedMs = clock.monotonicMs();
  const drivers: NodeDrivers = {
    registered,
    isGone: (name) => left.has(name) || clock.monotonicMs() - startedMs >= GONE_AFTER_MS,
  };
  let turn: Promise<unknown> = Promise.resolve();
  let missing = 0;

  const loop: Loop = createLoop({
    ...ports,
    log,
    name: 'csi-node-info',
    reconcile: (key, { signal }) => (key === 'CSINodeInfo' ? keepNodeInfo(signal) : keepNode(signal)),
  });

  /** Serialized: concurrent registrations would only conflict. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work, work);
    turn = result.catch(() => {});
    return result;
  }

  async function retrying(signal: AbortSignal, attempt: () => Promise<boolean>): Promise<void> {
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted();
      try {
        if (await attempt()) return;
      } catch (error) {
        if (tries >= MOST_ATTEMPTS || !(isConflict(error) || isAlreadyExists(error))) throw error;
      }
    }
  }

  async function read<T extends KubeObject>(
    resource: Resource<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    return ifThere(kube.get(resource, { name: nodeName }, { signal }));
  }

  /** Node first: readers of the topology keys in CSINode need the labels. */
  async function write(signal: AbortSignal): Promise<void> {
    let node: Node | undefined;
    await retrying(signal, async () => {
      node = await kube.get(nodes, { name: nodeName }, { signal });
      const patch = nodePatch(node, drivers);
      if (patch) await kube.patch(nodes, { name: nodeName }, patch, { type: 'merge', signal });
      return true;
    });
    await writeCSINode(nodeOwner(node as Node), signal);
    loop.add('CSINodeInfo');
  }

  async function writeCSINode(owner: OwnerReference, signal: AbortSignal): Promise<void> {
    await retrying(signal, async () => {
      const current = await read(csiNodes, signal);
      if (current === undefined) {
        if (registered.size === 0) return true;
        const metadata = { name: nodeName, ownerReferences: [owner] };
        await kube.create(csiNodes, { metadata, spec: { drivers: [] } }, { signal });
        return false;
      }
      const next = nextCSINode(current, drivers, owner);
      if (next) await kube.update(csiNodes, next.object, { signal });
      return next?.last ?? true;
    });
  }

  async function writeNodeInfo(signal: AbortSignal): Promise<'written' | 'no such kind'> {
    let outcome: 'written' | 'no such kind' = 'written';
    await retrying(signal, async () => {
      const current = await read(csiNodeInfos, signal);
      const next = nextNodeInfoDrivers(current?.csiDrivers, drivers);
      if (next === undefined && (current || registered.size === 0)) return true;
      const ownerReferences = [nodeOwner(await kube.get(nodes, { name: nodeName }, { signal }))];
      try {
        if (current) {
          const metadata = { ...current.metadata, ownerReferences };
          await kube.update(csiNodeInfos, { ...current, metadata, csiDrivers: next ?? [] }, { signal });
        } else {
          const draft: Pick<CSINodeInfo, 'csiDrivers'> = { csiDrivers: next ?? [] };
          const metadata = { name: nodeName, ownerReferences };
          await kube.create(csiNodeInfos, { metadata, ...draft }, { signal });
        }
      } catch (error) {
        // Neither get nor create succeeds: the kind is not installed.
        if (!isNotFound(error)) throw error;
        if (!current) outcome = 'no such kind';
        return !current;
      }
      return true;
    });
    return outcome;
  }

  async function keepNode(signal: AbortSignal): Promise<Outcome> {
    // A deleted Node stays deleted; node-registration.ts logs it.
    await ifThere(inTurn(() => write(signal)));
    return requeueAfter(LOOK_MS, 'the next check for changes by others');
  }

  async function keepNodeInfo(signal: AbortSignal): Promise<Outcome> {
    if ((await writeNodeInfo(signal)) === 'written') {
      missing = 0;
      return requeueAfter(LOOK_MS, 'the next check for changes by others');
    }
    if (missing === 0) {
      log.info('CSINodeInfo is not installed in this cluster; CSINode says the same, looking again later');
    }
    const delayMs = Math.min(LOOK_MS, MISSING_START_MS * 2 ** missing);
    missing += 1;
    return requeueAfter(delayMs, 'the kind CSINodeInfo is not installed');
  }

  /** Throws if a label of the Node conflicts with the driver's topology and may not be replaced. */
  async function settleLabels(facts: DriverFacts, signal: AbortSignal): Promise<void> {
    const node = await kube.get(nodes, { name: nodeName }, { signal });
    const csiNode: CSINode | undefined = await read(csiNodes, signal);
    const labels: Record<string, string> = {};
    for (const conflict of labelConflicts(facts, node, csiNode)) {
      const { key, value, current, isOwn } = conflict;
      if (!isOwn || !ports.replaceTopologyLabels) throw conflictError(facts.name, nodeName, conflict);
      log.warn('replacing a topology label, because the driver reports another value', {
        driver: facts.name,
        label: key,
        from: current,
        to: value,
      });
      labels[key] = value;
    }
    if (Object.keys(labels).length === 0) return;
    await kube.patch(nodes, { name: nodeName }, { metadata: { labels } }, { type: 'merge', signal });
  }

  return {
    install: (facts, socket, signal) =>
      inTurn(async () => {
        await settleLabels(facts, signal);
        const before = registered.get(facts.name);
        registered.set(facts.name, facts);
        left.delete(facts.name);
        try {
          await write(signal);
          sockets.set(facts.name, socket);
        } catch (error) {
          if (before) registered.set(facts.name, before);
          else registered.delete(facts.name);
          throw error;
        }
      }),
    setMaxVolumes: (driver, maxVolumes, signal) =>
      inTurn(async () => {
        const facts = registered.get(driver);
        if (!facts || facts.maxVolumes === maxVolumes) return;
        registered.set(driver, { ...facts, maxVolumes });
        await write(signal);
      }),
    uninstall: ({ driver, socket }, signal) =>
      inTurn(async () => {
        if (registered.has(driver) && sockets.get(driver) !== socket) return;
        registered.delete(driver);
        left.add(driver);
        await write(signal);
      }),
    async run(signal) {
      const stop = ports.node.subscribe({
        updated(before, after) {
          if (nodePatch(after, drivers) && !nodePatch(before, drivers)) loop.add('Node');
        },
      });
      loop.addAfter('Node', LOOK_MS);
      try {
        await loop.run(signal);
      } finally {
        stop();
      }
    },
  };
}

// Tells the cluster which drivers this node has: the Node's annotation and labels, CSINode, and CSINodeInfo where its
// CRD is installed. Writes one driver at a time and again on conflict, so that no entry of another driver is lost.

import { type CSINodeInfo, csiNodeInfos, csiNodes, type Node, nodes } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import { done, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import { type DriverFacts, nextCSINode, nextNodeInfoDrivers, nodeOwner, nodePatch } from './driver-facts.ts';

/** Conflicts in a row are other drivers' writes: there are a handful of those. */
const MOST_ATTEMPTS = 20;
/** A CRD may be installed at any time; a look costs one request. */
const MISSING_START_MS = 1000;
const MISSING_MAX_MS = 30_000;

export interface NodeInfoWriter {
  /** Resolves when Node and CSINode say so; CSINodeInfo follows in its own time. */
  install(facts: DriverFacts, signal: AbortSignal): Promise<void>;
  /** Its labels stay: other things may rely on them. */
  uninstall(driver: string, signal: AbortSignal): Promise<void>;
  /** One look at CSINodeInfo; belongs into a loop. */
  reconcileNodeInfo(signal: AbortSignal): Promise<Outcome>;
}

export function createNodeInfoWriter(ports: {
  kube: KubeClient;
  nodeName: string;
  log: Log;
  /** There is something to do for `reconcileNodeInfo`. */
  onNodeInfoChange: () => void;
}): NodeInfoWriter {
  const { kube, nodeName, log } = ports;
  const infoChanges = new Map<string, DriverFacts | undefined>();
  let turn: Promise<unknown> = Promise.resolve();
  let missing = 0;

  /** One after the other: two drivers that register at once would only make conflicts for each other. */
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

  /** Says who owns what else is written of the driver. */
  async function writeNode(
    driver: string,
    facts: DriverFacts | undefined,
    signal: AbortSignal,
  ): Promise<OwnerReference> {
    let node: Node | undefined;
    await retrying(signal, async () => {
      node = await kube.get(nodes, { name: nodeName }, { signal });
      const patch = nodePatch(node, driver, facts);
      if (patch) await kube.patch(nodes, { name: nodeName }, patch, { type: 'merge', signal });
      return true;
    });
    return nodeOwner(node as Node);
  }

  async function writeCSINode(
    driver: string,
    facts: DriverFacts | undefined,
    owner: OwnerReference,
    signal: AbortSignal,
  ): Promise<void> {
    await retrying(signal, async () => {
      const current = await kube.get(csiNodes, { name: nodeName }, { signal }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      if (current === undefined) {
        await kube.create(
          csiNodes,
          { metadata: { name: nodeName, ownerReferences: [owner] }, spec: { drivers: [] } },
          { signal },
        );
        return false;
      }
      const next = nextCSINode(current, driver, facts, owner);
      if (next) await kube.update(csiNodes, next.object, { signal });
      return next?.last ?? true;
    });
  }

  function queueNodeInfo(driver: string, facts: DriverFacts | undefined): void {
    infoChanges.set(driver, facts);
    ports.onNodeInfoChange();
  }

  async function writeNodeInfo(
    changes: ReadonlyMap<string, DriverFacts | undefined>,
    signal: AbortSignal,
  ): Promise<'written' | 'no such kind'> {
    let outcome: 'written' | 'no such kind' = 'written';
    await retrying(signal, async () => {
      const current = await kube.get(csiNodeInfos, { name: nodeName }, { signal }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      const next = nextNodeInfoDrivers(current?.csiDrivers, changes);
      if (next === undefined && current) return true;
      const ownerReferences = [nodeOwner(await kube.get(nodes, { name: nodeName }, { signal }))];
      try {
        if (current) {
          const metadata = { ...current.metadata, ownerReferences };
          await kube.update(csiNodeInfos, { ...current, metadata, csiDrivers: next ?? [] }, { signal });
        } else {
          const draft: Pick<CSINodeInfo, 'csiDrivers'> = { csiDrivers: next ?? [] };
          await kube.create(
            csiNodeInfos,
            { metadata: { name: nodeName, ownerReferences }, ...draft },
            { signal },
          );
        }
      } catch (error) {
        // Nothing of that name, and nothing can be made under it: the kind is not there.
        if (!isNotFound(error)) throw error;
        if (!current) outcome = 'no such kind';
        return !current;
      }
      return true;
    });
    return outcome;
  }

  return {
    install: (facts, signal) =>
      inTurn(async () => {
        const owner = await writeNode(facts.name, facts, signal);
        await writeCSINode(facts.name, facts, owner, signal);
        queueNodeInfo(facts.name, facts);
      }),
    uninstall: (driver, signal) =>
      inTurn(async () => {
        const owner = nodeOwner(await kube.get(nodes, { name: nodeName }, { signal }));
        await writeCSINode(driver, undefined, owner, signal);
        await writeNode(driver, undefined, signal);
        queueNodeInfo(driver, undefined);
      }),
    async reconcileNodeInfo(signal) {
      const changes = new Map(infoChanges);
      if (changes.size === 0) return done;
      if ((await writeNodeInfo(changes, signal)) === 'no such kind') {
        if (missing === 0) {
          log.info(
            'CSINodeInfo is not installed in this cluster; CSINode says the same, looking again later',
          );
        }
        const delayMs = Math.min(MISSING_MAX_MS, MISSING_START_MS * 2 ** missing);
        missing += 1;
        return requeueAfter(delayMs, 'the kind CSINodeInfo is not installed');
      }
      missing = 0;
      for (const [driver, facts] of changes) {
        if (infoChanges.get(driver) === facts) infoChanges.delete(driver);
      }
      return done;
    },
  };
}

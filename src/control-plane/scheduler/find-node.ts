// Finds a node for a pod. The node chosen last time comes first. Then candidates are checked round-robin until enough of
// them fit, and the least loaded of these is taken. The cost of a pod that fits is therefore independent of the cluster's
// size; for a pod that fits nowhere every node is checked, to say why.

import type { DriverName } from '../../csi/names/driver-name.ts';
import { checkNode, type PodDemand } from './node-checks.ts';
import type { Constraint, NodeIndex } from './node-index.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodVolumes } from './pod-volumes.ts';
import { REASONS, ReasonCounts } from './reasons.ts';
import { type BindingPlan, checkVolumes, type VolumeFacts, volumeConstraints } from './volume-checks.ts';

/** Number of fitting nodes to choose from; more would hardly spread pods better. */
const ENOUGH = 16;
/** A kubelet's default; used for nodes that publish no limit. */
const PODS_PER_NODE = 110;

/** More than any pod has volumes. */
const AVOIDED = 1e6;

export interface Search {
  demand: PodDemand;
  volumes: PodVolumes;
  index: NodeIndex;
  facts: VolumeFacts;
  /** Another pod uses a ReadWriteOncePod claim of this pod. */
  exclusiveClash: boolean;
  /** The node chosen by the previous run. */
  earlier: NodeInfo | undefined;
  /** Nodes that are taken only if nothing else fits. */
  avoid: ReadonlySet<string>;
  /** The gate StorageCapacityScoring: nodes with much free capacity are preferred. */
  scoresCapacity?: boolean;
  /** Index of the first candidate. */
  start: number;
}

export type Found =
  | { node: NodeInfo; plan: BindingPlan; looked: number }
  | { node: undefined; reasons: ReasonCounts; nodeCount: number };

type Fit = { reasons: readonly string[] } | BindingPlan;

export function findNode(search: Search): Found {
  const { index, earlier, demand, volumes, avoid } = search;
  if (earlier?.node && !avoid.has(earlier.name)) {
    const fit = fitOf(search, earlier);
    if (!('reasons' in fit)) return { node: earlier, plan: fit, looked: 1 };
  }
  const constraints: Constraint[] = [...demand.selectors, ...volumeConstraints(volumes)];
  const candidates = index.candidates(constraints);
  let best: { node: NodeInfo; plan: BindingPlan; load: number } | undefined;
  let fitting = 0;
  let looked = 0;
  for (; looked < candidates.length && fitting < ENOUGH; looked++) {
    const node = candidates[(search.start + looked) % candidates.length];
    if (!node) continue;
    const fit = fitOf(search, node);
    if ('reasons' in fit) continue;
    // Nodes to avoid do not count: all candidates are checked before one of them is taken.
    if (!avoid.has(node.name)) fitting++;
    // A node with an existing volume comes before one where a volume must be provisioned.
    const load =
      (avoid.has(node.name) ? AVOIDED : 0) +
      fit.provisions.length +
      loadOf(node, demand) +
      (search.scoresCapacity ? fillOf(search, fit, node) : 0);
    if (!best || load < best.load) best = { node, plan: fit, load };
  }
  return best ? { node: best.node, plan: best.plan, looked } : explain(search);
}

/** Whether the pod would fit there if nobody used its exclusive claims. */
export const fitsBesides = (search: Search, info: NodeInfo): boolean =>
  !('reasons' in fitOf({ ...search, exclusiveClash: false }, info));

function fitOf({ demand, volumes, facts, exclusiveClash }: Search, info: NodeInfo): Fit {
  const reasons = checkNode(demand, info);
  if (reasons.length > 0) return { reasons };
  if (exclusiveClash) return { reasons: [REASONS.readWriteOncePod] };
  return checkVolumes(volumes, info, facts);
}

function explain(search: Search): Found {
  const reasons = new ReasonCounts();
  const nodes = search.index.all();
  for (const node of nodes) {
    const fit = fitOf(search, node);
    if ('reasons' in fit) reasons.add(fit.reasons);
  }
  return { node: undefined, reasons, nodeCount: nodes.length };
}

/** How full the node would be: between 0 and 1 for a node with room. */
function loadOf({ allocatable, requested, pods }: NodeInfo, { requests }: PodDemand): number {
  const mostPods = (allocatable?.get('pods') ?? PODS_PER_NODE * 1000) / 1000;
  let load = (pods.size + 1) / Math.max(1, mostPods);
  let measures = 1;
  for (const name of ['cpu', 'memory']) {
    const most = allocatable?.get(name);
    if (!most) continue;
    load += ((requested.get(name) ?? 0) + (requests.get(name) ?? 0)) / most;
    measures++;
  }
  return load / measures;
}

/**
 * How much of its published capacity the new volumes would use: between 0 and 1, the mean over their classes, as
 * kube-scheduler's default shape has it. 0 where the driver publishes none.
 */
function fillOf({ facts }: Search, { provisions }: BindingPlan, node: NodeInfo): number {
  const byClass = new Map<string, { requested: number; capacity: number }>();
  for (const { storageClass, sizeBytes } of provisions) {
    const { name } = storageClass.metadata;
    const capacity = facts.publishesCapacity(storageClass.provisioner as DriverName)
      ? facts.roomFor(name, sizeBytes, node)
      : undefined;
    if (capacity === undefined) continue;
    const requested = (byClass.get(name)?.requested ?? 0) + Number(sizeBytes);
    byClass.set(name, { requested, capacity: Number(capacity) });
  }
  const fills = [...byClass.values()].map(({ requested, capacity }) =>
    capacity === 0 ? 1 : Math.min(1, requested / capacity),
  );
  return fills.length === 0 ? 0 : fills.reduce((sum, fill) => sum + fill) / fills.length;
}

// Finds a node for a pod. The node chosen last time comes first. Then candidates are checked round-robin until enough of
// them fit, and the least loaded of these is taken. The cost of a pod that fits is therefore independent of the cluster's
// size; for a pod that fits nowhere every node is checked, to say why.

import { checkNode, type PodDemand } from './node-checks.ts';
import type { Constraint, NodeIndex } from './node-index.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodVolumes } from './pod-volumes.ts';
import { REASONS, ReasonCounts } from './reasons.ts';
import { type BindingPlan, checkVolumes, type VolumeFacts, volumeConstraints } from './volume-checks.ts';

/** Nodes that fit to choose from; more would spread pods little better. */
const ENOUGH = 16;
/** What a kubelet takes by default; the measure for nodes that do not say. */
const PODS_PER_NODE = 110;

/** More than any pod has volumes. */
const AVOIDED = 1e6;

export interface Search {
  demand: PodDemand;
  volumes: PodVolumes;
  index: NodeIndex;
  facts: VolumeFacts;
  /** Some claim that only one pod may use is used by another. */
  exclusiveClash: boolean;
  /** Where it was to go last time. */
  earlier: NodeInfo | undefined;
  /** Taken only if nothing else fits. */
  avoid: ReadonlySet<string>;
  /** Where to begin. */
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
    // Those to be avoided do not count: all candidates are looked at before one of them is taken.
    if (!avoid.has(node.name)) fitting++;
    // A volume that exists comes before one that must be made.
    const load = (avoid.has(node.name) ? AVOIDED : 0) + fit.provisions.length + loadOf(node, demand);
    if (!best || load < best.load) best = { node, plan: fit, load };
  }
  return best ? { node: best.node, plan: best.plan, looked } : explain(search);
}

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

/** Between 0 and 1 for a node with room: how full it would be. */
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

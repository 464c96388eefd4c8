// From the size of a cluster to what each part of Berth needs there, what it asks of the API server, and which limit is met
// first. Pure: the constants are in costs.ts.

import {
  type Caller,
  EVENTS_PER_SECOND,
  LEASE_WRITES_PER_NODE,
  NODE_BYTES,
  NODE_WRITES_PER_LIFE,
  PART_COSTS,
  type PartCost,
  type PartName,
  STATUS_WRITES_PER_NODE,
  USER_WRITES_PER_LIFE,
} from './costs.ts';
import { type Limit, limitsOf } from './limits.ts';
import { coreSeconds, type PlanInput, underWay, volumesPerNode, workersOf } from './load.ts';

/** Traffic is that of all replicas together, memory and processor time that of each. */
export interface PartPlan {
  readonly name: PartName;
  readonly title: string;
  readonly replicas: number;
  readonly memoryMb: number;
  /** What its container should request. */
  readonly requestMib: number;
  readonly cores: number;
  /** Processor time of a start. */
  readonly startSeconds: number;
  readonly traffic: Traffic;
}

/** A second. */
export interface Traffic {
  readonly writes: number;
  readonly reads: number;
  readonly watchEvents: number;
  readonly watchBytes: number;
}

export interface ScalePlan {
  readonly input: PlanInput;
  readonly parts: readonly PartPlan[];
  /** Of users and kubelets: claims and pods made and deleted, Leases of nodes. */
  readonly others: Traffic;
  readonly total: Traffic;
  /** In the order in which growth meets them. */
  readonly limits: readonly Limit[];
  /** Undefined when no number of replicas suffices. */
  readonly wantedReplicas: number | undefined;
}

/** Nothing is planned to be busier than this: behind a busy event loop everything waits. */
export const FULL = 0.7;
const MOST_REPLICAS = 50;
/** Of a request, on top of what is at rest: 200 claims at once took 7 to 21 MiB (docs/deploying.md). */
const LOAD_MIB = 24;
const STEP_MIB = 8;

export function planScale(input: PlanInput): ScalePlan {
  const wantedReplicas = wantedReplicasOf(input);
  const replicas = input.replicas ?? wantedReplicas ?? 1;
  const parts = partNames(input).map((name) => planPart(name, input, replicas));
  const others: Traffic = {
    writes:
      input.churn * USER_WRITES_PER_LIFE + input.nodes * (LEASE_WRITES_PER_NODE + STATUS_WRITES_PER_NODE),
    reads: 0,
    watchEvents: 0,
    watchBytes: 0,
  };
  const total = sumOf([others, ...parts.map(({ traffic }) => traffic)]);
  return {
    input,
    parts,
    others,
    total,
    limits: limitsOf(input, { replicas, parts: partNames(input), writesPerSecond: total.writes }),
    wantedReplicas,
  };
}

export function partNames({ isSeparate }: Pick<PlanInput, 'isSeparate'>): PartName[] {
  const sidecars: PartName[] = isSeparate
    ? ['provisioner', 'attacher', 'resizer', 'snapshotter']
    : ['sidecars'];
  return [...sidecars, 'snapshot-controller', 'controller-manager', 'scheduler', 'node'];
}

function planPart(name: PartName, input: PlanInput, shares: number): PartPlan {
  const cost: PartCost = PART_COSTS[name];
  const { volumes, nodes, churn } = input;
  const isNode = name === 'node';
  const replicas = isNode ? nodes : cost.isSharded ? shares : 1;
  const ownVolumes = isNode ? volumesPerNode(input) : volumes;
  const objectsMb = (cost.memory.kbPerVolume * ownVolumes + cost.memory.kbPerNode * nodes) / 1000;
  return {
    name,
    title: cost.title,
    replicas,
    memoryMb: cost.memory.baseMb + objectsMb,
    requestMib: requestMib(cost.memory.baseMb + objectsMb * cost.heapGrowth),
    cores: isNode ? (churn * cost.life.cpuMs) / Math.max(1, nodes) / 1000 : churn * coreSeconds(cost, shares),
    startSeconds: (cost.startCpuMsPerVolume * ownVolumes) / 1000,
    traffic: trafficOf(name, input, shares),
  };
}

const requestMib = (megabytes: number): number =>
  Math.ceil(((megabytes * 1e6) / 2 ** 20 + LOAD_MIB) / STEP_MIB) * STEP_MIB;

function trafficOf(name: PartName, input: PlanInput, shares: number): Traffic {
  const { life, isSharded }: PartCost = PART_COSTS[name];
  const { churn, nodes } = input;
  // A node agent is told of its own node and pods alone, so that all of them together are told of each life once.
  const watchers = isSharded ? shares : 1;
  const nodeEvents = life.watchesNodes ? churn * NODE_WRITES_PER_LIFE + nodes * STATUS_WRITES_PER_NODE : 0;
  return {
    writes: churn * life.writes + Math.min(churn * life.eventWrites, EVENTS_PER_SECOND * watchers),
    reads: churn * life.reads,
    watchEvents: (churn * life.watchEvents + nodeEvents) * watchers,
    watchBytes: (churn * life.watchBytes + nodeEvents * nodeBytesOf(input)) * watchers,
  };
}

export const nodeBytesOf = (input: PlanInput): number =>
  NODE_BYTES.base + NODE_BYTES.perVolume * volumesPerNode(input);

/** The smallest number with which neither workers nor event loops of the sidecars are full. */
function wantedReplicasOf(input: PlanInput): number | undefined {
  for (let replicas = 1; replicas <= MOST_REPLICAS; replicas++) {
    const isEnough = partNames(input).every((name) => {
      const cost: PartCost = PART_COSTS[name];
      return !cost.isSharded || loadOf(cost, input, replicas) <= FULL;
    });
    if (isEnough) return replicas;
  }
  return undefined;
}

/** How busy each replica is: its event loop or its workers, whichever is busier. */
function loadOf(cost: PartCost, input: PlanInput, replicas: number): number {
  const callers = Object.keys(cost.calls) as Caller[];
  const busy = callers.map(
    (caller) => underWay(cost.calls[caller] ?? 0, input) / (workersOf(caller, input) * replicas),
  );
  return Math.max(input.churn * coreSeconds(cost, replicas), ...busy);
}

function sumOf(all: readonly Traffic[]): Traffic {
  const sum = (of: (traffic: Traffic) => number): number => all.reduce((total, each) => total + of(each), 0);
  return {
    writes: sum(({ writes }) => writes),
    reads: sum(({ reads }) => reads),
    watchEvents: sum(({ watchEvents }) => watchEvents),
    watchBytes: sum(({ watchBytes }) => watchBytes),
  };
}

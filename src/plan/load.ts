// How busy a part is: calls under way, and processor time. Pure.

import {
  type Caller,
  CPU_MS_PER_WATCH_EVENT,
  NODE_WRITES_PER_LIFE,
  type PartCost,
  WORKERS,
} from './costs.ts';

export interface PlanInput {
  /** In use: each has a claim, a PersistentVolume, a VolumeAttachment and a pod. */
  readonly volumes: number;
  readonly nodes: number;
  /** Lives a second: a volume is made, mounted, unmounted and deleted. */
  readonly churn: number;
  /** How long the driver takes for a controller call. */
  readonly callMs: number;
  /** Of what `--sharding` divides; as many as are wanted unless given. */
  readonly replicas?: number;
  /** `--worker-threads` of provisioner and attacher; their defaults unless given. */
  readonly workers?: number;
  /** A process for each sidecar. */
  readonly isSeparate?: boolean;
  /** Of the API server, on all its machines together. */
  readonly apiserverCores: number;
  /** Writes a second that etcd takes. */
  readonly etcdWrites: number;
}

/** Of one core, in each replica, for one life a second: all replicas watch everything, and divide the rest. */
export function coreSeconds({ life, isSharded }: PartCost, shares: number): number {
  const watchMs = Math.min(life.cpuMs, eventsOf(life) * CPU_MS_PER_WATCH_EVENT);
  return (watchMs + (life.cpuMs - watchMs) / (isSharded ? shares : 1)) / 1000;
}

const eventsOf = ({ watchEvents, watchesNodes }: PartCost['life']): number =>
  watchEvents + (watchesNodes ? NODE_WRITES_PER_LIFE : 0);

/** Calls at the same time, by Little's law. */
export const underWay = (callsPerLife: number, { churn, callMs }: PlanInput): number =>
  (callsPerLife * churn * callMs) / 1000;

export const workersOf = (caller: Caller, { workers }: PlanInput): number => workers ?? WORKERS[caller];

export const volumesPerNode = ({ volumes, nodes }: Pick<PlanInput, 'volumes' | 'nodes'>): number =>
  volumes / Math.max(1, nodes);

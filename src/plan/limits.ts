// The limits that a cluster meets when it grows: how much of each is used, and at which churn or how many volumes it is met. Pure.

import {
  APISERVER_CPU_MS,
  ASSUMED,
  type Caller,
  ETCD_BYTES,
  LEASE_WRITES_PER_NODE,
  PART_COSTS,
  type PartCost,
  type PartName,
} from './costs.ts';
import { coreSeconds, type PlanInput, underWay, workersOf } from './load.ts';

export interface Limit {
  readonly what: string;
  /** Part of it that is used; above 1 it is exceeded. */
  readonly used: number;
  /** Where it is met, as in `25 lives a second` or `300,000 volumes`. */
  readonly at: { readonly number: number; readonly of: 'lives a second' | 'volumes' };
  readonly remedy: string;
}

interface Load {
  readonly replicas: number;
  readonly parts: readonly PartName[];
  readonly writesPerSecond: number;
}

export function limitsOf(input: PlanInput, load: Load): Limit[] {
  const limits = [
    ...load.parts.flatMap((name) => [
      ...workerLimits(name, input, load.replicas),
      ...partLimits(name, input, load),
    ]),
    ...serverLimits(input, load),
  ];
  return limits.sort((a, b) => b.used - a.used);
}

/** Calls that a driver gets at once. Only slow calls fill the workers. */
function workerLimits(name: PartName, input: PlanInput, replicas: number): Limit[] {
  const { calls }: PartCost = PART_COSTS[name];
  return (Object.entries(calls) as [Caller, number][]).map(([caller, perLife]) => {
    const workers = workersOf(caller, input) * replicas;
    const flag = name === 'sidecars' ? `--${caller}-worker-threads` : '--worker-threads';
    return ofChurn({
      what: `${caller}: workers`,
      used: underWay(perLife, input) / workers,
      most: workers / ((perLife * input.callMs) / 1000),
      remedy: `more ${flag} if the driver can take them, or more replicas with --sharding`,
    });
  });
}

function partLimits(name: PartName, input: PlanInput, { replicas }: Load): Limit[] {
  if (name === 'node') return [];
  const cost: PartCost = PART_COSTS[name];
  const seconds = coreSeconds(cost, replicas);
  const bytes = cost.memory.kbPerVolume * 1000;
  const limits: Limit[] = [];
  if (seconds > 0) {
    limits.push(
      ofChurn({
        what: `${cost.title}: its one core`,
        used: input.churn * seconds,
        most: 1 / seconds,
        remedy: cost.isSharded
          ? '--sharding with more replicas, as far as watching alone does not fill a core'
          : 'none: one leads, on one core',
      }),
    );
  }
  if (bytes > 0) {
    const left = ASSUMED.heapBytes - cost.memory.kbPerNode * 1000 * input.nodes;
    limits.push({
      what: `${cost.title}: V8's heap`,
      used: (input.volumes * bytes) / Math.max(1, left),
      at: { number: Math.max(0, left) / bytes, of: 'volumes' },
      remedy: 'NODE_OPTIONS=--max-old-space-size=MIB',
    });
  }
  return limits;
}

function serverLimits(input: PlanInput, { writesPerSecond }: Load): Limit[] {
  const { churn, nodes, apiserverCores, etcdWrites, volumes } = input;
  const leases = nodes * LEASE_WRITES_PER_NODE;
  const leaseCores = (leases * APISERVER_CPU_MS.perLease) / 1000;
  const lifeCores = APISERVER_CPU_MS.perLife / 1000;
  const writesPerLife = churn > 0 ? (writesPerSecond - leases) / churn : 1;
  const room = ASSUMED.etcdQuotaBytes - nodes * ETCD_BYTES.perNode;
  return [
    ofChurn({
      what: 'kube-apiserver: processor time',
      used: (leaseCores + churn * lifeCores) / apiserverCores,
      most: (apiserverCores - leaseCores) / lifeCores,
      remedy: 'more or larger API servers',
    }),
    ofChurn({
      what: 'etcd: writes a second',
      used: writesPerSecond / etcdWrites,
      most: (etcdWrites - leases) / writesPerLife,
      remedy: 'faster disks; Events in an etcd of their own',
    }),
    {
      what: 'etcd: size of its database',
      used: (volumes * ETCD_BYTES.perVolume) / room,
      at: { number: room / ETCD_BYTES.perVolume, of: 'volumes' },
      remedy: '--quota-backend-bytes up to 8 GiB; beyond, several clusters',
    },
  ];
}

const ofChurn = ({
  most,
  ...limit
}: {
  what: string;
  used: number;
  most: number;
  remedy: string;
}): Limit => ({ ...limit, at: { number: Math.max(0, most), of: 'lives a second' } });

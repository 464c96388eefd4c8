// What each part costs: measured constants, with their units. `npm run bench -- scale` and `-- life-cost` measure them; docs/scale.md says
// how, and how far predictions from them were from measurements. Requests and watch events are counted and exact; memory is good to
// some megabytes, processor time to a quarter. Not measured: `kbPerNode`, which is from the size of a Node, and `kbPerVolume` of the
// node agent. Pure data.
//
// A *volume in use* is a claim, a PersistentVolume, a VolumeAttachment and a pod. A *life* makes one, mounts it, unmounts it and
// deletes it.

export interface PartCost {
  readonly title: string;
  /** Resident at rest, in 10^6 and 10^3 bytes: of an empty cluster, and more for each volume in use and each node. */
  readonly memory: { readonly baseMb: number; readonly kbPerVolume: number; readonly kbPerNode: number };
  /** Processor time of a start, until everything is read. */
  readonly startCpuMsPerVolume: number;
  readonly life: LifeCost;
  /** Live objects may grow by this factor before they are collected, as bin/berth sets it. */
  readonly heapGrowth: number;
  /** Divided by `--sharding`. */
  readonly isSharded: boolean;
  /** Controller calls of a life, by whose workers make them. */
  readonly calls: Readonly<Partial<Record<Caller, number>>>;
}

export interface LifeCost {
  readonly writes: number;
  /** At most: a source sends a hundred Events at once, and then ten a second. */
  readonly eventWrites: number;
  readonly reads: number;
  /** What watches bring in a life, Nodes apart. */
  readonly watchEvents: number;
  readonly watchBytes: number;
  /** Of a cluster's Nodes, or of its own. */
  readonly watchesNodes: boolean;
  /** Of the first hundred lives of a process, before everything is compiled: an upper bound. */
  readonly cpuMs: number;
}

/** Sidecars whose `--worker-threads` bound the calls under way, and how many those are by default. */
export const WORKERS = { provisioner: 100, attacher: 10 } as const;
export type Caller = keyof typeof WORKERS;

const SIDECAR = { heapGrowth: 1.7, isSharded: true } as const;
const SINGLE = { heapGrowth: 1.5, isSharded: false, calls: {} } as const;

export const PART_COSTS = {
  sidecars: {
    ...SIDECAR,
    title: 'all sidecars in one',
    memory: { baseMb: 78, kbPerVolume: 7.2, kbPerNode: 6 },
    startCpuMsPerVolume: 0.08,
    life: {
      writes: 10,
      eventWrites: 2,
      reads: 2.3,
      watchEvents: 19,
      watchBytes: 33_000,
      watchesNodes: true,
      cpuMs: 8,
    },
    calls: { provisioner: 2, attacher: 2 },
  },
  provisioner: {
    ...SIDECAR,
    title: 'provisioner',
    memory: { baseMb: 74, kbPerVolume: 5.7, kbPerNode: 6 },
    startCpuMsPerVolume: 0.057,
    life: {
      writes: 5,
      eventWrites: 2,
      reads: 2.3,
      watchEvents: 19,
      watchBytes: 33_000,
      watchesNodes: true,
      cpuMs: 6.1,
    },
    calls: { provisioner: 2 },
  },
  attacher: {
    ...SIDECAR,
    title: 'attacher',
    memory: { baseMb: 72, kbPerVolume: 5, kbPerNode: 1 },
    startCpuMsPerVolume: 0.049,
    life: {
      writes: 5,
      eventWrites: 0,
      reads: 0,
      watchEvents: 13,
      watchBytes: 23_500,
      watchesNodes: false,
      cpuMs: 3.8,
    },
    calls: { attacher: 2 },
  },
  resizer: {
    ...SIDECAR,
    title: 'resizer',
    memory: { baseMb: 72, kbPerVolume: 3.4, kbPerNode: 0 },
    startCpuMsPerVolume: 0.038,
    life: {
      writes: 0,
      eventWrites: 0,
      reads: 0,
      watchEvents: 14,
      watchBytes: 26_500,
      watchesNodes: false,
      cpuMs: 2,
    },
    calls: {},
  },
  snapshotter: {
    ...SIDECAR,
    title: 'snapshotter',
    memory: { baseMb: 72, kbPerVolume: 0, kbPerNode: 0 },
    startCpuMsPerVolume: 0,
    life: {
      writes: 0,
      eventWrites: 0,
      reads: 0,
      watchEvents: 0,
      watchBytes: 0,
      watchesNodes: false,
      cpuMs: 0,
    },
    calls: {},
  },
  // Can be divided, by namespace; it calls no driver, and one is enough for any churn here.
  'snapshot-controller': {
    ...SIDECAR,
    isSharded: false,
    title: 'snapshot controller',
    memory: { baseMb: 70, kbPerVolume: 1.4, kbPerNode: 0 },
    startCpuMsPerVolume: 0.016,
    life: {
      writes: 0,
      eventWrites: 0,
      reads: 0,
      watchEvents: 6,
      watchBytes: 9_500,
      watchesNodes: false,
      cpuMs: 0.9,
    },
    calls: {},
  },
  'controller-manager': {
    ...SINGLE,
    title: 'controller manager',
    memory: { baseMb: 80, kbPerVolume: 16.1, kbPerNode: 6 },
    startCpuMsPerVolume: 0.25,
    life: {
      writes: 11,
      eventWrites: 2,
      reads: 4,
      watchEvents: 24,
      watchBytes: 50_000,
      watchesNodes: true,
      cpuMs: 8.4,
    },
  },
  scheduler: {
    ...SINGLE,
    title: 'scheduler',
    memory: { baseMb: 77, kbPerVolume: 8.5, kbPerNode: 6 },
    startCpuMsPerVolume: 0.12,
    life: {
      writes: 1,
      eventWrites: 1,
      reads: 0,
      watchEvents: 24,
      watchBytes: 50_000,
      watchesNodes: true,
      cpuMs: 4.4,
    },
  },
  node: {
    ...SINGLE,
    title: 'node agent, each',
    memory: { baseMb: 83, kbPerVolume: 10, kbPerNode: 0 },
    startCpuMsPerVolume: 0,
    life: {
      writes: 3,
      eventWrites: 0,
      reads: 7.3,
      watchEvents: 7,
      watchBytes: 17_600,
      watchesNodes: true,
      cpuMs: 10.5,
    },
  },
} as const satisfies Readonly<Record<string, PartCost>>;
export type PartName = keyof typeof PART_COSTS;

/** Of watching alone, an event: of the resizer, which only watches in a life. */
export const CPU_MS_PER_WATCH_EVENT = 0.14;

/** Creation and deletion of claim and pod. */
export const USER_WRITES_PER_LIFE = 4;
/** The provisioner's intent, written and removed: in its ledger, where writes at the same time are coalesced, or with `--sharding` on the claim. */
export const INTENT_WRITES_PER_LIFE = 2;
/** `volumesInUse` by the kubelet, `volumesAttached` by attach-detach, there and back. Writes at the same time are coalesced. */
export const NODE_WRITES_PER_LIFE = 4;
/** A kubelet renews its Lease every ten seconds. */
export const LEASE_WRITES_PER_NODE = 0.1;
/** It reports its Node every five minutes, changed or not. */
export const STATUS_WRITES_PER_NODE = 1 / 300;
/** A source of Events sends no more. */
export const EVENTS_PER_SECOND = 10;

/** A Node without volumes, and more for each: its name in `volumesInUse` and in `volumesAttached`. A kubelet's list of images is not in it. */
export const NODE_BYTES = { base: 4_600, perVolume: 216 } as const;

/**
 * Processor time of kube-apiserver 1.36. For a life: over sixty of them, its idle work of some minutes included, so an upper
 * bound; a claim that is bound takes it 7 ms once warm. For the renewal of a Lease: an estimate.
 */
export const APISERVER_CPU_MS = { perLife: 155, perLease: 0.5 } as const;
/** What etcd keeps of a volume in use, once compacted: as much as the JSON of its four objects. Not measured. */
export const ETCD_BYTES = { perVolume: 8_000, perNode: 6_000 } as const;

/** Not measured: what others say of their programs, or what a machine has. */
export const ASSUMED = {
  /** etcd's own advice is not to go beyond. */
  etcdQuotaBytes: 8 * 2 ** 30,
  /** V8's for old objects, on a machine with 16 GB or more; NODE_OPTIONS=--max-old-space-size raises it. */
  heapBytes: 4 * 2 ** 30,
} as const;

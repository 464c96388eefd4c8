// The plan of one simulated cluster: drivers and classes (plan-drivers.ts), nodes, what users do and when (plan-steps.ts,
// plan-growth.ts, plan-snapshots.ts), and which faults happen when (plan-events.ts). The seed decides it before anything
// runs, so that a failing run can be repeated with a part of it.

import type { SeededRandom } from '../runtime/random.ts';
import type { Subject } from './driver-backend.ts';
import type { EventFault, Strike } from './faults.ts';
import {
  planClasses,
  planDrivers,
  planSnapshotClasses,
  withExpansion,
  withSnapshots,
} from './plan-drivers.ts';
import { planEvents, planFullNode, planReplicaEvents, planSilence } from './plan-events.ts';
import { planGrowth } from './plan-growth.ts';
import { planSnapshots } from './plan-snapshots.ts';
import { planSteps } from './plan-steps.ts';
import { possibleEvents, possibleSteps } from './possible-steps.ts';

export interface DriverPlan {
  readonly name: string;
  /** Prefix of its volume IDs. */
  readonly short: string;
  readonly attaches: boolean;
  readonly stages: boolean;
  readonly topology: boolean;
  /** ListVolumes with published nodes. */
  readonly lists: boolean;
  /** Supports ephemeral inline volumes. */
  readonly ephemeral: boolean;
  /** Expands volumes: the controller alone, or the node after it. */
  readonly expands?: 'controller' | 'node';
  /** Takes snapshots of single volumes; with `groups` also of several at once. */
  readonly snapshots?: 'single' | 'groups';
  /** How long after it was cut a snapshot is ready to use; at once unless given. */
  readonly readyMs?: number;
  /** How long it copies a snapshot into a new volume; a moment unless given. */
  readonly copyMs?: number;
  /** Replicas of each of its sidecars; with more than one they elect a leader. */
  readonly replicas: number;
  /** What it cannot be asked for; everything unless given. */
  readonly lacks?: readonly Lack[];
}

/** `storage faults`: the storage is not ours, so it is never full and never lies. */
export type Lack = 'existing volumes' | 'block volumes' | 'shared volumes' | 'storage faults';

export interface NodePlan {
  readonly name: string;
  readonly zone: string;
}

/** Has a Node object, and neither agent nor CSINode. Only in worlds where a claim names it. */
export const BARE_NODE = 'bare';

export interface ClassPlan {
  readonly name: string;
  readonly driver: string;
  readonly reclaim: 'Delete' | 'Retain';
  readonly binding: 'Immediate' | 'WaitForFirstConsumer';
  /** Each kind of call has a Secret of its own. */
  readonly secrets: boolean;
}

/** A VolumeSnapshotClass, and for a driver with groups a VolumeGroupSnapshotClass of the same name. */
export interface SnapshotClassPlan {
  readonly name: string;
  readonly driver: string;
  readonly deletion: 'Delete' | 'Retain';
  readonly secrets: boolean;
}

export const REGISTRATIONS = ['CSINode', 'its entries', 'annotation and labels'] as const;
export type Registration = (typeof REGISTRATIONS)[number];

export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadWriteOncePod';

export type UserAction =
  /** `selected`: the node that somebody has selected for it already. */
  | {
      do: 'create-claim';
      name: string;
      className: string;
      mode: AccessMode;
      selected?: string;
      isBlock?: boolean;
      /** Restores this snapshot, or the first member of this group snapshot. */
      from?: { snapshot: string } | { group: string };
    }
  /** `node`: the scheduler has to place the pod there. `pinned`: the pod names its node, and no scheduler looks. */
  | {
      do: 'create-pod';
      name: string;
      claims: readonly string[];
      node?: string;
      pinned?: string;
      /** It only reads what its claims stand for. */
      readOnly?: boolean;
      inline?: string;
      ephemeral?: string;
      /** The driver whose existing volume the pod uses inline, without a claim. */
      existing?: string;
    }
  | { do: 'delete-pod'; name: string; graceSeconds: number }
  | { do: 'delete-claim'; name: string }
  /** Also to less than was asked for before. */
  | { do: 'resize-claim'; name: string; gib: number }
  | { do: 'create-set'; name: string; className: string; replicas: number }
  | { do: 'scale-set'; name: string; replicas: number }
  | { do: 'create-snapshot'; name: string; claim: string; className: string }
  | { do: 'delete-snapshot'; name: string }
  /** Of all claims of one set: those whose names start with it. */
  | { do: 'create-group'; name: string; set: string; className: string }
  | { do: 'delete-group'; name: string }
  /** Deletes one member of a group snapshot, which stays until the group is deleted. */
  | { do: 'delete-member'; group: string }
  /** At the worst moment. */
  | { do: 'delete-volume-of'; name: string }
  | { do: 'delete-content-of'; snapshot: string }
  | { do: 'delete-secret'; className: string }
  | { do: 'delete-class'; className: string }
  | { do: 'delete-snapshot-class'; className: string }
  | { do: 'delete-node'; node: string }
  /** Somebody deletes what a node wrote when its drivers registered. */
  | { do: 'deregister'; node: string; what: Registration }
  /** What an administrator does about a silent node: deletes its pods by force, or taints it as out of service. */
  | { do: 'evacuate'; node: string }
  | { do: 'out-of-service'; node: string };

export type Step = { readonly atMs: number; readonly action: UserAction };

/** What NodeGetInfo answers differently after a restart of the driver. */
export type RestartAnswer = 'limit' | 'node ID' | 'topology' | undefined;

export interface EventPlan {
  readonly id: string;
  readonly atMs: number;
  readonly fault: EventFault;
  /** A process, a driver or a node, as the fault needs. */
  readonly target: string;
  readonly forMs: number;
  /** Of a driver's restart. */
  readonly answer?: RestartAnswer;
}

export interface Plan {
  readonly seed: number;
  readonly drivers: readonly DriverPlan[];
  readonly nodes: readonly NodePlan[];
  readonly classes: readonly ClassPlan[];
  readonly snapshotClasses: readonly SnapshotClassPlan[];
  readonly steps: readonly Step[];
  readonly events: readonly EventPlan[];
  /** Scripted faults, the same with every seed. */
  readonly script?: readonly Strike[];
  /** How long the phase with faults takes. */
  readonly faultsMs: number;
  /** Multiplies the rates of faults. */
  readonly intensity: number;
  /** Faults strike processes whose names start so more often, and the others less. */
  readonly focus?: string;
  /** Replicas work at once, each on its share. */
  readonly isSharded?: boolean;
}

const ALWAYS = ['provisioner', 'controller-publish', 'node-stage', 'node-publish'] as const;
const EXPANSION = ['controller-expand', 'node-expand'] as const;
/** Of the classes of snapshots. */
export const SNAPSHOT_SECRETS = [
  'snapshotter',
  'snapshotter-list',
  'group-snapshotter',
  'group-snapshotter-get',
] as const;
export type SecretKind = (typeof ALWAYS | typeof EXPANSION | typeof SNAPSHOT_SECRETS)[number];

export function secretKinds({ expands }: Pick<DriverPlan, 'expands'>): readonly SecretKind[] {
  return expands ? [...ALWAYS, ...EXPANSION] : ALWAYS;
}

export interface PlanOptions {
  /** From two up to so many replicas of each sidecar and of the snapshot controller, each on its share, that also hang and come back. */
  replicas?: number | undefined;
  /** Only drivers of this shape; any otherwise. */
  driver?: DriverShape;
  /** This driver, and no other. */
  subject?: Subject;
}
export const DRIVER_SHAPES = ['full', 'no-attach', 'no-stage', 'bare', 'topology'] as const;
export type DriverShape = (typeof DRIVER_SHAPES)[number];

/** Long enough for what a group of user actions needs; a longer phase costs time and finds no more. */
const FAULTS_MS = 180_000;
/** Long enough for a forced detach from a silent node, which takes six minutes after its last pod is gone. */
const SILENT_FAULTS_MS = 600_000;

/** Without faults little goes wrong, and with many the same things go wrong sooner. */
const INTENSITIES = [0, 0.5, 1, 1, 2, 2, 2, 3, 3, 3];

const FOCUSED_SHARE = 0.5;

export function makePlan(seed: number, random: SeededRandom, options: PlanOptions = {}): Plan {
  const shape = random.fork('shape');
  // Streams of their own: expansion and snapshots change nothing else in a cluster.
  const growth = random.fork('growth');
  const snapshots = random.fork('snapshots');
  const replicas = drawReplicas(options.replicas, random);
  const drawn = planDrivers(shape, options)
    .map((driver) => (replicas === undefined ? driver : { ...driver, replicas }))
    .map((driver) => withExpansion(driver, growth))
    .map((driver) => withSnapshots(driver, snapshots));
  const { subject } = options;
  const drivers = subject ? drawn.slice(0, 1).map((driver) => subject.plan(driver)) : drawn;
  const hasZones = drivers.some(({ topology }) => topology);
  const nodeCount = Math.max(oneOf(shape, [1, 1, 2, 2, 2, 3]), hasZones ? 2 : 1);
  const nodes = Array.from({ length: nodeCount }, (_, index) => ({
    name: `n${index + 1}`,
    zone: index % 2 === 0 ? 'a' : 'b',
  }));
  const classes = drivers.flatMap((driver) => planClasses(driver, shape));
  const snapshotClasses = drivers.flatMap((driver) => planSnapshotClasses(driver, snapshots));
  const silent = planSilence({ drivers, nodes }, random.fork('silence'));
  const faultsMs = silent ? SILENT_FAULTS_MS : FAULTS_MS;
  const world = { drivers, nodes, classes, snapshotClasses, faultsMs };
  const events = [
    silent ?? [],
    planFullNode({ drivers, nodes }, random.fork('full')) ?? [],
    planEvents(world, random.fork('events')),
    replicas === undefined ? [] : planReplicaEvents({ ...world, isSharded: true }, random.fork('replicas')),
  ].flat();
  const basic = planSteps({ ...world, silent }, random.fork('users'));
  const steps = [...basic, ...planGrowth(world, basic, growth), ...planSnapshots(world, basic, snapshots)];
  return {
    seed,
    drivers,
    nodes,
    classes,
    snapshotClasses,
    // Sorting is stable: steps at the same time stay in this order.
    steps: possibleSteps(steps, drivers).sort((a, b) => a.atMs - b.atMs),
    events: possibleEvents(events, drivers).sort((a, b) => a.atMs - b.atMs),
    faultsMs,
    ...(replicas !== undefined && { isSharded: true }),
    intensity: oneOf(shape, INTENSITIES),
    ...planFocus({ drivers, nodes }, random.fork('focus')),
  };
}

/** Two find most of what three find, in less time. */
function drawReplicas(most: number | undefined, random: SeededRandom): number | undefined {
  return most === undefined || most <= 2 ? most : 2 + random.fork('replica count').int(most - 1);
}

/** In half of the clusters one kind of process has most of the faults: many at one place find more than few everywhere. */
function planFocus(world: Pick<Plan, 'drivers' | 'nodes'>, random: SeededRandom): { focus?: string } {
  if (random.next() >= FOCUSED_SHARE) return {};
  const kinds = [...new Set(processNames(world).map((name) => name.replace(/-(d\d-\d|n\d)$/, '')))];
  return { focus: kinds[random.int(kinds.length)] as string };
}

export function oneOf(random: SeededRandom, choices: readonly number[]): number {
  return choices[random.int(choices.length)] ?? 1;
}

/** Every process of such a cluster. */
export function processNames({
  drivers,
  nodes,
  isSharded,
}: Pick<Plan, 'drivers' | 'nodes' | 'isSharded'>): string[] {
  const snapshotControllers = isSharded
    ? Array.from({ length: drivers[0]?.replicas ?? 1 }, (_, index) => `snapshot-controller-${index}`)
    : ['snapshot-controller'];
  return [
    'control-plane',
    ...(drivers.some(({ snapshots }) => snapshots) ? snapshotControllers : []),
    ...drivers.flatMap(({ short, replicas, expands, snapshots }) =>
      Array.from({ length: replicas }, (_, index) => [
        `provisioner-${short}-${index}`,
        `attacher-${short}-${index}`,
        ...(expands ? [`resizer-${short}-${index}`] : []),
        ...(snapshots ? [`snapshotter-${short}-${index}`] : []),
      ]).flat(),
    ),
    ...nodes.map(({ name }) => `node-${name}`),
  ];
}

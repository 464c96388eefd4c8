// One simulated cluster from one seed: drivers with their capabilities, nodes, classes, what users do when (plan-steps.ts),
// and which faults happen when. Made before anything runs, so that a failing run can be repeated with less of it.

import type { SeededRandom } from '../runtime/random.ts';
import type { EventFault, Strike } from './faults.ts';
import { planGrowth } from './plan-growth.ts';
import { planSteps } from './plan-steps.ts';

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
  /** Replicas of each of its sidecars; with more than one they elect a leader. */
  readonly replicas: number;
}

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

export const REGISTRATIONS = ['CSINode', 'its entries', 'annotation and labels'] as const;
export type Registration = (typeof REGISTRATIONS)[number];

export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadWriteOncePod';

export type Deed =
  /** `selected`: the node that somebody has selected for it already. */
  | {
      do: 'create-claim';
      name: string;
      className: string;
      mode: AccessMode;
      selected?: string;
      isBlock?: boolean;
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
  /** At the worst moment. */
  | { do: 'delete-volume-of'; name: string }
  | { do: 'delete-secret'; className: string }
  | { do: 'delete-class'; className: string }
  | { do: 'delete-node'; node: string }
  /** Somebody deletes what a node wrote when its drivers registered. */
  | { do: 'deregister'; node: string; what: Registration }
  /** What an administrator does about a silent node: deletes its pods by force, or taints it as out of service. */
  | { do: 'evacuate'; node: string }
  | { do: 'out-of-service'; node: string };

export type Step = { readonly atMs: number; readonly deed: Deed };

/** What NodeGetInfo answers differently after a restart of the driver. */
export type RestartAnswer = 'limit' | 'node ID' | 'topology' | undefined;
const RESTART_ANSWERS: readonly RestartAnswer[] = ['limit', 'node ID', 'topology', undefined];

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
  readonly steps: readonly Step[];
  readonly events: readonly EventPlan[];
  /** Scripted faults, the same with every seed. */
  readonly script?: readonly Strike[];
  /** How long the phase with faults takes. */
  readonly faultsMs: number;
  /** Multiplies the rates of faults. */
  readonly intensity: number;
}

const ALWAYS = ['provisioner', 'controller-publish', 'node-stage', 'node-publish'] as const;
const EXPANSION = ['controller-expand', 'node-expand'] as const;
export type SecretKind = (typeof ALWAYS | typeof EXPANSION)[number];

export function secretKinds({ expands }: Pick<DriverPlan, 'expands'>): readonly SecretKind[] {
  return expands ? [...ALWAYS, ...EXPANSION] : ALWAYS;
}

export interface PlanOptions {
  /** Only drivers of this shape; any otherwise. */
  driver?: DriverShape;
}
export const DRIVER_SHAPES = ['full', 'no-attach', 'no-stage', 'bare', 'topology'] as const;
export type DriverShape = (typeof DRIVER_SHAPES)[number];

/** With the phases after it, an ordinary seed is five minutes long. */
const FAULTS_MS = 290_000;
/** Long enough for a forced detach from a silent node, which takes six minutes after its last pod is gone. */
const SILENT_FAULTS_MS = 600_000;
const SILENT_SHARE = 0.05;
const FULL_SHARE = 0.12;
const EXPANDING_SHARE = 0.25;

export function makePlan(seed: number, random: SeededRandom, options: PlanOptions = {}): Plan {
  const shape = random.fork('shape');
  // A stream of its own, so that expansion changes nothing else in a world.
  const growth = random.fork('growth');
  const drivers = planDrivers(shape, options).map((driver) => withExpansion(driver, growth));
  const nodes = Array.from({ length: oneOf(shape, [1, 1, 2, 2, 2, 3]) }, (_, index) => ({
    name: `n${index + 1}`,
    zone: index % 2 === 0 ? 'a' : 'b',
  }));
  const classes = drivers.flatMap((driver) => planClasses(driver, shape));
  const silent = planSilence({ drivers, nodes }, random.fork('silence'));
  const faultsMs = silent ? SILENT_FAULTS_MS : FAULTS_MS;
  const world = { drivers, nodes, classes, faultsMs };
  const events = [
    silent ?? [],
    planFullNode({ drivers, nodes }, random.fork('full')) ?? [],
    planEvents(world, random.fork('events')),
  ].flat();
  return {
    seed,
    drivers,
    nodes,
    classes,
    steps: planGrowth(world, planSteps({ ...world, silent }, random.fork('users')), growth),
    events: events.sort((a, b) => a.atMs - b.atMs),
    faultsMs,
    intensity: oneOf(shape, [0, 0.5, 1, 1, 2, 3]),
  };
}

export function oneOf(random: SeededRandom, choices: readonly number[]): number {
  return choices[random.int(choices.length)] ?? 1;
}

function planDrivers(random: SeededRandom, { driver }: PlanOptions): DriverPlan[] {
  const count = random.next() < 0.88 ? 1 : 2;
  return Array.from({ length: count }, (_, index) => {
    const drawn = DRIVER_SHAPES[random.int(DRIVER_SHAPES.length)] ?? 'full';
    const shape = driver ?? drawn;
    const lists = random.next() < 0.4;
    const replicas = random.next() < 0.15 ? 2 : 1;
    const ephemeral = random.next() < 0.4;
    return {
      name: `d${index + 1}.sim.berth`,
      short: `d${index + 1}`,
      attaches: shape === 'full' || shape === 'no-stage' || shape === 'topology',
      stages: shape === 'full' || shape === 'no-attach' || shape === 'topology',
      topology: shape === 'topology',
      lists,
      ephemeral,
      replicas,
    };
  });
}

function withExpansion(driver: DriverPlan, random: SeededRandom): DriverPlan {
  const place = random.next();
  if (place >= EXPANDING_SHARE) return driver;
  return { ...driver, expands: place < EXPANDING_SHARE / 3 ? 'controller' : 'node' };
}

function planClasses(driver: DriverPlan, random: SeededRandom): ClassPlan[] {
  return [
    {
      name: `${driver.short}-now`,
      driver: driver.name,
      reclaim: random.next() < 0.85 ? 'Delete' : 'Retain',
      binding: 'Immediate',
      secrets: random.next() < 0.5,
    },
    {
      name: `${driver.short}-later`,
      driver: driver.name,
      reclaim: 'Delete',
      binding: 'WaitForFirstConsumer',
      secrets: random.next() < 0.3,
    },
  ];
}

/** Not with topology: volumes of a lost zone could not move anywhere. */
function planSilence(
  { drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>,
  random: SeededRandom,
): EventPlan | undefined {
  const isChosen = random.next() < SILENT_SHARE;
  const atMs = 20_000 + random.int(100_000);
  const node = nodes[random.int(nodes.length)];
  if (!isChosen || !node || nodes.length < 2 || drivers.some(({ topology }) => topology)) return undefined;
  return { id: 'node-silent', atMs, fault: 'node-silent', target: node.name, forMs: 0 };
}

/** No further volume can be attached to the node: for a while, or for good. */
function planFullNode(
  { drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>,
  random: SeededRandom,
): EventPlan | undefined {
  const isChosen = random.next() < FULL_SHARE;
  const atMs = random.int(60_000);
  const forMs = random.next() < 0.3 ? 10_000 + random.int(200_000) : 0;
  const node = nodes[random.int(nodes.length)];
  if (!isChosen || !node || !drivers.some(({ attaches }) => attaches)) return undefined;
  return { id: 'node-full', atMs, fault: 'node-full', target: node.name, forMs };
}

function planEvents(
  { drivers, nodes, faultsMs }: Pick<Plan, 'drivers' | 'nodes' | 'faultsMs'>,
  random: SeededRandom,
): EventPlan[] {
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  const processes = processNames({ drivers, nodes });
  const targets: Record<EventFault, () => string> = {
    'process-crash': () => pick(processes),
    'process-stop': () => pick(processes),
    'driver-down': () => pick(drivers).name,
    'driver-restart': () => pick(drivers).name,
    'storage-full': () => pick(drivers).name,
    'storage-lies': () => pick(drivers).name,
    'node-reboot': () => pick(nodes).name,
    'node-lost': () => pick(nodes).name,
    'node-silent': () => pick(nodes).name,
    'node-full': () => pick(nodes).name,
    'lease-stall': () => pick(processes),
    'clock-jump': () => 'wall clock',
    'user-deletes': () => 'user',
  };
  const kinds: readonly EventFault[] = [
    'process-crash',
    'process-crash',
    'process-crash',
    'process-stop',
    'driver-down',
    'driver-restart',
    'storage-full',
    'storage-lies',
    'node-reboot',
    'node-lost',
    'lease-stall',
    'clock-jump',
  ];
  const count = random.int(Math.round(faultsMs / 22_000));
  return Array.from({ length: count }, (_, index) => {
    const fault = pick(kinds);
    return {
      id: `${fault} #${index + 1}`,
      atMs: random.int(faultsMs),
      fault,
      target: targets[fault](),
      forMs: 500 + random.int(40_000),
      ...(fault === 'driver-restart' && { answer: pick(RESTART_ANSWERS) }),
    };
  }).sort((a, b) => a.atMs - b.atMs);
}

/** Every process of such a world. */
export function processNames({ drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>): string[] {
  return [
    'control-plane',
    ...drivers.flatMap(({ short, replicas, expands }) =>
      Array.from({ length: replicas }, (_, index) => [
        `provisioner-${short}-${index}`,
        `attacher-${short}-${index}`,
        ...(expands ? [`resizer-${short}-${index}`] : []),
      ]).flat(),
    ),
    ...nodes.map(({ name }) => `node-${name}`),
  ];
}

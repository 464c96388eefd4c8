// One world from one number: which drivers with which capabilities, how many nodes, which classes, what users do when,
// and what breaks when. Made before anything runs, so that a failing run can be repeated with less of it.

import type { SeededRandom } from '../runtime/random.ts';
import type { EventFault, Strike } from './faults.ts';

export interface DriverPlan {
  readonly name: string;
  /** Start of its volume IDs. */
  readonly short: string;
  readonly attaches: boolean;
  readonly stages: boolean;
  readonly topology: boolean;
  /** ListVolumes with published nodes. */
  readonly lists: boolean;
  /** Takes inline volumes that live as long as their pod. */
  readonly ephemeral: boolean;
  /** Replicas of each of its sidecars; with more than one they elect a leader. */
  readonly replicas: number;
}

export interface NodePlan {
  readonly name: string;
  readonly zone: string;
}

export interface ClassPlan {
  readonly name: string;
  readonly driver: string;
  readonly reclaim: 'Delete' | 'Retain';
  readonly binding: 'Immediate' | 'WaitForFirstConsumer';
  /** Each kind of call has a Secret of its own. */
  readonly secrets: boolean;
}

export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadWriteOncePod';

export type Deed =
  | { do: 'create-claim'; name: string; className: string; mode: AccessMode }
  /** `node`: where the user insists on. */
  | {
      do: 'create-pod';
      name: string;
      claims: readonly string[];
      node?: string;
      inline?: string;
      ephemeral?: string;
    }
  | { do: 'delete-pod'; name: string; graceSeconds: number }
  | { do: 'delete-claim'; name: string }
  | { do: 'create-set'; name: string; className: string; replicas: number }
  | { do: 'scale-set'; name: string; replicas: number }
  /** At the worst moment. */
  | { do: 'delete-volume-of'; name: string }
  | { do: 'delete-secret'; className: string }
  | { do: 'delete-class'; className: string }
  | { do: 'delete-node'; node: string };

export type Step = { readonly atMs: number; readonly deed: Deed };

export interface EventPlan {
  readonly id: string;
  readonly atMs: number;
  readonly fault: EventFault;
  /** A process, a driver or a node, as the fault needs. */
  readonly target: string;
  readonly forMs: number;
}

export interface Plan {
  readonly seed: number;
  readonly drivers: readonly DriverPlan[];
  readonly nodes: readonly NodePlan[];
  readonly classes: readonly ClassPlan[];
  readonly steps: readonly Step[];
  readonly events: readonly EventPlan[];
  /** Strikes that do not depend on chance. */
  readonly script?: readonly Strike[];
  /** How long faults strike. */
  readonly faultsMs: number;
  /** Multiplies the rates of faults. */
  readonly intensity: number;
}

export const SECRET_KINDS = ['provisioner', 'controller-publish', 'node-stage', 'node-publish'] as const;

export interface PlanOptions {
  /** Only drivers of this shape; any otherwise. */
  driver?: DriverShape;
}
export const DRIVER_SHAPES = ['full', 'no-attach', 'no-stage', 'bare', 'topology'] as const;
export type DriverShape = (typeof DRIVER_SHAPES)[number];

const FAULTS_MS = 120_000;

export function makePlan(seed: number, random: SeededRandom, options: PlanOptions = {}): Plan {
  const shape = random.fork('shape');
  const drivers = planDrivers(shape, options);
  const nodes = Array.from({ length: oneOf(shape, [1, 1, 2, 2, 2, 3]) }, (_, index) => ({
    name: `n${index + 1}`,
    zone: index % 2 === 0 ? 'a' : 'b',
  }));
  const classes = drivers.flatMap((driver) => planClasses(driver, shape));
  return {
    seed,
    drivers,
    nodes,
    classes,
    steps: planSteps({ drivers, nodes, classes }, random.fork('users')),
    events: planEvents({ drivers, nodes, classes }, random.fork('events')),
    faultsMs: FAULTS_MS,
    intensity: oneOf(shape, [0, 0.5, 1, 1, 2, 3]),
  };
}

/** Small worlds find most: what goes wrong with many goes wrong with two, and sooner. */
function oneOf(random: SeededRandom, choices: readonly number[]): number {
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

type Shape = Pick<Plan, 'drivers' | 'nodes' | 'classes'>;

function planSteps({ drivers, nodes, classes }: Shape, random: SeededRandom): Step[] {
  const steps: Step[] = [];
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  const add = (atMs: number, deed: Deed): void =>
    void steps.push({ atMs: Math.min(Math.round(atMs), FAULTS_MS - 1), deed });
  const groups = oneOf(random, [1, 1, 2, 2, 3]);
  for (let group = 0; group < groups; group++) {
    const startMs = random.int(FAULTS_MS / 2);
    const className = pick(classes).name;
    const kind = random.next();
    const base = `${'abc'[group]}`;
    if (kind < 0.12) {
      add(startMs, { do: 'create-set', name: `${base}-set`, className, replicas: 1 + random.int(2) });
      if (random.next() < 0.6) {
        add(startMs + random.int(60_000), { do: 'scale-set', name: `${base}-set`, replicas: random.int(3) });
      }
      continue;
    }
    if (kind < 0.24) {
      const inline = drivers.find(({ ephemeral }) => ephemeral);
      const extra = inline && random.next() < 0.5 ? { inline: inline.name } : { ephemeral: className };
      add(startMs, { do: 'create-pod', name: `${base}-pod`, claims: [], ...extra });
      if (random.next() < 0.6) {
        add(startMs + random.int(60_000), {
          do: 'delete-pod',
          name: `${base}-pod`,
          graceSeconds: random.int(4),
        });
      }
      continue;
    }
    const mode: AccessMode =
      random.next() < 0.75 ? 'ReadWriteOnce' : pick(['ReadWriteMany', 'ReadWriteOncePod'] as const);
    const claim = `${base}-claim`;
    add(startMs, { do: 'create-claim', name: claim, className, mode });
    let atMs = startMs;
    const rounds = 1 + random.int(3);
    for (let round = 0; round < rounds; round++) {
      const pod = `${base}-pod${round}`;
      atMs += random.int(8_000);
      const insists = random.next() < 0.3;
      // Where topology decides, a user who insists may ask for the impossible.
      const node = insists && !drivers.some(({ topology }) => topology) ? { node: pick(nodes).name } : {};
      add(atMs, { do: 'create-pod', name: pod, claims: [claim], ...node });
      if (random.next() < 0.75 || round < rounds - 1) {
        // Sometimes before anything is mounted, sometimes long after.
        atMs += random.next() < 0.5 ? random.int(3_000) : random.int(40_000);
        add(atMs, { do: 'delete-pod', name: pod, graceSeconds: pick([0, 1, 1, 5, 30]) });
      }
    }
    if (random.next() < 0.5) {
      atMs += random.int(10_000) - 5_000;
      add(Math.max(startMs, atMs), { do: 'delete-claim', name: claim });
      if (random.next() < 0.4)
        add(atMs + random.int(6_000), { do: 'create-claim', name: claim, className, mode });
    }
  }
  const worst = random.next();
  const whenMs = random.int(FAULTS_MS);
  if (worst < 0.08) add(whenMs, { do: 'delete-volume-of', name: 'a-claim' });
  else if (worst < 0.14) add(whenMs, { do: 'delete-secret', className: pick(classes).name });
  else if (worst < 0.18) add(whenMs, { do: 'delete-class', className: pick(classes).name });
  else if (worst < 0.23) add(whenMs, { do: 'delete-node', node: pick(nodes).name });
  return steps
    .map((step, index) => [step, index] as const)
    .sort(([a, i], [b, j]) => a.atMs - b.atMs || i - j)
    .map(([step]) => step);
}

function planEvents({ drivers, nodes }: Shape, random: SeededRandom): EventPlan[] {
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
  const count = random.int(6);
  return Array.from({ length: count }, (_, index) => {
    const fault = pick(kinds);
    return {
      id: `${fault} #${index + 1}`,
      atMs: random.int(FAULTS_MS),
      fault,
      target: targets[fault](),
      forMs: 500 + random.int(40_000),
    };
  }).sort((a, b) => a.atMs - b.atMs);
}

/** Every process of such a world. */
export function processNames({ drivers, nodes }: Pick<Plan, 'drivers' | 'nodes'>): string[] {
  return [
    'control-plane',
    ...drivers.flatMap(({ short, replicas }) =>
      Array.from({ length: replicas }, (_, index) => [
        `provisioner-${short}-${index}`,
        `attacher-${short}-${index}`,
      ]).flat(),
    ),
    ...nodes.map(({ name }) => `node-${name}`),
  ];
}

// The drivers of one simulated cluster, what they can do, and their classes.

import type { SeededRandom } from '../runtime/random.ts';
import type { ClassPlan, DriverPlan, DriverShape, PlanOptions, SnapshotClassPlan } from './plan.ts';

const EXPANDING_SHARE = 0.25;
const SNAPSHOT_SHARE = 0.33;
/** Drivers that neither attach nor stage, or only attach, do less, so less can go wrong. */
const DRAWN_SHAPES: readonly DriverShape[] = [
  ...(['full', 'full', 'no-attach', 'no-attach', 'topology', 'topology', 'topology'] as const),
  ...(['no-stage', 'bare'] as const),
];

export function planDrivers(random: SeededRandom, { driver }: PlanOptions): DriverPlan[] {
  const count = random.next() < 0.88 ? 1 : 2;
  return Array.from({ length: count }, (_, index) => {
    const drawn = DRAWN_SHAPES[random.int(DRAWN_SHAPES.length)] ?? 'full';
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

export function withExpansion(driver: DriverPlan, random: SeededRandom): DriverPlan {
  const place = random.next();
  if (place >= EXPANDING_SHARE) return driver;
  return { ...driver, expands: place < EXPANDING_SHARE / 3 ? 'controller' : 'node' };
}

export function planClasses(driver: DriverPlan, random: SeededRandom): ClassPlan[] {
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

export function withSnapshots(driver: DriverPlan, random: SeededRandom): DriverPlan {
  const share = random.next();
  const readyMs = random.next() < 0.4 ? random.int(20_000) : 0;
  if (share >= SNAPSHOT_SHARE) return driver;
  const copyMs = random.int(8_000);
  return { ...driver, snapshots: share < SNAPSHOT_SHARE / 2 ? 'single' : 'groups', readyMs, copyMs };
}

export function planSnapshotClasses(driver: DriverPlan, random: SeededRandom): SnapshotClassPlan[] {
  if (!driver.snapshots) return [];
  return [
    {
      name: `${driver.short}-snap`,
      driver: driver.name,
      deletion: random.next() < 0.85 ? 'Delete' : 'Retain',
      secrets: random.next() < 0.3,
    },
  ];
}

// What users do in one world, and when: groups of actions on one claim, set or pod each, a few deletions at the worst
// moment, and what an administrator does about a silent node.

import type { SeededRandom } from '../runtime/random.ts';
import {
  type AccessMode,
  BARE_NODE,
  type EventPlan,
  oneOf,
  type Plan,
  REGISTRATIONS,
  type Step,
  type UserAction,
} from './plan.ts';

type World = Pick<Plan, 'drivers' | 'nodes' | 'classes' | 'faultsMs'> & { silent: EventPlan | undefined };

const GROUP_NAMES = 'abcdefghijkl';
/** One or two groups are enough for most bugs. One world of ten is large, for those that need many. */
const GROUPS = [1, 1, 1, 2, 2, 2, 2, 3, 3, 6];
/** Of claims that are deleted while their volume is being made. */
const HURRY_SHARE = 0.2;
/** About as long as a group takes. None starts later than this before the end. */
const GROUP_MS = 60_000;

export function planSteps(world: World, random: SeededRandom): Step[] {
  const steps: Step[] = [];
  const add = (atMs: number, action: UserAction): void =>
    void steps.push({ atMs: Math.min(Math.round(atMs), world.faultsMs - 1), action });
  const groups = oneOf(random, GROUPS);
  for (let group = 0; group < groups; group++) {
    // In a cluster that loses a node, before it does.
    const startMs = random.int(world.silent?.atMs ?? world.faultsMs - GROUP_MS);
    planGroup(world, GROUP_NAMES[group] ?? 'z', startMs, random, add);
  }
  const worstMoments = 2;
  for (let moment = 0; moment < worstMoments; moment++) planWorst(world, groups, random, add);
  if (world.silent) planEvacuation(world, world.silent, groups, random, add);
  return steps.sort((a, b) => a.atMs - b.atMs);
}

type Add = (atMs: number, action: UserAction) => void;

function planGroup(world: World, base: string, startMs: number, random: SeededRandom, add: Add): void {
  const { drivers, classes } = world;
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  const className = pick(classes).name;
  const kind = random.next();
  if (kind < 0.12) {
    add(startMs, { do: 'create-set', name: `${base}-set`, className, replicas: 1 + random.int(2) });
    if (random.next() < 0.6) {
      add(startMs + random.int(60_000), { do: 'scale-set', name: `${base}-set`, replicas: random.int(3) });
    }
    return;
  }
  if (kind < 0.24) {
    const inline = drivers.find(({ ephemeral }) => ephemeral);
    const extra = inline && random.next() < 0.5 ? { inline: inline.name } : { ephemeral: className };
    add(startMs, { do: 'create-pod', name: `${base}-pod`, claims: [], ...extra });
    if (random.next() < 0.6) {
      const graceSeconds = random.int(4);
      add(startMs + random.int(60_000), { do: 'delete-pod', name: `${base}-pod`, graceSeconds });
    }
    return;
  }
  if (kind < 0.32) {
    const existing = pick(drivers).name;
    planPods(world, { base, startMs, volumes: { claims: [], existing } }, random, add);
    return;
  }
  const mode: AccessMode =
    random.next() < 0.75 ? 'ReadWriteOnce' : pick(['ReadWriteMany', 'ReadWriteOncePod'] as const);
  const claim = `${base}-claim`;
  const isBoundAtOnce = classes.some(({ name, binding }) => name === className && binding === 'Immediate');
  const isMisled = !isBoundAtOnce && drivers.every(({ topology }) => topology) && random.next() < 0.3;
  const selected = isMisled ? { selected: BARE_NODE } : {};
  // Filesystems that grow are enough for expansion.
  const isBlock = !drivers.some(({ expands }) => expands) && random.next() < 0.15 ? { isBlock: true } : {};
  add(startMs, { do: 'create-claim', name: claim, className, mode, ...selected, ...isBlock });
  if (random.next() < HURRY_SHARE) {
    const goneMs = startMs + random.int(1_500);
    add(goneMs, { do: 'delete-claim', name: claim });
    if (random.next() < 0.6)
      add(goneMs + random.int(6_000), { do: 'create-claim', name: claim, className, mode, ...isBlock });
  }
  const group = { base, startMs, volumes: { claims: [claim] }, isBoundAtOnce };
  const endMs = planPods(world, group, random, add);
  // It stays, so that the claim has to be bound in the end.
  if (isMisled) add(endMs + random.int(8_000), { do: 'create-pod', name: `${base}-late`, claims: [claim] });
  if (random.next() < 0.65) {
    // Many users delete pod and claim together.
    const atMs = random.next() < 0.5 ? endMs + random.int(300) : endMs + random.int(10_000) - 5_000;
    add(Math.max(startMs, atMs), { do: 'delete-claim', name: claim });
    if (random.next() < 0.4)
      add(atMs + random.int(6_000), { do: 'create-claim', name: claim, className, mode, ...isBlock });
  }
}

/** Pods that use the same volume, one after the other or together. Returns the time of the last action. */
function planPods(
  { drivers, nodes }: World,
  group: {
    base: string;
    startMs: number;
    volumes: { claims: readonly string[]; existing?: string };
    isBoundAtOnce?: boolean;
  },
  random: SeededRandom,
  add: Add,
): number {
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  let atMs = group.startMs;
  const rounds = 1 + random.int(3);
  for (let round = 0; round < rounds; round++) {
    const name = `${group.base}-pod${round}`;
    atMs += random.int(8_000);
    const insists = random.next() < (drivers.some(({ topology }) => topology) ? 0.6 : 0.3);
    // With topology, a pod that names its node may never run; for a claim with delayed binding nobody selects a node then.
    const place = drivers.some(({ topology }) => topology) ? (group.isBoundAtOnce ? 'pinned' : '') : 'node';
    const node = insists && place ? { [place]: pick(nodes).name } : {};
    const readOnly = group.volumes.claims.length > 0 && random.next() < 0.15 ? { readOnly: true } : {};
    add(atMs, { do: 'create-pod', name, ...group.volumes, ...node, ...readOnly });
    if (random.next() < 0.75 || round < rounds - 1) {
      // Sometimes before anything is mounted, sometimes long after.
      atMs += random.next() < 0.5 ? random.int(3_000) : random.int(40_000);
      add(atMs, { do: 'delete-pod', name, graceSeconds: pick([0, 1, 1, 5, 30]) });
    }
  }
  return atMs;
}

function planWorst(
  { nodes, classes, faultsMs }: World,
  groups: number,
  random: SeededRandom,
  add: Add,
): void {
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)] as T;
  const worst = random.next();
  const whenMs = random.int(faultsMs);
  if (worst < 0.08) add(whenMs, { do: 'delete-volume-of', name: `${GROUP_NAMES[random.int(groups)]}-claim` });
  else if (worst < 0.14) add(whenMs, { do: 'delete-secret', className: pick(classes).name });
  else if (worst < 0.18) add(whenMs, { do: 'delete-class', className: pick(classes).name });
  else if (worst < 0.23) add(whenMs, { do: 'delete-node', node: pick(nodes).name });
  else if (worst < 0.31) add(whenMs, { do: 'deregister', node: pick(nodes).name, what: pick(REGISTRATIONS) });
}

/** An administrator gives the silent node up after a while, and users start its pods elsewhere. */
function planEvacuation(
  { nodes, faultsMs }: World,
  { target, atMs }: EventPlan,
  groups: number,
  random: SeededRandom,
  add: Add,
): void {
  const vouches = random.next() < 0.25;
  const whenMs = atMs + 60_000 + random.int(faultsMs - atMs - 120_000);
  add(whenMs, { do: vouches ? 'out-of-service' : 'evacuate', node: target });
  const others = nodes.filter(({ name }) => name !== target);
  for (let group = 0; group < groups; group++) {
    const other = others[random.int(others.length)];
    if (!other || random.next() < 0.3) continue;
    const base = GROUP_NAMES[group] ?? 'z';
    const name = `${base}-moved`;
    add(whenMs + random.int(30_000), {
      do: 'create-pod',
      name,
      claims: [`${base}-claim`],
      node: other.name,
    });
  }
}

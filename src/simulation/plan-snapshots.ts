// The snapshots of one simulated cluster: of claims that the users create anyway, or of a claim of its own. Users restore
// them, also while they are deleted; delete the claim while it is being cut; delete members of groups, contents and
// classes.

import type { SeededRandom } from '../runtime/random.ts';
import type { ClassPlan, Plan, SnapshotClassPlan, Step, UserAction } from './plan.ts';

type ClaimAction = Extract<UserAction, { do: 'create-claim' }>;
type Add = (atMs: number, action: UserAction) => void;
type World = Pick<Plan, 'drivers' | 'classes' | 'snapshotClasses' | 'faultsMs'>;

/** More claims than this would only cost time. */
const MOST_SOURCES = 2;
/** Of snapshots that are deleted while they are being cut. */
const HURRY_SHARE = 0.3;
const RESTORE_SHARE = 0.6;
/** Of clusters whose snapshots are of a claim that nobody else uses or deletes, so that most of them are really cut. */
const OWN_SOURCE_SHARE = 0.5;
/** About as long as the snapshots of one claim take. */
const GROUP_MS = 80_000;

export function planSnapshots(world: World, basic: readonly Step[], random: SeededRandom): Step[] {
  const { classes, snapshotClasses, faultsMs } = world;
  if (snapshotClasses.length === 0) return [];
  const steps: Step[] = [];
  const add: Add = (atMs, action) =>
    void steps.push({ atMs: Math.min(Math.max(0, Math.round(atMs)), faultsMs - 1), action });
  const kindOf = ({ className }: ClaimAction): SnapshotClassPlan | undefined => {
    const driver = classes.find(({ name }) => name === className)?.driver;
    return snapshotClasses.find((each) => each.driver === driver);
  };
  const sources = new Map<string, { atMs: number; action: ClaimAction }>();
  if (random.next() >= OWN_SOURCE_SHARE) {
    for (const { atMs, action } of basic) {
      if (action.do !== 'create-claim' || sources.size === MOST_SOURCES) continue;
      if (kindOf(action) && !sources.has(action.name)) sources.set(action.name, { atMs, action });
    }
  }
  if (sources.size === 0) {
    const atMs = random.int(faultsMs - GROUP_MS);
    const { driver } = snapshotClasses[0] as SnapshotClassPlan;
    const className = classes.find((each) => each.driver === driver)?.name ?? '';
    const action: ClaimAction = { do: 'create-claim', name: 's-claim', className, mode: 'ReadWriteOnce' };
    add(atMs, action);
    sources.set(action.name, { atMs, action });
  }
  for (const { atMs, action } of sources.values()) {
    const kind = kindOf(action) as SnapshotClassPlan;
    const hasGroups = world.drivers.some(
      ({ name, snapshots }) => name === kind.driver && snapshots === 'groups',
    );
    const source = { atMs, action, kind };
    if (hasGroups && random.next() < 0.6) planGroup(world, source, random, add);
    else planSingle(world, source, random, add);
    const worst = random.next();
    const whenMs = atMs + random.int(GROUP_MS);
    if (worst < 0.1) add(whenMs, { do: 'delete-snapshot-class', className: kind.name });
    else if (worst < 0.16 && kind.secrets) add(whenMs, { do: 'delete-secret', className: kind.name });
  }
  return steps;
}

interface Source {
  atMs: number;
  action: ClaimAction;
  kind: SnapshotClassPlan;
}

function planSingle(world: World, { atMs, action, kind }: Source, random: SeededRandom, add: Add): void {
  const base = baseOf(action);
  let whenMs = atMs + boundInMs(world, action);
  const rounds = 1 + random.int(2);
  for (let round = 0; round < rounds; round++) {
    const name = `${base}-snap${round}`;
    whenMs += soonOrLater(random);
    add(whenMs, { do: 'create-snapshot', name, claim: action.name, className: kind.name });
    if (random.next() < 0.25) add(whenMs + random.int(2_500), { do: 'delete-claim', name: action.name });
    let goneMs = whenMs + (random.next() < HURRY_SHARE ? random.int(1_500) : soonOrLater(random));
    if (random.next() < RESTORE_SHARE) {
      const restoreMs = whenMs + restorableInMs(world, kind, random);
      goneMs = goneBeside(restoreMs, random);
      const from = { snapshot: name };
      planRestore(world, { name: `restored-${base}${round}`, action, from }, restoreMs, random, add);
    }
    if (random.next() < 0.6) {
      add(goneMs, { do: 'delete-snapshot', name });
      if (random.next() < 0.25)
        add(goneMs + random.int(5_000), {
          do: 'create-snapshot',
          name,
          claim: action.name,
          className: kind.name,
        });
    }
    if (random.next() < 0.1) add(whenMs + random.int(20_000), { do: 'delete-content-of', snapshot: name });
    whenMs = goneMs;
  }
}

function planGroup(world: World, { atMs, action, kind }: Source, random: SeededRandom, add: Add): void {
  const base = baseOf(action);
  const more: ClaimAction = { ...action, name: `${base}-more` };
  add(atMs + random.int(1_500), more);
  // Those with delayed binding are bound for a pod.
  if (random.next() < 0.5)
    add(atMs + random.int(3_000), { do: 'create-pod', name: `${base}-two`, claims: [more.name] });
  const group = `${base}-group`;
  const cutMs = atMs + 1_500 + boundInMs(world, action) + soonOrLater(random);
  add(cutMs, { do: 'create-group', name: group, set: base, className: kind.name });
  if (random.next() < 0.25)
    add(cutMs + random.int(2_500), {
      do: 'delete-claim',
      name: random.next() < 0.5 ? action.name : more.name,
    });
  let goneMs = cutMs + soonOrLater(random);
  if (random.next() < 0.3) add(cutMs + soonOrLater(random), { do: 'delete-member', group });
  if (random.next() < RESTORE_SHARE) {
    const restoreMs = cutMs + restorableInMs(world, kind, random);
    goneMs = goneBeside(restoreMs, random);
    planRestore(world, { name: `restored-${base}`, action, from: { group } }, restoreMs, random, add);
  }
  if (random.next() < 0.6) add(goneMs, { do: 'delete-group', name: group });
}

/** A claim that restores a snapshot, and often a pod for it. */
function planRestore(
  { classes }: World,
  restore: { name: string; action: ClaimAction; from: NonNullable<ClaimAction['from']> },
  atMs: number,
  random: SeededRandom,
  add: Add,
): void {
  const { name, action, from } = restore;
  const driver = classes.find((each) => each.name === action.className)?.driver;
  const own = classes.filter((each) => each.driver === driver);
  const { name: className, binding } = own[random.int(own.length)] as ClassPlan;
  const block = action.isBlock ? { isBlock: true } : {};
  add(atMs, { do: 'create-claim', name, className, mode: 'ReadWriteOnce', from, ...block });
  // With delayed binding nothing is restored before there is a pod.
  if (random.next() < (binding === 'Immediate' ? 0.5 : 0.9))
    add(atMs + random.int(binding === 'Immediate' ? 4_000 : 500), {
      do: 'create-pod',
      name: `${name}-pod`,
      claims: [name],
    });
  if (random.next() < 0.25) add(atMs + soonOrLater(random), { do: 'delete-claim', name });
}

/** When the claim is probably bound, and can be snapshotted: with delayed binding, once it has a pod. */
function boundInMs({ classes }: World, { className }: ClaimAction): number {
  return classes.some(({ name, binding }) => name === className && binding === 'Immediate') ? 0 : 5_000;
}

/** Most restores begin when the snapshot is ready, some before that. */
function restorableInMs({ drivers }: World, { driver }: SnapshotClassPlan, random: SeededRandom): number {
  const readyMs = drivers.find(({ name }) => name === driver)?.readyMs ?? 0;
  return random.next() < 0.2 ? random.int(3_000) : readyMs + 2_000 + random.int(10_000);
}

/** When the source of a restore is deleted: mostly while it is restored, else shortly before, or much later. */
function goneBeside(restoreMs: number, random: SeededRandom): number {
  return random.next() < 0.75 ? restoreMs - 500 + random.int(6_000) : restoreMs + random.int(25_000);
}

/** The set that a claim belongs to. */
function baseOf({ name }: ClaimAction): string {
  return setOf(name);
}

/** Claims of one set are cut together by a group snapshot. Restored claims belong to none that is cut. */
export function setOf(claimName: string): string {
  return claimName.split('-')[0] ?? claimName;
}

function soonOrLater(random: SeededRandom): number {
  return random.next() < 0.4 ? random.int(3_000) : 1_000 + random.int(25_000);
}

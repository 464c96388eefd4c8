// One seed from start to end: faults, convergence, again with the silent node back, deletion. Returns the violations and the
// whole history.

import type { Log } from '../runtime/ports.ts';
import { seededRandom } from '../runtime/random.ts';
import { VirtualLivelockError } from '../runtime/time/virtual-clock.ts';
import {
  type AuditedWorld,
  type AuditTally,
  checkClean,
  checkNodes,
  checkPlanted,
} from './audit/check-audit.ts';
import { createCheckers } from './checkers/index.ts';
import { expectations, remains } from './expectations.ts';
import { ALL_FAULTS, type Fault } from './faults.ts';
import type { Entry, Phase, Violation } from './history.ts';
import type { Mutation } from './mutation.ts';
import { type EventPlan, makePlan, type Plan, type PlanOptions } from './plan.ts';
import { editMemberLease, watchShares } from './replicas.ts';
import type { StartImage } from './start-image.ts';
import { World } from './world.ts';

/** More than twice the longest backoff of any component: what has not happened by then never will. */
const CONVERGE_MS = 15 * 60_000;
const LOOK_MS = 1000;
const LOOK_AGAIN_MS = 60_000;

export interface SimulateOptions extends PlanOptions {
  start: StartImage;
  /** All unless told. */
  faults?: ReadonlySet<Fault>;
  /** Single faults that are left out. */
  skipped?: ReadonlySet<string>;
  /** Part of the plan instead of all of it. */
  change?: (plan: Plan) => Plan;
  mutation?: Mutation;
  /** Runs the auditor when everything is at rest: as it is, or with planted leaks. It has random numbers of its own. */
  audit?: AuditMode;
  /** Where the components' log lines go; nowhere unless given. */
  log?: Log;
}

export const AUDIT_MODES = ['clean', 'planted'] as const;
export type AuditMode = (typeof AUDIT_MODES)[number];

export interface Simulated {
  readonly seed: number;
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly entries: readonly Entry[];
  readonly virtualMs: number;
  /** With planted leaks. */
  readonly audit?: AuditTally;
}

export async function simulate(seed: number, options: SimulateOptions): Promise<Simulated> {
  const random = seededRandom(seed);
  const made = makePlan(seed, random, options);
  const plan = options.change?.(made) ?? made;
  const world = await World.create({
    plan,
    random,
    start: options.start,
    enabled: options.faults ?? new Set(ALL_FAULTS),
    ...(options.skipped && { skipped: options.skipped }),
    ...(options.mutation && { mutation: options.mutation }),
    ...(options.subject && { subject: options.subject }),
    ...(options.log && { log: options.log }),
  });
  const { clock, history } = world;
  const isOver = (): boolean => history.violations.length > 0;
  createCheckers(world);
  const phase = (name: Phase): void => history.add({ kind: 'phase', phase: name });
  const advance = async (ms: number): Promise<void> => {
    try {
      await clock.advanceUnless(isOver, ms);
    } catch (error) {
      if (!(error instanceof VirtualLivelockError)) throw error;
      history.violate('hot-loop', `something goes on and on: ${error.message}`);
    }
  };
  const untilRest = async (rule: string, left: () => Iterable<string>): Promise<void> => {
    const startedMs = clock.monotonicMs();
    while (!isOver() && !isEmpty(left())) {
      if (clock.monotonicMs() - startedMs > CONVERGE_MS) {
        history.violate(rule, [...left()].join('; '));
        return;
      }
      await advance(LOOK_MS);
    }
  };

  let calls = 0;
  const audited: AuditedWorld = {
    world,
    random: random.fork('audit'),
    advance,
    nextId: () => --calls,
    plants: [],
    async drive(work) {
      let isDone = false;
      const end = (): void => {
        isDone = true;
      };
      work.then(end, end);
      // A violation ends the run, not the work: nobody else would.
      while (!isDone) await (isOver() ? clock.advance(LOOK_MS) : advance(LOOK_MS));
      return work;
    },
  };
  let tally: AuditTally | undefined;

  await world.users.prepare();
  if (plan.isSharded) watchShares(world);
  phase('faults');
  world.startAll();
  for (const { atMs, action } of plan.steps) clock.setTimeout(() => world.users.act(action), atMs);
  for (const event of plan.events) clock.setTimeout(() => happen(world, event), event.atMs);
  await advance(plan.faultsMs);

  if (!isOver()) {
    world.heal();
    await world.users.repair();
    phase('converge');
    await untilRest('convergence', () => expectations(world));
    if (!isOver() && world.silent.size > 0) {
      phase('return');
      await world.endSilence();
      await untilRest('convergence', () => expectations(world));
    }
  }
  if (!isOver() && options.audit) {
    await checkClean(audited);
    await checkNodes(audited, options.audit === 'planted');
    if (options.audit === 'planted' && !isOver()) tally = await checkPlanted(audited);
  }
  if (!isOver()) {
    phase('delete');
    await world.users.deleteEverything();
    // Again, for what a controller created for a StatefulSet at the last moment.
    clock.setTimeout(() => void world.users.deleteEverything(), LOOK_AGAIN_MS);
    await untilRest('leak', () => remains(world));
    if (!isOver() && options.audit) await checkClean(audited);
  }
  if (!isOver()) phase('end');
  const virtualMs = clock.monotonicMs();
  world.end();
  return {
    seed,
    plan,
    violations: history.violations,
    entries: history.entries,
    virtualMs,
    ...(tally && { audit: tally }),
  };
}

function isEmpty(items: Iterable<unknown>): boolean {
  for (const _ of items) return false;
  return true;
}

/** Makes one planned fault happen. */
function happen(world: World, { id, fault, target, forMs, answer }: EventPlan): void {
  if (!world.faults.event(fault, id)) return;
  const { clock, history } = world;
  history.add({ kind: 'fault', fault, where: `${id} ${target}${answer ? ` with another ${answer}` : ''}` });
  const later = (work: () => void): void => void clock.setTimeout(work, forMs);
  const backend = world.backends.get(target);
  switch (fault) {
    case 'process-crash':
      world.crash(target, forMs % 8000);
      return;
    case 'process-stop':
      world.stop(target, 30_000);
      return;
    case 'driver-down':
      if (backend) backend.isDown = true;
      later(() => {
        if (backend) backend.isDown = false;
      });
      return;
    case 'driver-restart':
      backend?.restart(answer);
      for (const node of world.nodes.values()) {
        if (forMs % 2 === 0) node.announce(target);
        else node.reconnect(target);
      }
      return;
    case 'storage-full':
      if (backend) backend.isFull = true;
      later(() => {
        if (backend) backend.isFull = false;
      });
      return;
    case 'storage-lies':
      if (backend) backend.lieMs = forMs;
      later(() => {
        if (backend) backend.lieMs = 0;
      });
      return;
    case 'node-reboot':
      world.crash(`node-${target}`, forMs);
      world.nodes.get(target)?.reboot();
      for (const each of world.backends.values()) each.rebooted(target);
      history.add({
        kind: 'storage',
        driver: '',
        change: 'rebooted',
        volume: '',
        node: target,
        path: '',
        name: '',
      });
      return;
    case 'node-lost':
      world.holdDown(`node-${target}`);
      later(() => world.letUp(`node-${target}`));
      return;
    case 'node-silent':
      world.silence(target);
      return;
    case 'node-full':
      for (const { fullNodes } of world.backends.values()) fullNodes.add(target);
      if (forMs === 0) return;
      later(() => {
        for (const { fullNodes } of world.backends.values()) fullNodes.delete(target);
      });
      return;
    case 'lease-stall':
      world.setStalled(target, true);
      later(() => world.setStalled(target, false));
      return;
    case 'clock-jump':
      clock.wallJump(forMs % 2 === 0 ? forMs * 10 : -forMs * 10);
      return;
    case 'process-pause':
      world.pause(target);
      later(() => world.resume(target));
      return;
    case 'lease-edit':
      void editMemberLease(world, target, forMs);
      return;
    case 'user-deletes':
      return;
  }
}

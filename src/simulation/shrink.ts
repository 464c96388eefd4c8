// Shrinks a failing run: fewer user actions, planned events, kinds of faults and single faults, for as long as the same
// rule is still violated.

import type { Fault } from './faults.ts';
import type { Plan } from './plan.ts';
import { type Simulated, type SimulateOptions, simulate } from './simulate.ts';

export interface Shrunk {
  readonly run: Simulated;
  readonly runs: number;
  /** Kinds of faults that are needed. */
  readonly faults: readonly Fault[];
}

interface Attempt {
  steps: Plan['steps'];
  events: Plan['events'];
  faults: ReadonlySet<Fault>;
  skipped: ReadonlySet<string>;
}

/** Stops when `mayGoOn`, which is asked before each run, returns false. */
export async function shrink(
  failed: Simulated,
  options: SimulateOptions & { faults: ReadonlySet<Fault> },
  mayGoOn: () => boolean,
): Promise<Shrunk> {
  const rule = failed.violations[0]?.rule;
  let best = failed;
  let runs = 0;
  let current: Attempt = {
    steps: failed.plan.steps,
    events: failed.plan.events,
    faults: options.faults,
    skipped: options.skipped ?? new Set(),
  };

  async function fails(attempt: Attempt): Promise<boolean> {
    if (!mayGoOn()) return false;
    runs += 1;
    const { steps, events, faults, skipped } = attempt;
    const change = (plan: Plan): Plan => ({ ...(options.change?.(plan) ?? plan), steps, events });
    const run = await simulate(failed.seed, { ...options, faults, skipped, change });
    if (run.violations[0]?.rule !== rule) return false;
    best = run;
    current = attempt;
    return true;
  }

  for (let length = 0; length < current.steps.length; length++) {
    if (await fails({ ...current, steps: failed.plan.steps.slice(0, length) })) break;
  }
  for (const step of [...current.steps]) {
    await fails({ ...current, steps: current.steps.filter((each) => each !== step) });
  }
  if (!(await fails({ ...current, events: [] }))) {
    for (const event of [...current.events]) {
      await fails({ ...current, events: current.events.filter((each) => each !== event) });
    }
  }
  if (!(await fails({ ...current, faults: new Set() }))) {
    for (const fault of strikesOf(best).kinds) {
      await fails({ ...current, faults: new Set([...current.faults].filter((each) => each !== fault)) });
    }
  }
  // Halves first, then quarters, and so on down to single strikes.
  for (let parts = 2; parts <= 64; parts *= 2) {
    const { names } = strikesOf(best);
    const size = Math.ceil(names.length / parts);
    if (size === 0) break;
    for (let start = 0; start < names.length; start += size) {
      await fails({
        ...current,
        skipped: new Set([...current.skipped, ...names.slice(start, start + size)]),
      });
    }
    if (size === 1) break;
  }
  return { run: best, runs, faults: strikesOf(best).kinds };
}

/** The faults that struck in a run. */
function strikesOf({ entries }: Simulated): { kinds: Fault[]; names: string[] } {
  const kinds = new Set<Fault>();
  const names: string[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'fault') continue;
    kinds.add(entry.fault as Fault);
    names.push(entry.where);
  }
  return { kinds: [...kinds], names };
}

// The cost of the work queue: one operation is an add and its run, with an empty reconciler. The candidates differ in
// the number of keys and how they are added; the virtual clock is measured too.

import { intFlag } from '../src/runtime/flags/flag.ts';
import { silentLog } from '../src/runtime/log/log.ts';
import { createMetrics } from '../src/runtime/metrics/metrics.ts';
import { createLoop, type LoopOptions } from '../src/runtime/queue/create-loop.ts';
import { done, type Loop, type Reconcile } from '../src/runtime/queue/loop.ts';
import { realRandom } from '../src/runtime/random.ts';
import { realClock } from '../src/runtime/time/clock.ts';
import { VirtualClock } from '../src/runtime/time/virtual-clock.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

/** Adds keys to a loop and waits until it has run `runs` times. */
function working(
  act: (loop: Loop, runs: number) => void,
  runs: number,
  options: Partial<LoopOptions> = {},
): Candidate {
  let left = 0;
  let ended = () => {};
  const again: { loop?: Loop } = {};
  const reconcile: Reconcile = async (key) => {
    if (--left === 0) ended();
    else if (key === 'only') again.loop?.add(key);
    return done;
  };
  const clock = options.clock ?? realClock;
  const loop = createLoop({
    name: 'bench',
    reconcile,
    workers: 10,
    clock,
    random: realRandom,
    log: silentLog,
    ...options,
  });
  again.loop = loop;
  const abort = new AbortController();
  const running = loop.run(abort.signal);
  return {
    round: async () => {
      const finished = new Promise<void>((resolve) => {
        ended = resolve;
      });
      left = runs;
      act(loop, runs);
      if (clock instanceof VirtualClock) await clock.runUntil(finished, 3_600_000);
      else await finished;
      return { operations: runs };
    },
    stop: async () => {
      abort.abort();
      await running;
    },
  };
}

const addAll = (loop: Loop, runs: number) => {
  for (let i = 0; i < runs; i++) loop.add(`namespace/claim-${i}`);
};
const addAllLater = (loop: Loop, runs: number) => {
  // Scattered over 50 ms, so that the heap has work to do.
  for (let i = 0; i < runs; i++) loop.addAfter(`namespace/claim-${i}`, 1 + ((i * 7919) % 50_000) / 1000);
};

export const benchmark = defineBenchmark({
  summary: 'Adds and runs of a work queue whose reconciler does nothing',
  operation: 'run',
  flags: { keys: intFlag({ help: 'Keys, or runs of the one key', default: 100_000, min: 1 }) },
  baseline: 'many keys',
  candidates: {
    'many keys': async ({ flags }) => working(addAll, flags.keys),
    'many keys, metrics': async ({ flags }) => working(addAll, flags.keys, { metrics: createMetrics() }),
    'one key, again and again': async ({ flags }) => working((loop) => loop.add('only'), flags.keys),
    'many keys, delayed': async ({ flags }) => working(addAllLater, flags.keys),
    'many keys, delayed, virtual time': async ({ flags }) =>
      working(addAllLater, flags.keys, { clock: new VirtualClock() }),
    'virtual timers': async ({ flags }) => virtualTimers(flags.keys),
  },
});

/** The load of the simulation: periodic timers whose callbacks await a few promises each. */
function virtualTimers(firings: number): Candidate {
  return {
    round: async () => {
      const clock = new VirtualClock();
      let left = firings;
      const loops = Array.from({ length: 20 }, async (_, i) => {
        while (left-- > 0) {
          await clock.sleep(100 + i);
          await Promise.resolve();
        }
      });
      await clock.runUntil(Promise.all(loops), Number.MAX_SAFE_INTEGER);
      return { operations: firings };
    },
  };
}

// Processor time until every deliberate bug of the simulation is noticed. A round is one range of seeds: for each bug the
// seeds are run from the first one of the range until the bug's rule is violated. Prints each bug's mean at the end.
import { intFlag, stringsFlag } from '../src/runtime/flags/flag.ts';
import { MUTATIONS } from '../src/simulation/mutations.ts';
import { simulate } from '../src/simulation/simulate.ts';
import { makeStartImage } from '../src/simulation/start-image.ts';
import { tuneThread } from '../src/simulation/tune-thread.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

/** Far enough apart that ranges do not overlap. */
const RANGE = 1_000_000;

interface Cost {
  seeds: number;
  cpuMs: number;
  /** Ranges in which it was not noticed. */
  missed: number;
}

async function noticing(flags: { from: number; most: number; bugs: readonly string[] }): Promise<Candidate> {
  const start = await makeStartImage();
  tuneThread();
  const bugs = Object.entries(MUTATIONS).filter(
    ([name]) => flags.bugs.length === 0 || flags.bugs.includes(name),
  );
  const costs = new Map<string, Cost>(bugs.map(([name]) => [name, { seeds: 0, cpuMs: 0, missed: 0 }]));
  let rounds = 0;
  return {
    round: async () => {
      const from = flags.from + rounds * RANGE;
      rounds += 1;
      const total = { seeds: 0, cpuMs: 0, missed: 0 };
      for (const [name, mutation] of bugs) {
        const cost = costs.get(name) as Cost;
        const startedCpu = process.cpuUsage();
        let seed = from;
        for (; seed < from + flags.most; seed++) {
          const { violations } = await simulate(seed, { start, mutation });
          if (violations[0]?.rule === mutation.rule) break;
        }
        const { user, system } = process.cpuUsage(startedCpu);
        const isMissed = seed === from + flags.most;
        const seeds = seed - from + (isMissed ? 0 : 1);
        for (const sum of [cost, total]) {
          sum.seeds += seeds;
          sum.cpuMs += (user + system) / 1000;
          sum.missed += isMissed ? 1 : 0;
        }
      }
      const { seeds, cpuMs, missed } = total;
      return { operations: bugs.length, figures: { 'CPU s': cpuMs / 1000, seeds, 'not noticed': missed } };
    },
    stop: () => {
      const rows = [...costs].sort(([, a], [, b]) => b.cpuMs - a.cpuMs);
      for (const [name, { seeds, cpuMs, missed }] of rows) {
        const figures = `${(cpuMs / 1000 / rounds).toFixed(2)} s, ${(seeds / rounds).toFixed(1)} seeds`;
        console.log(`${name}: ${figures}${missed > 0 ? `, not noticed in ${missed} ranges` : ''}`);
      }
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'Processor time until every deliberate bug of the simulation is noticed',
  operation: 'bug',
  flags: {
    from: intFlag({ help: 'First seed of the first range', default: 1, min: 1 }),
    most: intFlag({ help: 'Seeds a bug and range at most', default: 3000, min: 1 }),
    bugs: stringsFlag({ help: 'Only these bugs' }),
  },
  repeats: 8,
  warmups: 0,
  candidates: { 'until noticed': ({ flags }) => noticing(flags) },
});

// Seeds of `berth sim` per second of CPU time: simulated clusters with faults, and without.
import { intFlag } from '../src/runtime/flags/flag.ts';
import { ALL_FAULTS, type Fault } from '../src/simulation/faults.ts';
import { seedResults } from '../src/simulation/seed-results.ts';
import { makeStartImage } from '../src/simulation/start-image.ts';
import { tuneThread } from '../src/simulation/tune-thread.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

async function seeds(faults: readonly Fault[], count: number): Promise<Candidate> {
  const start = await makeStartImage();
  tuneThread();
  let from = 1;
  return {
    round: async () => {
      const startedCpu = process.cpuUsage();
      let virtualMs = 0;
      let calls = 0;
      const range = { from, to: from + count - 1, step: 1, faults };
      for await (const result of seedResults(range, start)) {
        if (result.violation) throw new Error(`seed ${result.seed}: ${result.violation.text}`);
        virtualMs += result.virtualMs;
        calls += result.calls;
      }
      from += count;
      const { user, system } = process.cpuUsage(startedCpu);
      const figures = {
        'seeds/s of one core': (count * 1_000_000) / (user + system),
        'simulated minutes/seed': virtualMs / 60_000 / count,
        'driver calls/seed': calls / count,
      };
      return { operations: count, figures };
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'Simulated clusters, with faults and without',
  operation: 'seed',
  flags: { seeds: intFlag({ help: 'Seeds a round', default: 200, min: 1 }) },
  candidates: {
    'all faults': ({ flags }) => seeds(ALL_FAULTS, flags.seeds),
    'no faults': ({ flags }) => seeds([], flags.seeds),
  },
});

// The cost of starting `berth`, compared with an empty Node process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { intFlag } from '../src/runtime/flags/flag.ts';
import { type Candidate, defineBenchmark } from './harness.ts';

const berth = fileURLToPath(new URL('../bin/berth', import.meta.url));

function starting(args: readonly string[], starts: number): Candidate {
  return {
    round: async () => {
      for (let i = 0; i < starts; i++) {
        const child = spawn(process.execPath, args, { stdio: 'ignore' });
        const [code] = await once(child, 'exit');
        if (code !== 0) throw new Error(`node ${args.join(' ')} exited with ${code}`);
      }
      return { operations: starts };
    },
  };
}

export const benchmark = defineBenchmark({
  summary: 'Starting a process',
  operation: 'start',
  flags: { starts: intFlag({ help: 'Starts a round', default: 5, min: 1 }) },
  candidates: {
    'empty node': async ({ flags }) => starting(['-e', '0'], flags.starts),
    'berth version': async ({ flags }) => starting([berth, 'version'], flags.starts),
  },
});

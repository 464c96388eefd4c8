// `npm run fuzz -- NAME [--seconds=60] [--seed=N]`: runs random seeds of one fuzz target, or replays one seed. The
// targets are in test/fuzz/targets.ts. They run in a thread, so that a hang is detected and reported with its seed.
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Draw } from '../test/fuzz/target.ts';
import { fuzzTargets } from '../test/fuzz/targets.ts';

/** Far more than any seed takes. */
const HANG_MS = 20_000;

interface Job {
  readonly name: string;
  readonly seconds: number;
  readonly seed: number | undefined;
  /** The current seed. */
  readonly current: Int32Array;
}

async function fuzz({ name, seconds, seed, current }: Job): Promise<void> {
  const target = fuzzTargets[name] as (typeof fuzzTargets)[string];
  const endMs = performance.now() + seconds * 1000;
  let tries = 0;
  do {
    const trying = seed ?? Math.floor(Math.random() * 2 ** 31);
    Atomics.store(current, 0, trying);
    try {
      await target.try(new Draw(trying));
    } catch (error) {
      throw new Error(`seed ${trying} fails`, { cause: error });
    }
    tries++;
  } while (seed === undefined && performance.now() < endMs);
  parentPort?.postMessage(`${name}: ${tries} tries, all properties hold`);
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const [name] = positionals;
  if (name === undefined || !Object.hasOwn(fuzzTargets, name)) {
    const lines = Object.entries(fuzzTargets).map(([each, { summary }]) => `  ${each.padEnd(18)}${summary}`);
    process.stdout.write(`npm run fuzz -- NAME [--seconds=60] [--seed=N]\n${lines.join('\n')}\n`);
    process.exitCode = name === undefined ? 0 : 2;
    return;
  }
  const current = new Int32Array(new SharedArrayBuffer(4));
  const seed = values.seed === undefined ? undefined : Number(values.seed);
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { name, seconds: Number(values.seconds), seed, current } satisfies Job,
  });
  let before = -1;
  const watch = setInterval(() => {
    const trying = Atomics.load(current, 0);
    if (trying === before) {
      process.stderr.write(`seed ${trying} hangs; replay it with --seed=${trying}\n`);
      process.exit(1);
    }
    before = trying;
  }, HANG_MS);
  worker.on('message', (text) => process.stdout.write(`${text}\n`));
  worker.on('error', (error) => {
    process.stderr.write(`${error.message}: ${(error.cause as Error | undefined)?.stack ?? error.stack}\n`);
    process.exitCode = 1;
  });
  worker.on('exit', () => clearInterval(watch));
}

if (isMainThread) main();
else await fuzz(workerData as Job);

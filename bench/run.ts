// `npm run bench -- NAME [--repeats N] [flags of the benchmark]`: measures one benchmark, prints a table and writes
// bench/results/NAME.json. Without a name it lists the benchmarks.
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { type FlagTable, intFlag, stringsFlag } from '../src/runtime/flags/flag.ts';
import { flagHelp } from '../src/runtime/flags/flag-help.ts';
import { FlagError, type FlagValues, parseFlags } from '../src/runtime/flags/parse-flags.ts';
import { type Benchmark, measure } from './harness.ts';
import { report, table } from './statistics.ts';

const here = new URL('./', import.meta.url);

function harnessFlags(benchmark: Benchmark<FlagTable>) {
  const group = 'Measuring';
  return {
    repeats: intFlag({ help: 'Measured rounds', default: benchmark.repeats ?? 5, min: 1, group }),
    warmups: intFlag({ help: 'Rounds before those', default: benchmark.warmups ?? 1, min: 0, group }),
    only: stringsFlag({ help: 'Only these candidates', group }),
  };
}

async function benchmarkNames(): Promise<string[]> {
  const files = await readdir(here);
  return files
    .filter((file) => file.endsWith('.bench.ts'))
    .map((file) => file.slice(0, -'.bench.ts'.length))
    .sort();
}

async function load(name: string): Promise<Benchmark<FlagTable>> {
  const { benchmark } = await import(new URL(`${name}.bench.ts`, here).href);
  return benchmark;
}

async function list(): Promise<string> {
  const names = await benchmarkNames();
  const lines = await Promise.all(names.map(async (name) => `  ${name}: ${(await load(name)).summary}\n`));
  return `Usage: npm run bench -- NAME [--repeats N] [flags]\n\nBenchmarks:\n${lines.join('') || '  none yet\n'}`;
}

async function run(name: string, argv: readonly string[]): Promise<void> {
  const benchmark = await load(name);
  const flags = { ...benchmark.flags, ...harnessFlags(benchmark) };
  if (argv.includes('--help')) {
    process.stdout.write(`${benchmark.summary}.\n\n${flagHelp(flags)}`);
    return;
  }
  const { values } = parseFlags({ table: flags, argv });
  const own = values as FlagValues<ReturnType<typeof harnessFlags>>;
  const unknown = own.only.filter((candidate) => !Object.hasOwn(benchmark.candidates, candidate));
  if (unknown.length > 0) {
    const names = Object.keys(benchmark.candidates).join(', ');
    throw new FlagError(`${name} has no candidate ${unknown.join(', ')}; it has ${names}`);
  }
  const measured = await measure({
    benchmark,
    flags: values,
    warmups: own.warmups,
    repeats: own.repeats,
    ...(own.only.length > 0 ? { only: own.only } : {}),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  const result = report(measured, benchmark.baseline);
  process.stdout.write(`\n${name}: ${benchmark.summary} (${own.repeats} rounds, median ± half range)\n\n`);
  process.stdout.write(table(result));
  for (const [candidate, why] of Object.entries(measured.unavailable)) {
    process.stdout.write(`${candidate} was not measured: ${why}\n`);
  }
  await mkdir(new URL('results/', here), { recursive: true });
  const file = new URL(`results/${name}.json`, here);
  const about = {
    name,
    at: new Date().toISOString(),
    node: process.versions.node,
    processor: cpus()[0]?.model ?? 'unknown',
    processors: availableParallelism(),
    memoryBytes: totalmem(),
    flags: values,
  };
  await writeFile(file, `${JSON.stringify({ ...about, ...result, rounds: measured.candidates }, null, 2)}\n`);
  process.stdout.write(`\nbench/results/${name}.json written\n`);
}

const [name, ...rest] = process.argv.slice(2);
if (name === undefined || name.startsWith('-')) {
  process.stdout.write(await list());
  process.exit(name === undefined ? 2 : 0);
}
if (!(await benchmarkNames()).includes(name)) {
  process.stderr.write(`there is no benchmark ${name}\n\n${await list()}`);
  process.exit(2);
}
try {
  await run(name, rest);
  process.exit(0);
} catch (error) {
  process.stderr.write(error instanceof FlagError ? `${error.message}\n` : `${(error as Error).stack}\n`);
  process.exit(error instanceof FlagError ? 2 : 1);
}

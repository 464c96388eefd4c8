// Definition and measurement of benchmarks. `npm run bench -- NAME` runs `bench/NAME.bench.ts`, whose export
// `benchmark` lists the candidates to compare. All candidates are started, warmed up, and then measured in turns (A, B,
// A, B, …), so that other load on the machine affects all of them alike.
//
//   export const benchmark = defineBenchmark({
//     summary: 'Calls a second over a unix socket',
//     operation: 'call',
//     flags: { calls: intFlag({ help: 'Calls a round', default: 10_000 }) },
//     candidates: {
//       'grpc-js': async ({ flags, directory }) => {
//         const server = await startServer(`${directory}/s.sock`);
//         return {
//           round: async () => {
//             for (let i = 0; i < flags.calls; i++) await server.call();
//             return { operations: flags.calls, figures: { 'p99 ms': … } };
//           },
//           processes: { server: server.pid },
//           stop: () => server.stop(),
//         };
//       },
//     },
//   });
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FlagTable } from '../src/runtime/flags/flag.ts';
import type { FlagValues } from '../src/runtime/flags/parse-flags.ts';
import { missingPeers } from '../test/capabilities.ts';
import { processUsage, resetPeakMemory } from './process-usage.ts';

export interface Benchmark<T extends FlagTable> {
  readonly summary: string;
  /** The unit of work, in the singular: `call`, `claim`, `event`. */
  readonly operation: string;
  /** Flags of this benchmark. */
  readonly flags?: T;
  /** The first one is the baseline, unless `baseline` names another. */
  readonly candidates: Readonly<Record<string, StartCandidate<T>>>;
  readonly baseline?: string;
  readonly warmups?: number;
  readonly repeats?: number;
}

export type StartCandidate<T extends FlagTable> = (context: {
  readonly flags: FlagValues<T>;
  /** Empty, short enough for unix sockets, removed at the end. */
  readonly directory: string;
}) => Promise<Candidate>;

export interface Candidate {
  /** One measured round. */
  round(): Promise<Round>;
  /** Runs after each round, outside of the measurement, so that work left by one round does not count in the next. */
  rest?(): Promise<void>;
  /** Further processes, name to PID, whose CPU time and memory are measured. */
  readonly processes?: Readonly<Record<string, number>>;
  stop?(): Promise<void> | void;
}

export interface Round {
  readonly operations: number;
  /** Further figures of this round, by name with its unit. */
  readonly figures?: Readonly<Record<string, number>>;
}

/** Thrown by a candidate that cannot run here; it is skipped and the reason printed. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** For a candidate that needs these programs of `BERTH_PEERS`. */
export function needPeers(...names: readonly string[]): void {
  const why = missingPeers(...names);
  if (why !== false) throw new Unavailable(why);
}

/** Keeps the flags' types for the candidates. */
export function defineBenchmark<const T extends FlagTable>(benchmark: Benchmark<T>): Benchmark<T> {
  return benchmark;
}

/** A candidate's figures: for each name, one number per round. */
export type Figures = Readonly<Record<string, readonly number[]>>;

export interface Measured {
  readonly candidates: Readonly<Record<string, Figures>>;
  readonly unavailable: Readonly<Record<string, string>>;
}

export interface MeasureOptions<T extends FlagTable> {
  readonly benchmark: Benchmark<T>;
  readonly flags: FlagValues<T>;
  readonly warmups: number;
  readonly repeats: number;
  readonly only?: readonly string[];
  readonly progress?: (text: string) => void;
}

export async function measure<T extends FlagTable>(options: MeasureOptions<T>): Promise<Measured> {
  const { benchmark, progress = () => {} } = options;
  const running: {
    name: string;
    candidate: Candidate;
    directory: string;
    figures: Record<string, number[]>;
  }[] = [];
  const unavailable: Record<string, string> = {};
  try {
    for (const [name, start] of Object.entries(benchmark.candidates)) {
      if (options.only !== undefined && !options.only.includes(name)) continue;
      const directory = await mkdtemp(join(tmpdir(), 'bench-'));
      try {
        const candidate = await start({ flags: options.flags, directory });
        running.push({ name, candidate, directory, figures: {} });
      } catch (error) {
        await rm(directory, { recursive: true, force: true });
        if (!(error instanceof Unavailable)) throw error;
        unavailable[name] = error.message;
      }
    }
    for (let i = 0; i < options.warmups; i++) {
      for (const { name, candidate } of running) {
        progress(`warm-up ${i + 1}/${options.warmups}: ${name}`);
        await candidate.round();
        await candidate.rest?.();
      }
    }
    for (let i = 0; i < options.repeats; i++) {
      for (const { name, candidate, figures } of running) {
        progress(`round ${i + 1}/${options.repeats}: ${name}`);
        for (const [figure, value] of Object.entries(await measureRound(candidate, benchmark.operation))) {
          figures[figure] = [...(figures[figure] ?? []), value];
        }
        await candidate.rest?.();
      }
    }
  } finally {
    for (const { candidate, directory } of running) {
      await candidate.stop?.();
      await rm(directory, { recursive: true, force: true });
    }
  }
  return {
    candidates: Object.fromEntries(running.map(({ name, figures }) => [name, figures])),
    unavailable,
  };
}

async function measureRound(candidate: Candidate, operation: string): Promise<Record<string, number>> {
  const processes = Object.entries({ self: process.pid, ...candidate.processes });
  globalThis.gc?.();
  for (const [, pid] of processes) resetPeakMemory(pid);
  const before = processes.map(([, pid]) => processUsage(pid));
  const startMs = performance.now();
  const round = await candidate.round();
  const elapsedMs = performance.now() - startMs;
  const after = processes.map(([, pid]) => processUsage(pid));

  const figures: Record<string, number> = {
    [`${operation}s/s`]: (round.operations / elapsedMs) * 1000,
    [`ms/${operation}`]: elapsedMs / round.operations,
  };
  processes.forEach(([name], i) => {
    const [start, end] = [before[i], after[i]];
    // A process that ended during the round has no figures.
    if (start === undefined || end === undefined) return;
    figures[`${name} CPU ms/${operation}`] = (end.cpuMs - start.cpuMs) / round.operations;
    figures[`${name} peak MB`] = end.peakMemoryBytes / 1e6;
  });
  return { ...figures, ...round.figures };
}

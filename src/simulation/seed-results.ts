// Runs many seeds, in this thread or in several, and yields the result of each. Seeds are independent.

import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../runtime/process/thread-environment.ts';
import type { AuditTally } from './audit/check-audit.ts';
import type { Fault } from './faults.ts';
import type { Violation } from './history.ts';
import type { DriverShape } from './plan.ts';
import { type AuditMode, simulate } from './simulate.ts';
import type { StartImage } from './start-image.ts';
import { openSubject, type SubjectSource } from './subjects/open-subject.ts';

export interface SeedRange {
  readonly from: number;
  readonly to: number;
  /** Runs every `step`-th seed of the range. */
  readonly step: number;
  readonly faults: readonly Fault[];
  readonly driver?: DriverShape;
  /** Where the one driver comes from; otherwise the seed decides. */
  readonly source?: SubjectSource;
  readonly audit?: AuditMode;
  readonly replicas?: number;
}

export interface SeedResult {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly virtualMs: number;
  /** To drivers. */
  readonly calls: number;
  readonly audit?: AuditTally;
}

export async function* seedResults(range: SeedRange, start: StartImage): AsyncGenerator<SeedResult> {
  const { from, to, step, faults, driver, source, audit, replicas } = range;
  const subject = source && (await openSubject(source));
  const options = {
    start,
    faults: new Set(faults),
    replicas,
    ...(driver && { driver }),
    ...(subject && { subject }),
    ...(audit && { audit }),
  };
  for (let seed = from; seed <= to; seed += step) {
    const { violations, virtualMs, entries, audit: tally } = await simulate(seed, options);
    const calls = entries.filter(({ kind }) => kind === 'call').length;
    yield { seed, violation: violations[0], virtualMs, calls, ...(tally && { audit: tally }) };
  }
}

/** One thread per job. Results come in any order. Leaving the loop ends the threads. */
export async function* seedResultsInThreads(range: SeedRange, jobs: number): AsyncGenerator<SeedResult> {
  const file = import.meta.url.endsWith('.ts') ? './seed-worker.ts' : './seed-worker.js';
  const ready: SeedResult[] = [];
  let wake = (): void => {};
  let failure: unknown;
  let running = jobs;
  const workers = Array.from({ length: jobs }, (_, index) => {
    const own: SeedRange = { ...range, from: range.from + index, step: jobs };
    const worker = new Worker(new URL(file, import.meta.url), { workerData: own, env: threadEnvironment() });
    worker.on('message', (result: SeedResult) => {
      ready.push(result);
      wake();
    });
    worker.on('error', (error) => {
      failure = error;
      wake();
    });
    worker.on('exit', () => {
      running -= 1;
      wake();
    });
    return worker;
  });
  try {
    for (;;) {
      const result = ready.shift();
      if (result) yield result;
      else if (failure !== undefined) throw failure;
      else if (running === 0) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

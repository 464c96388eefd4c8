// The loop of every controller: takes keys from its work queue, calls the reconciler, and decides from the outcome what happens
// to the key next. Only the loop touches the queue.

import { isConflict } from '../kube/kube-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { areRead } from '../metrics/unread-metrics.ts';
import type { Clock, Log, Random } from '../ports.ts';
import type { BackoffPolicy } from '../time/backoff.ts';
import { onAbort } from '../time/on-abort.ts';
import type { Loop, Outcome, Reconcile } from './loop.ts';
import { type Item, WorkQueue } from './work-queue.ts';
import { workqueueMetrics } from './workqueue-metrics.ts';

/** What the official sidecars use for a claim, a volume, an attachment. */
export const DEFAULT_BACKOFF: BackoffPolicy = { startMs: 1000, maxMs: 300_000 };

/** Runs before the loop yields to timers and sockets; runs without I/O would otherwise starve them. */
const RUNS_PER_TURN = 32;

/** The ports of a component that runs loops. */
export interface LoopPorts {
  clock: Clock;
  random: Random;
  log: Log;
  metrics?: Metrics;
}

export interface LoopOptions extends LoopPorts {
  /** Names the loop in logs and as the `name` label of its metrics. */
  name: string;
  reconcile: Reconcile;
  /** Keys worked on at once; 1 unless given. */
  workers?: number;
  backoff?: BackoffPolicy;
}

type Ending = Outcome | { kind: 'threw'; error: unknown };

export function createLoop(options: LoopOptions): Loop {
  const { name, reconcile, workers = 1, clock, random, backoff = DEFAULT_BACKOFF } = options;
  const log = options.log.with({ loop: name });
  const queue = new WorkQueue({ clock, random, backoff }, wake);
  if (areRead(options.metrics)) queue.reportTo(workqueueMetrics(options.metrics, name, queue));
  /** While `run` runs. */
  let active: { signal: AbortSignal; drained: () => void; broken: (bug: unknown) => void } | undefined;
  let awake = false;
  let runsThisTurn = 0;

  /** Starts runs soon, never within the caller's own turn: `add` must not run a reconciler. */
  function wake(): void {
    if (awake || active === undefined) return;
    awake = true;
    if (runsThisTurn < RUNS_PER_TURN) {
      queueMicrotask(startRuns);
      return;
    }
    clock.setImmediate(() => {
      runsThisTurn = 0;
      startRuns();
    });
  }

  function startRuns(): void {
    awake = false;
    while (active !== undefined && !active.signal.aborted && queue.running < workers) {
      if (runsThisTurn >= RUNS_PER_TURN && queue.depth > 0) {
        wake();
        return;
      }
      const item = queue.take();
      if (item === undefined) return;
      runsThisTurn++;
      runOne(item, active.signal);
    }
  }

  function runOne(item: Item, signal: AbortSignal): void {
    const threw = (error: unknown): void => ended(item, { kind: 'threw', error }, signal);
    try {
      const run = reconcile(item.key, { signal, attempt: item.retries.failures(), retries: item.retries });
      run.then((outcome) => ended(item, outcome, signal), threw);
    } catch (error) {
      threw(error);
    }
  }

  function ended(item: Item, ending: Ending, signal: AbortSignal): void {
    try {
      scheduleNext(item, ending, signal);
      queue.end(item);
      if (signal.aborted && queue.running === 0) active?.drained();
      else wake();
    } catch (bug) {
      active?.broken(bug);
    }
  }

  function scheduleNext(item: Item, ending: Ending, signal: AbortSignal): void {
    const { key, retries } = item;
    const attempt = retries.failures();
    switch (ending.kind) {
      case 'done':
        retries.succeeded();
        return;
      case 'requeueAfter':
        retries.succeeded();
        log.v(4).info('Requeued', { key, delayMs: ending.delayMs, why: ending.why });
        queue.retry(key, ending.delayMs);
        return;
      case 'held':
        queue.addAfter(key, ending.delayMs);
        return;
      case 'failed': {
        const retryInMs = retries.failed(ending);
        queue.retry(key, retryInMs);
        const fields = { key, attempt, retryInMs: Math.round(retryInMs), why: ending.why };
        if (ending.quiet) log.v(4).info('Not done yet, will retry', fields);
        else log.warn('Failed, will retry', fields);
        return;
      }
      case 'threw': {
        const retryInMs = retries.failed({});
        queue.retry(key, retryInMs);
        const fields = { key, attempt, retryInMs: Math.round(retryInMs) };
        if (signal.aborted) log.v(4).info('Stopped during the run', { ...fields, err: ending.error });
        // A conflict is ordinary: the next run reads what the other writer wrote.
        else if (isConflict(ending.error))
          log.v(3).info('Conflict, will retry', { ...fields, err: ending.error });
        else log.error('Failed, will retry', ending.error, fields);
        return;
      }
      default:
        ending satisfies never;
    }
  }

  return {
    name,
    add: (key) => queue.add(key),
    addAfter: (key, delayMs) => queue.addAfter(key, delayMs),
    forget: (key) => queue.forget(key),
    depth: () => queue.depth,
    async run(signal) {
      if (active !== undefined) throw new Error(`loop ${name} is already running`);
      if (signal.aborted) return;
      const { promise: drained, resolve, reject } = Promise.withResolvers<void>();
      active = { signal, drained: resolve, broken: reject };
      const stopListening = onAbort(signal, () => {
        if (queue.running === 0) resolve();
      });
      queue.startTimer();
      wake();
      try {
        await drained;
      } finally {
        stopListening();
        queue.stopTimer();
        active = undefined;
      }
    },
  };
}

// Runs hostpath in a worker thread: starts it, forwards its log lines, stops it. A thread that dies is logged and
// restarted, as a cluster would restart the driver's pod.

import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { LogLine } from '../../../runtime/log/log.ts';
import type { Clock, Log } from '../../../runtime/ports.ts';
import { threadEnvironment } from '../../../runtime/process/thread-environment.ts';
import type { HostpathPlan } from './serve-hostpath.ts';

export interface HostpathThreadData {
  plan: HostpathPlan;
  /** The log verbosity; lines beyond it are not sent. */
  verbosity: number;
}

export type FromHostpathThread =
  | { kind: 'serving' }
  | { kind: 'failed'; error: unknown }
  | { kind: 'log'; line: LogLine };

const RESTART_MS = 1_000;
const MOST_VERBOSE = 10;
/** Most objects are short-lived messages. A V8 flag, since a flag of the process overrides resourceLimits. */
const YOUNG = '--max-semi-space-size=2';

export interface HostpathThread {
  stop(): Promise<void>;
  /** Ends it at once, as SIGKILL would; it is started again. */
  kill(): void;
}

/** Resolves once it serves. */
export async function startHostpathThread(
  plan: HostpathPlan,
  { log, clock }: { log: Log; clock: Clock },
): Promise<HostpathThread> {
  const stopping = new AbortController();
  let running = run(plan, log);
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const why = await running.ended;
      if (stopping.signal.aborted) return;
      log.error('The driver thread ended; restarting it', why);
      await clock.sleep(RESTART_MS, stopping.signal).catch(() => {});
      if (stopping.signal.aborted) return;
      running = run(plan, log);
      await running.serving.catch(() => {});
    }
  };
  await running.serving;
  const followed = follow();
  return {
    async stop() {
      stopping.abort();
      await running.stop();
      await followed;
    },
    kill: () => running.kill(),
  };
}

function run(plan: HostpathPlan, log: Log) {
  const file = import.meta.url.endsWith('.ts') ? './hostpath-worker.ts' : './hostpath-worker.js';
  const workerData: HostpathThreadData = { plan, verbosity: verbosityOf(log) };
  setFlagsFromString(YOUNG);
  const worker = new Worker(new URL(file, import.meta.url), { workerData, env: threadEnvironment() });
  const serving = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  serving.promise.catch(() => {});
  let why: unknown = new Error('the thread ended without an error');
  worker.on('message', (message: FromHostpathThread) => {
    if (message.kind === 'serving') serving.resolve();
    else if (message.kind === 'log') say(log, message.line);
    else why = message.error;
  });
  worker.on('error', (error) => {
    why = error;
  });
  worker.on('exit', () => {
    serving.reject(why);
    ended.resolve(why);
  });
  return {
    serving: serving.promise,
    /** Resolves with the reason. */
    ended: ended.promise,
    kill() {
      why = new Error('it was killed');
      void worker.terminate();
    },
    async stop() {
      worker.postMessage('stop');
      await ended.promise;
    },
  };
}

function verbosityOf(log: Log): number {
  let most = 0;
  while (most < MOST_VERBOSE && log.v(most + 1).enabled) most += 1;
  return most;
}

function say(log: Log, { level, v, message, fields }: LogLine): void {
  if (level === 'error') {
    const { err, ...rest } = fields;
    log.error(message, err, rest);
  } else if (level === 'warn') log.warn(message, fields);
  else if (v > 0) log.v(v).info(message, fields);
  else log.info(message, fields);
}

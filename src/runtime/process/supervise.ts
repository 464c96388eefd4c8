// Runs the parts of a cluster side by side in one process. A part that fails is logged and restarted with backoff, as a cluster
// would restart its pod; the others are not affected.

import type { Clock, Log, Random } from '../ports.ts';
import { backoffDelayMs } from '../time/backoff.ts';

export interface Part {
  /** `provisioner of hostpath.csi.berth`: for people. */
  readonly name: string;
  /**
   * Builds the part afresh and runs it until `signal` aborts. Calls `serving` once it does its work. Whatever it
   * rejects with before that is why it has to be started again.
   */
  run(signal: AbortSignal, serving: () => void): Promise<void>;
}

export interface SuperviseOptions {
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
}

export interface Supervised {
  /** All parts serve; rejects when told to stop before that. */
  readonly serving: Promise<void>;
  /** All parts have ended. Never rejects. */
  readonly ended: Promise<void>;
}

const RESTART = { startMs: 500, maxMs: 30_000 };
/** A part that ran for this long restarts without backoff. */
const STEADY_MS = 60_000;

export function supervise(parts: readonly Part[], options: SuperviseOptions): Supervised {
  const each = parts.map((part) => supervisePart(part, options));
  const serving = Promise.all(each.map((part) => part.serving)).then(() => {});
  // Avoids an unhandled rejection when nobody awaits it.
  serving.catch(() => {});
  return { serving, ended: Promise.all(each.map((part) => part.ended)).then(() => {}) };
}

function supervisePart(part: Part, { clock, random, log, signal }: SuperviseOptions): Supervised {
  const { promise: serving, resolve, reject } = Promise.withResolvers<void>();
  serving.catch(() => {});
  const follow = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      const startedMs = clock.monotonicMs();
      const result = await part.run(signal, resolve).then(
        () => ({ error: undefined }),
        (error: unknown) => ({ error: error ?? new Error('it gave no reason') }),
      );
      if (signal.aborted) break;
      if (clock.monotonicMs() - startedMs > STEADY_MS) failures = 0;
      const inMs = backoffDelayMs(RESTART, failures, random);
      const fields = { part: part.name, inMs };
      if (result.error === undefined) log.warn('A part ended by itself; starting it again', fields);
      else log.error('A part failed; starting it again', result.error, fields);
      await clock.sleep(inMs, signal).catch(() => {});
      failures += 1;
    }
    reject(signal.reason);
  };
  return { serving, ended: follow() };
}

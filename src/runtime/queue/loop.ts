// The contract between a loop and its reconciler. A reconciler gets a key, re-reads everything, and says how it
// ended; only the loop touches the queue, and only the loop decides when to retry. The queue and the loop are
// implemented in queue/.

import type { BackoffPolicy } from '../time/backoff.ts';
import type { Retries } from './retries.ts';

export interface Failure {
  why: string;
  /** The same attempt will not succeed soon: wait the longest time at once. */
  slow?: boolean;
  /** What it was about. Until this changes, `retries.held(inputs)` holds back runs that come before the backoff is over. */
  inputs?: string;
  /** Instead of the loop's own. */
  backoff?: BackoffPolicy;
  /** Nothing is wrong, it only takes time: said at level 4, and not as a warning. */
  quiet?: boolean;
}

/** How one run over a key ended. Throwing also means: try again with backoff. */
export type Outcome =
  | { kind: 'done' }
  | { kind: 'requeueAfter'; delayMs: number; why: string }
  /** Not a failure of the program: the loop tries again with backoff. */
  | ({ kind: 'failed' } & Failure)
  /** It came before its backoff was over: from `Retries.held`. */
  | { kind: 'held'; delayMs: number };

export const done: Outcome = { kind: 'done' };
export const requeueAfter = (delayMs: number, why: string): Outcome => ({
  kind: 'requeueAfter',
  delayMs,
  why,
});
export const failed = (failure: Failure): Outcome => ({ kind: 'failed', ...failure });

export interface Run {
  /** Aborts when the loop must stop. */
  signal: AbortSignal;
  /** Failures in a row before this run: 0 the first time and after a success. */
  attempt: number;
  /** The key's backoff, for reconcilers that are woken by their own writes or have several operations a key. */
  retries: Retries;
}

/** Called for one key at a time: never twice at once for the same key. */
export type Reconcile = (key: string, run: Run) => Promise<Outcome>;

export interface Loop {
  readonly name: string;
  /** Runs soon; an add during a run means one more run after it. Backoff of the key, if any, is kept. */
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Forgets the key's backoff, so that it may be tried at once and its next failure starts from the beginning. */
  forget(key: string): void;
  /** Works until `signal` aborts, then lets runs under way end, and resolves. Rejects only on a bug in the loop. */
  run(signal: AbortSignal): Promise<void>;
  depth(): number;
}

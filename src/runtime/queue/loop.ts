// The contract between a loop and its reconciler. A reconciler gets a key, re-reads everything, and says how it
// ended; only the loop touches the queue. The queue and the loop are implemented in queue/.

/** How one run over a key ended. Throwing means: try again with backoff. */
export type Outcome = { kind: 'done' } | { kind: 'requeueAfter'; delayMs: number; why: string };

export const done: Outcome = { kind: 'done' };
export const requeueAfter = (delayMs: number, why: string): Outcome => ({
  kind: 'requeueAfter',
  delayMs,
  why,
});

/**
 * Called for one key at a time: never twice at once for the same key. `signal` aborts when the loop must stop.
 * `attempt` counts failures in a row before this run: 0 the first time and after a success.
 */
export type Reconcile = (key: string, context: { signal: AbortSignal; attempt: number }) => Promise<Outcome>;

export interface Loop {
  readonly name: string;
  /** Runs soon; an add during a run means one more run after it. Backoff of the key, if any, is kept. */
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Forgets the key's backoff, so that its next failure starts from the beginning. */
  forget(key: string): void;
  /** Works until `signal` aborts, then lets runs under way end, and resolves. Rejects only on a bug in the loop. */
  run(signal: AbortSignal): Promise<void>;
  depth(): number;
}

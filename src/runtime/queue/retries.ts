// The backoff of one key of a loop: the only place that decides when a failure is retried. A key has one backoff, and one more
// for each operation that its reconciler distinguishes, so that one failing operation does not delay the others. A failure can name the inputs it was about: while they are the same, a run that comes early (a
// write of the reconciler itself has woken the key) has to wait; once they change, the backoff starts from the beginning.

import type { Clock, Random } from '../ports.ts';
import { type BackoffPolicy, backoffDelayMs } from '../time/backoff.ts';
import type { Outcome } from './loop.ts';

export interface RetryPorts {
  clock: Pick<Clock, 'monotonicMs'>;
  random: Pick<Random, 'next'>;
  backoff: BackoffPolicy;
}

export interface Attempted {
  /** What was tried, where a key has several things to do; the key as a whole unless given. */
  operation?: string | undefined;
  /** Everything the attempt was made from that somebody else can change. */
  inputs?: string | undefined;
}

interface Entry {
  failures: number;
  /** Attempts with the same inputs wait until then. */
  heldUntilMs: number;
  inputs: string | undefined;
}

const WHOLE = '';

export class Retries {
  readonly #ports: RetryPorts;
  #entries: Map<string, Entry> | undefined;

  constructor(ports: RetryPorts) {
    this.#ports = ports;
  }

  get isEmpty(): boolean {
    return this.#entries === undefined;
  }

  /** Failures in a row. */
  failures(operation = WHOLE): number {
    return this.#entries?.get(operation)?.failures ?? 0;
  }

  /** How long the attempt has to wait from now. 0 when the last one did not fail, or was about other inputs. */
  waitMs({ operation = WHOLE, inputs }: Attempted): number {
    const entry = this.#entries?.get(operation);
    if (entry === undefined || entry.inputs !== inputs) return 0;
    return Math.max(0, entry.heldUntilMs - this.#ports.clock.monotonicMs());
  }

  /** What a run returns that came too early; undefined when it may go on. */
  held(inputs: string): Outcome | undefined {
    const delayMs = this.waitMs({ inputs });
    return delayMs > 0 ? { kind: 'held', delayMs } : undefined;
  }

  /** Returns how long to wait; `slow` waits the longest time at once. `backoff`: instead of the loop's own. */
  failed({
    operation = WHOLE,
    inputs,
    slow = false,
    backoff = this.#ports.backoff,
  }: Attempted & { slow?: boolean | undefined; backoff?: BackoffPolicy | undefined }): number {
    const { clock, random } = this.#ports;
    this.#entries ??= new Map();
    const before = this.#entries.get(operation);
    const isAnother = inputs !== undefined && before?.inputs !== undefined && before.inputs !== inputs;
    const failures = before === undefined || isAnother ? 0 : before.failures;
    const delayMs = slow ? backoff.maxMs : backoffDelayMs(backoff, failures, random);
    // A failure of the key about nothing in particular holds nothing back, and opens nothing.
    const holds = operation !== WHOLE || inputs !== undefined;
    const held = holds ? { inputs, heldUntilMs: clock.monotonicMs() + delayMs } : undefined;
    this.#entries.set(operation, {
      inputs: before?.inputs,
      heldUntilMs: before?.heldUntilMs ?? 0,
      ...held,
      failures: failures + 1,
    });
    return delayMs;
  }

  succeeded(operation = WHOLE): void {
    this.#entries?.delete(operation);
    if (this.#entries?.size === 0) this.#entries = undefined;
  }

  /** Drops the backoffs of all other operations. */
  keepOnly(operations: ReadonlySet<string>): void {
    for (const operation of this.#entries?.keys() ?? [])
      if (operation !== WHOLE && !operations.has(operation)) this.succeeded(operation);
  }

  /** Resets all backoffs of the key. */
  clear(): void {
    this.#entries = undefined;
  }
}

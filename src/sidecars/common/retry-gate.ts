// When a claim may be tried again. The loop's own backoff is not enough: an attempt may write the claim (an intent, a status
// that comes and goes), and each write wakes it. What the user changed meanwhile opens the gate at once.

import type { Clock, Random } from '../../runtime/ports.ts';
import { type BackoffPolicy, backoffDelayMs } from '../../runtime/time/backoff.ts';

interface Entry {
  failures: number;
  untilMs: number;
  inputs: string;
}

export class RetryGate {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #policy: BackoffPolicy;

  constructor(options: { clock: Clock; random: Random; policy: BackoffPolicy }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#policy = options.policy;
  }

  /** 0 when it may be tried now. `inputs` stands for everything the attempt would be made from. */
  waitMs(id: string, inputs: string): number {
    const entry = this.#entries.get(id);
    if (entry?.inputs !== inputs) return 0;
    return Math.max(0, entry.untilMs - this.#clock.monotonicMs());
  }

  /** How long to wait now; `slow` goes to the longest wait at once. */
  failed(id: string, inputs: string, slow: boolean): number {
    const before = this.#entries.get(id);
    const failures = before?.inputs === inputs ? before.failures : 0;
    const delayMs = slow ? this.#policy.maxMs : backoffDelayMs(this.#policy, failures, this.#random);
    this.#entries.set(id, { failures: failures + 1, untilMs: this.#clock.monotonicMs() + delayMs, inputs });
    return delayMs;
  }

  forget(id: string): void {
    this.#entries.delete(id);
  }
}

// So many at once, and so many a second after that. It keeps no timer: it is asked.

import type { Clock } from '../ports.ts';

/** Sums of fractions fall short of one by a rounding error; waiting for that would be waiting for nothing. */
const ENOUGH = 1 - 1e-9;

/** A class, since there may be thousands: its methods are not kept once for each. */
export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #burst: number;
  readonly #perSecond: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(options: { clock: Pick<Clock, 'monotonicMs'>; burst: number; perSecond: number }) {
    this.#clock = options.clock;
    this.#burst = options.burst;
    this.#perSecond = options.perSecond;
    this.#tokens = options.burst;
    this.#filledAtMs = options.clock.monotonicMs();
  }

  /** Takes one if there is one. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < ENOUGH) return false;
    this.#tokens--;
    return true;
  }

  /** How long until there is one; 0: now. */
  waitMs(): number {
    this.#fill();
    return this.#tokens >= ENOUGH ? 0 : ((1 - this.#tokens) / this.#perSecond) * 1000;
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(
      this.#burst,
      this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond,
    );
    this.#filledAtMs = nowMs;
  }
}

// A token bucket: `burst` at once, then `perSecond`. It has no timer; tokens are counted when asked for.

import type { Clock } from './clock.ts';

/** Sums of fractions fall short of a whole token by a rounding error, for which nobody should wait. */
const ROUNDING = 1e-9;

/** A class because there may be thousands: methods are then shared. */
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

  /** Takes a token if there is one. */
  take(): boolean {
    this.#fill();
    if (this.#tokens < 1 - ROUNDING) return false;
    this.#tokens--;
    return true;
  }

  /** Takes a token that may not be there yet; the answer is how long until it is. */
  reserve(): number {
    this.#fill();
    this.#tokens--;
    return this.#tokens >= -ROUNDING ? 0 : (-this.#tokens / this.#perSecond) * 1000;
  }

  /** How long until there is a token; 0: now. */
  waitMs(): number {
    this.#fill();
    return this.#tokens >= 1 - ROUNDING ? 0 : ((1 - this.#tokens) / this.#perSecond) * 1000;
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

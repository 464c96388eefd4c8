// How much of what costs us more than it costs the peer (calls begun and given up at once) is put up with.

import type { Clock } from '../clock.ts';

export class Allowance {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  constructor(options: { clock: Clock; burst: number; perSecond: number }) {
    this.#clock = options.clock;
    this.#burst = options.burst;
    this.#perSecond = options.perSecond;
    this.#left = options.burst;
    this.#atMs = options.clock.monotonicMs();
  }

  /** False when it is used up. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) / 1000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

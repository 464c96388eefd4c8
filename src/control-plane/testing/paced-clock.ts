// Test support: virtual time on a real server. Time advances only when all traffic with the server is quiescent, so a
// test written for virtual time means the same here.

import { setTimeout } from 'node:timers/promises';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import type { Traffic } from './traffic.ts';

const PATIENCE_MS = 10_000;
const POLL_MS = 5;

export class PacedClock extends VirtualClock {
  readonly #traffic: Traffic;

  constructor(traffic: Traffic) {
    // The server's clock is the real one, and its timestamps are compared with this one's.
    super({ startMs: Date.now() });
    this.#traffic = traffic;
  }

  override async advance(ms: number): Promise<void> {
    const untilMs = this.monotonicMs() + ms;
    while (await this.#toNextTimer(untilMs)) {
      // Each timer may cause requests, and their responses further timers.
    }
    await super.advance(untilMs - this.monotonicMs());
  }

  override async runUntil<T>(
    awaited: PromiseLike<T> | (() => boolean),
    limitMs: number,
  ): Promise<T | undefined> {
    const untilMs = this.monotonicMs() + limitMs;
    let isOver = false;
    if (typeof awaited !== 'function') {
      const over = (): void => {
        isOver = true;
      };
      awaited.then(over, over);
    }
    const reached = typeof awaited === 'function' ? awaited : () => isOver;
    // The awaited condition may depend on the server alone, without a timer: then real time passes.
    const patienceMs = performance.now() + PATIENCE_MS;
    while (!reached() && performance.now() < patienceMs) {
      if (!(await this.#toNextTimer(untilMs, reached))) await setTimeout(POLL_MS);
    }
    return super.runUntil(awaited, Math.max(0, untilMs - this.monotonicMs()));
  }

  /** Fires the next timer due by then, once traffic is quiescent; false when there is none, or none is needed. */
  async #toNextTimer(untilMs: number, isEnough: () => boolean = () => false): Promise<boolean> {
    await this.#traffic.rest(() => super.advance(0), isEnough);
    if (isEnough()) return false;
    const nextMs = this.nextTimerMs;
    if (nextMs === undefined || nextMs > untilMs) return false;
    await super.advance(Math.max(0, nextMs - this.monotonicMs()));
    return true;
  }
}

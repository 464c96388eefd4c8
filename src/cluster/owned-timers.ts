// The timers of one component, so that they end with it: one that crashed cannot cancel them itself.

import type { Clock, Timer } from '../runtime/ports.ts';
import { sleepOn } from '../runtime/time/sleep-on.ts';

const NONE: Timer = { cancel: () => {} };

export class OwnedTimers implements Clock {
  readonly #clock: Clock;
  readonly #waiting = new Set<Timer>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  setTimeout(callback: () => void, delayMs: number): Timer {
    if (this.#isOver) return NONE;
    const inner = this.#clock.setTimeout(() => {
      this.#waiting.delete(timer);
      callback();
    }, delayMs);
    const timer: Timer = {
      cancel: () => {
        this.#waiting.delete(timer);
        inner.cancel();
      },
      unref: () => inner.unref?.(),
    };
    this.#waiting.add(timer);
    return timer;
  }

  setImmediate(callback: () => void): Timer {
    return this.#isOver ? NONE : this.#clock.setImmediate(callback);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** All of them, and those that are still to be set. */
  cancelAll(): void {
    this.#isOver = true;
    for (const timer of [...this.#waiting]) timer.cancel();
  }
}

// The machine's clock, and the only place that reads it: see ports.ts.

import type { Clock, Timer } from '../ports.ts';
import { sleepOn } from './sleep-on.ts';

/** Node fires timers with a longer delay at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: startTimer,
  sleep: (delayMs, signal) => sleepOn(realClock, delayMs, signal),
  setImmediate(callback) {
    const immediate = setImmediate(callback);
    return { cancel: () => clearImmediate(immediate) };
  },
};

function startTimer(callback: () => void, delayMs: number): Timer {
  // Rounded up, since Node truncates: a deadline must not come early.
  return new RealTimer(callback, Math.max(0, Math.ceil(delayMs) || 0));
}

class RealTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;
  #keepsProcess = true;

  constructor(callback: () => void, delayMs: number) {
    this.#arm(callback, delayMs);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  unref(): void {
    this.#keepsProcess = false;
    this.#handle?.unref();
  }

  #arm(callback: () => void, delayMs: number): void {
    const restMs = delayMs - LONGEST_TIMEOUT_MS;
    this.#handle =
      restMs <= 0
        ? setTimeout(callback, delayMs)
        : setTimeout(() => this.#arm(callback, restMs), LONGEST_TIMEOUT_MS);
    if (!this.#keepsProcess) this.#handle.unref();
  }
}

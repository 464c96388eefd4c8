// Time as the machine has it. Nothing else in the project reads it: see ports.ts.

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
  let handle: NodeJS.Timeout;
  const arm = (leftMs: number) => {
    const stepMs = Math.min(leftMs, LONGEST_TIMEOUT_MS);
    handle = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : callback()), stepMs);
  };
  // Node drops fractions; a deadline must not come early.
  arm(Math.max(0, Math.ceil(delayMs) || 0));
  return { cancel: () => clearTimeout(handle) };
}

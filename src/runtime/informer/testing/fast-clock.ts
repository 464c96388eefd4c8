// Test support: real time, a thousand times faster, for tests whose other side is a real socket. Minutes of back-off
// and silence pass in milliseconds.

import type { Clock } from '../../ports.ts';
import { realClock } from '../../time/clock.ts';

const FACTOR = 1000;

export const fastClock: Clock = {
  now: () => realClock.now(),
  monotonicMs: () => realClock.monotonicMs() * FACTOR,
  setTimeout: (callback, delayMs) => realClock.setTimeout(callback, delayMs / FACTOR),
  sleep: (delayMs, signal) => realClock.sleep(delayMs / FACTOR, signal),
  setImmediate: (callback) => realClock.setImmediate(callback),
};

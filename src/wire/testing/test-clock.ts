// Real time for the tests of this folder, which import nothing from outside it.

import type { Clock, Timer } from '../clock.ts';

export const testClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (callback, delayMs) => timer(setTimeout(callback, delayMs)),
  setImmediate(callback) {
    const handle = setImmediate(callback);
    return { cancel: () => clearImmediate(handle) };
  },
};

function timer(handle: NodeJS.Timeout): Timer {
  return { cancel: () => clearTimeout(handle), unref: () => handle.unref() };
}

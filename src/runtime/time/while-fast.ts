// Runs file-system calls synchronously while they are fast: a hop to a thread costs many times the call. After a slow call
// (a disk's journal, the kernel) calls go through threads for a while, so that the event loop does not block.

import type { Clock } from '../ports.ts';

/** Threshold of a slow call: far longer than a usual one, also on a busy machine. */
const SLOW_MS = 3;
/** How long calls go through threads: a journal commit is usually over by then. */
const WARY_MS = 50;

/** One call in its synchronous and asynchronous form; all share the state whether the last ones were slow. */
export type WhileFast = <Args extends unknown[], Result>(
  here: (...args: Args) => Result,
  inThread: (...args: Args) => Promise<Result>,
) => (...args: Args) => Promise<Result>;

export function whileFast(clock: Clock): WhileFast {
  let waryUntilMs = Number.NEGATIVE_INFINITY;
  return (here, inThread) =>
    async (...args) => {
      const startMs = clock.monotonicMs();
      if (startMs < waryUntilMs) return inThread(...args);
      try {
        return here(...args);
      } finally {
        const endMs = clock.monotonicMs();
        if (endMs - startMs > SLOW_MS) waryUntilMs = endMs + WARY_MS;
      }
    };
}

// Calls that are brief as a rule and now and then wait: for a disk's journal, for the kernel. They are made right here,
// since handing a call to a thread and hearing back costs many times the call itself; and in a thread for a while after
// one that took long, when everybody else would have to wait for the next.

import type { Clock } from '../ports.ts';

/** Far longer than such a call takes, and than a busy machine takes to come back to it, as a rule. */
const SLOW_MS = 3;
/** A journal that is being written is done by then, as a rule. */
const WARY_MS = 50;

/** One call in its two forms; what they have in common is that whoever was slow makes all of them wary. */
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

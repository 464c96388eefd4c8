// How long to wait before the next attempt: doubling from a start to a maximum, as client-go's rate limiter for
// items does, with an optional share of chance so that many keys that failed together do not come back together.

import type { Random } from '../ports.ts';

export interface BackoffPolicy {
  /** Wait after the first failure. */
  startMs: number;
  /** The doubling stops here. */
  maxMs: number;
  /** Up to this share of the wait is added at random: 0.1 makes 1 s last 1 s to 1.1 s. None unless given. */
  jitter?: number;
}

/** `failures` in a row so far, this one not counted. */
export function backoffDelayMs(
  policy: BackoffPolicy,
  failures: number,
  random: Pick<Random, 'next'>,
): number {
  const baseMs = Math.min(policy.maxMs, policy.startMs * 2 ** Math.min(failures, 1000));
  const jitter = policy.jitter ?? 0;
  return jitter === 0 ? baseMs : baseMs * (1 + jitter * random.next());
}

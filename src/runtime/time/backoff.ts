// Exponential backoff from a start to a maximum, as client-go's per-item rate limiter, with optional jitter so that keys that
// failed together are not retried together.

import type { Random } from '../ports.ts';

export interface BackoffPolicy {
  /** Wait after the first failure. */
  startMs: number;
  /** The longest wait. */
  maxMs: number;
  /** Jitter: up to this share of the wait is added, 0.1 makes 1 s last 1 s to 1.1 s. None unless given. */
  jitter?: number;
  /** Up to this much is subtracted from the wait, at random; for processes that compete for the same work. */
  spreadMs?: number;
}

/** `failures`: consecutive failures before this one. */
export function backoffDelayMs(
  policy: BackoffPolicy,
  failures: number,
  random: Pick<Random, 'next'>,
): number {
  const baseMs = Math.min(policy.maxMs, policy.startMs * 2 ** Math.min(failures, 1000));
  const { jitter = 0, spreadMs = 0 } = policy;
  const waitMs = jitter === 0 ? baseMs : baseMs * (1 + jitter * random.next());
  return spreadMs === 0 ? waitMs : Math.max(0, waitMs - spreadMs * random.next());
}

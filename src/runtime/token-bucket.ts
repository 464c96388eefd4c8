// So many at once, and so many a second after that. It keeps no timer: it is asked.

import type { Clock } from './ports.ts';

export interface TokenBucket {
  /** Takes one if there is one. */
  take(): boolean;
  /** How long until there is one; 0: now. */
  waitMs(): number;
}

export function createTokenBucket(options: {
  clock: Pick<Clock, 'monotonicMs'>;
  burst: number;
  perSecond: number;
}): TokenBucket {
  const { clock, burst, perSecond } = options;
  let tokens = burst;
  let filledAtMs = clock.monotonicMs();
  const fill = () => {
    const nowMs = clock.monotonicMs();
    tokens = Math.min(burst, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
    filledAtMs = nowMs;
  };
  /** Sums of fractions fall short of one by a rounding error; waiting for that would be waiting for nothing. */
  const enough = 1 - 1e-9;
  return {
    take() {
      fill();
      if (tokens < enough) return false;
      tokens--;
      return true;
    },
    waitMs() {
      fill();
      return tokens >= enough ? 0 : ((1 - tokens) / perSecond) * 1000;
    },
  };
}

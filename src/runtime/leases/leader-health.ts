// The health check behind `/healthz/leader-election`: it fails when this process still works as leader although its lease
// expired a while ago. The process should then be restarted.

import type { Clock } from '../ports.ts';

/** Tolerance after the lease has expired, as in the official sidecars. */
const LEADER_HEALTH_TOLERANCE_MS = 20_000;

export interface LeaderHealth {
  /** Called by the election: the lease was renewed at this monotonic time. */
  renewed(atMs: number, leaseDurationMs: number): void;
  /** Called by the election: the leader's work has ended. */
  ended(): void;
  /** Throws when unhealthy. */
  check(): void;
}

export function createLeaderHealth(options: {
  clock: Pick<Clock, 'monotonicMs'>;
  toleranceMs?: number;
}): LeaderHealth {
  const { clock, toleranceMs = LEADER_HEALTH_TOLERANCE_MS } = options;
  let leading: { renewedAtMs: number; leaseDurationMs: number } | undefined;
  return {
    renewed(renewedAtMs, leaseDurationMs) {
      leading = { renewedAtMs, leaseDurationMs };
    },
    ended() {
      leading = undefined;
    },
    check() {
      if (leading === undefined) return;
      const sinceMs = clock.monotonicMs() - leading.renewedAtMs;
      if (sinceMs <= leading.leaseDurationMs + toleranceMs) return;
      throw new Error(
        `still leading, but the lease was last renewed ${Math.round(sinceMs / 1000)} s ago and lasts ${leading.leaseDurationMs / 1000} s`,
      );
    },
  };
}

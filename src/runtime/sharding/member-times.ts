// How often a member of a group renews its Lease, and when it must have stopped. Pure.

export interface MemberTimes {
  /** Others count the member as dead when its Lease was not seen to change for so long. */
  durationMs: number;
  /** The member itself stops so long after the last renewal that was acknowledged. */
  renewDeadlineMs: number;
  renewPeriodMs: number;
}

/**
 * Short, so that the share of a replica that was killed is taken over within two seconds: the duration, a read, a
 * write and another read. See docs/decisions/0031-shares.md.
 */
export const DEFAULT_MEMBER_DURATION_MS = 1_500;

/** The deadline leaves a quarter for what is under way to end; three renewals fit into it. */
export function memberTimes(durationMs: number): MemberTimes {
  return { durationMs, renewDeadlineMs: durationMs * 0.75, renewPeriodMs: durationMs * 0.23 };
}

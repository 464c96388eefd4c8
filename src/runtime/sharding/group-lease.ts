// The single Lease of the group, as one replica needs it before each turn of its work. A replica that was silent for long
// enough counts as dead: the last of the others may have released the single Lease under it, and another program may have
// taken it, while this replica's next regular renewal is seconds away.

import { LeaseClient } from '../leases/lease-client.ts';
import { LEASE_DEFAULTS, LeadershipLostError, type RunWithLeaseOptions } from '../leases/run-with-lease.ts';
import { withDeadline } from '../time/deadline.ts';

/** The holder of the single Lease, whichever replica renewed it. */
export const GROUP_IDENTITY = 'berth-sharding-group';

/** No share is served meanwhile, so a failure is repeated soon, and a request without an answer given up soon. */
const RETRY_MS = 100;
const RETRY_MAX_MS = 1_000;
const ANSWER_MS = 2_000;

/**
 * Resolves once a write of the single Lease was acknowledged that was sent after the call; rejects with LeadershipLostError
 * when another has it. Call it when this replica's own Lease is announced: who releases the single Lease as the last one then
 * either sees that, or gets a conflict.
 */
export async function confirmGroupLease(options: RunWithLeaseOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, random } = options;
  const client = new LeaseClient({ ...LEASE_DEFAULTS, ...options, identity: GROUP_IDENTITY });
  const reason = () => new Error(`no answer about the Lease of the group within ${ANSWER_MS} ms`);
  for (let retryMs = RETRY_MS; ; retryMs = Math.min(2 * retryMs, RETRY_MAX_MS)) {
    signal.throwIfAborted();
    try {
      const attempt = await withDeadline({ clock, delayMs: ANSWER_MS, reason, parent: signal }, (inTime) =>
        client.acquire(inTime),
      );
      if (attempt.kind === 'held') return;
      // Otherwise another replica of the group was faster.
      if (attempt.waitMs > 0) throw new LeadershipLostError(`the lease is held by ${attempt.holder}`);
    } catch (error) {
      if (signal.aborted || error instanceof LeadershipLostError) throw error;
      log.warn('Could not renew the Lease of the group, will try again', { err: error, retryInMs: retryMs });
    }
    await clock.sleep(retryMs * (0.5 + random.next()), signal);
  }
}

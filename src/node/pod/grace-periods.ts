// When the grace periods of pods that are being deleted end. A period counts by the monotonic clock from the moment at which
// this node first saw the deletion, as a kubelet's does: whoever sets the wall clock neither shortens nor prolongs it.

import type { Pod } from '../../api/kinds.ts';
import type { Clock } from '../../runtime/ports.ts';

interface Period {
  readonly deletionTimestamp: string;
  readonly endMs: number;
}

export class GracePeriods {
  readonly #clock: Clock;
  readonly #periods = new Map<string, Period>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is left of the pod's grace period, zero once it is over; undefined for a pod that is not being deleted. */
  leftMs({ metadata }: Pod): number | undefined {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
    if (deletionTimestamp === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    let period = this.#periods.get(uid);
    // A second deletion may shorten it.
    if (period?.deletionTimestamp !== deletionTimestamp) {
      // After a restart of this process a part of it is over already.
      const untilMs = Date.parse(deletionTimestamp) - this.#clock.now();
      const leftMs = Math.min(Math.max(untilMs, 0), deletionGracePeriodSeconds * 1000);
      period = { deletionTimestamp, endMs: nowMs + leftMs };
      this.#periods.set(uid, period);
    }
    return Math.max(period.endMs - nowMs, 0);
  }

  forget(podUid: string): void {
    this.#periods.delete(podUid);
  }
}

// Deletes the Leases of members that have left or died. Safe long after a member is over: its Lease says nothing any more,
// and one that comes back writes it again.

import { leases } from '../../api/kinds.ts';
import { ifThere } from '../kube/if-there.ts';
import type { Member } from './member.ts';
import type { SeenPeer } from './peers.ts';

/** Counted from when the member's last record is over. */
const DELETE_AFTER_MS = 30_000;

export class OldLeases {
  readonly #member: Member;
  /** Names of Leases that this member has deleted, or tried to. */
  readonly #tried = new Set<string>();

  constructor(member: Member) {
    this.#member = member;
  }

  /** Never rejects: what cannot be deleted stays. */
  async delete(peers: Iterable<SeenPeer>, signal: AbortSignal): Promise<void> {
    const { kube, clock, log, namespace } = this.#member;
    const nowMs = clock.monotonicMs();
    for (const { name, overAtMs, isDead, isGone, record } of peers) {
      const hasStopped = isDead || record?.left === true;
      if (!hasStopped || isGone || nowMs < overAtMs + DELETE_AFTER_MS || this.#tried.has(name)) continue;
      this.#tried.add(name);
      await ifThere(kube.delete(leases, { namespace, name }, { signal })).catch((error: unknown) => {
        log.v(3).info('Could not delete the Lease of a replica that is gone', { lease: name, err: error });
      });
    }
  }
}

// Deletes the Leases of members that have left or died. Safe long after a member is over: its Lease says nothing any more,
// and one that comes back writes it again. One that comes back meanwhile keeps it.

import { leases } from '../../api/kinds.ts';
import { ifThere } from '../kube/if-there.ts';
import type { Member } from './member.ts';
import type { SeenPeer } from './peers.ts';

/** Counted from when the member's last record is over. */
const DELETE_AFTER_MS = 30_000;

export class OldLeases {
  readonly #member: Member;
  /** Leases that this member has deleted, or tried to: by name, the version. */
  readonly #tried = new Map<string, string>();

  constructor(member: Member) {
    this.#member = member;
  }

  /** Never rejects: what cannot be deleted stays. */
  async delete(peers: Iterable<SeenPeer>, signal: AbortSignal): Promise<void> {
    const { kube, clock, log, namespace } = this.#member;
    const nowMs = clock.monotonicMs();
    const seen = [...peers];
    const names = new Set(seen.map(({ name }) => name));
    for (const name of this.#tried.keys()) if (!names.has(name)) this.#tried.delete(name);
    for (const { name, uid, version, overAtMs, isDead, isGone, record } of seen) {
      const hasStopped = isDead || record?.left === true;
      if (!hasStopped || isGone || nowMs < overAtMs + DELETE_AFTER_MS) continue;
      if (this.#tried.get(name) === version) continue;
      this.#tried.set(name, version);
      const options = { preconditions: { uid, resourceVersion: version }, signal };
      await ifThere(kube.delete(leases, { namespace, name }, options)).catch((error: unknown) => {
        log.v(3).info('Could not delete the Lease of a replica that is gone', { lease: name, err: error });
      });
    }
  }
}

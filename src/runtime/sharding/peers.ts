// What this member knows of the others, from their Leases: seen by a watch, and read from the server.
//
// Guarantees: a live member is never taken for dead. A peer counts as silent when its Lease has not changed for its whole
// duration by this process' monotonic clock, and as dead when a read that began after that shows no change either. By then
// it has stopped by its own clock; see own-lease.ts. A Lease that vanishes or becomes unreadable says nothing about its
// member: only a readable record with `left` does. Wall clocks are not used.

import { type Lease, leases } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import type { Informer } from '../informer/informer.ts';
import type { Peer } from './decide-shares.ts';
import { type Member, memberLeaseName } from './member.ts';
import { groupLabel, LABEL_SHARDING_GROUP, memberRecordOf, saysTheSame } from './member-record.ts';

export interface SeenPeer extends Peer {
  /** The name of its Lease. */
  name: string;
  /** The version of the Lease. */
  version: string;
  /** Whether the log already says that its Lease cannot be read. */
  isTold: boolean;
}

export class Peers {
  readonly #member: Member;
  readonly #ownName: string;
  readonly #onChange: () => void;
  readonly #byLease = new Map<string, SeenPeer>();
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** `onChange` is called when a peer is new, is back, or publishes something else than before. */
  constructor(member: Member, onChange: () => void) {
    this.#member = member;
    this.#ownName = memberLeaseName(member);
    this.#onChange = onChange;
  }

  /** All that were seen, the silent and the dead included. */
  all(): Iterable<SeenPeer> {
    return this.#byLease.values();
  }

  /** When the last read that succeeded was sent to the server. */
  get readAtMs(): number {
    return this.#readAtMs;
  }

  /** Follows the members' Leases. */
  watch(informer: Informer<Lease>): void {
    informer.subscribe({
      added: (lease) => this.#see(lease),
      updated: (_before, lease) => this.#see(lease),
      deleted: (lease) => this.#forget(lease),
    });
  }

  /** Reads all members' Leases from the server. Those that were silent when it began, and still are, are dead. */
  async read(signal: AbortSignal): Promise<void> {
    const { kube, clock, namespace, group } = this.#member;
    const labelSelector = `${LABEL_SHARDING_GROUP}=${groupLabel(group)}`;
    const askedAtMs = clock.monotonicMs();
    const { items } = await kube.list(leases, { namespace, labelSelector, signal });
    for (const lease of items) this.#see(lease);
    this.#readAtMs = askedAtMs;
    for (const peer of this.#byLease.values()) if (askedAtMs >= peer.overAtMs) peer.isDead = true;
  }

  #see(lease: Lease): void {
    const { clock, times, id } = this.#member;
    const { name } = lease.metadata;
    if (name === this.#ownName) return;
    const known = this.#byLease.get(name);
    const record = memberRecordOf(lease);
    // The watch and the reads overtake each other: what is not newer is no sign of life.
    if (record !== undefined && known?.record !== undefined && record.seq <= known.record.seq) return;
    if (record === undefined && known?.version === lease.metadata.resourceVersion) return;
    const durationMs = Math.max(record?.durationMs ?? 0, known?.record?.durationMs ?? 0, times.durationMs);
    const isUnreadable = record === undefined;
    if (isUnreadable && !known?.isTold) this.#tellUnreadable(lease);
    const peer: SeenPeer = {
      name,
      version: lease.metadata.resourceVersion,
      id: record?.id ?? known?.id ?? name,
      record: record ?? known?.record,
      overAtMs: clock.monotonicMs() + durationMs,
      isDead: false,
      isTold: isUnreadable,
    };
    if (peer.id === id) return;
    const isBack = known !== undefined && clock.monotonicMs() >= known.overAtMs;
    if (known && !isBack && saysTheSame(known.record, peer.record)) {
      // In place, since it stays the same rival.
      Object.assign(known, peer);
      return;
    }
    this.#byLease.set(name, peer);
    this.#onChange();
  }

  /** A member whose Lease is gone counts until it is over, unless it said before that it has stopped. */
  #forget(lease: Lease): void {
    if (memberRecordOf(lease)?.left) this.#see(lease);
    const known = this.#byLease.get(lease.metadata.name);
    const isOver = known && this.#member.clock.monotonicMs() >= known.overAtMs;
    if (isOver || known?.record?.left) this.#byLease.delete(lease.metadata.name);
  }

  #tellUnreadable(lease: Lease): void {
    this.#member.log.warn(
      'The Lease of another replica was changed by hand or by another program; what it said before counts until it is renewed or over',
      { lease: keyOf(lease) },
    );
  }
}

// What this member knows of the others, from their Leases: seen by a watch, and read from the server.
//
// Guarantees: a live member is never taken for dead. A peer counts as silent when its Lease has not changed for its whole
// duration by this process' monotonic clock, and as dead when a read that began after that shows no change either. By then
// it has stopped by its own clock; see own-lease.ts. A Lease that was deleted or changed by somebody else says nothing about
// its member, which may have renewed right before that, unseen, and published another division: its duration begins anew, and
// until then everything may be its. Only a record with `left` says that a member has stopped. Wall clocks are not used.

import { type Lease, leases } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from '../informer/informer.ts';
import type { Peer } from './decide-shares.ts';
import { type Member, memberLeaseName } from './member.ts';
import {
  groupLabel,
  LABEL_SHARDING_GROUP,
  type MemberRecord,
  memberRecordOf,
  saysTheSame,
} from './member-record.ts';

export interface SeenPeer extends Peer {
  /** The name of its Lease. */
  name: string;
  /** The UID and version of the Lease. */
  uid: string;
  version: string;
  /** Its Lease was deleted, not by itself. */
  isGone: boolean;
  /** Whether the log already says that somebody else changed its Lease. */
  isTold: boolean;
}

export class Peers {
  readonly #member: Member;
  readonly #ownName: string;
  readonly #onChange: () => void;
  readonly #byLease = new Map<string, SeenPeer>();
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** What the watch shows. */
  #shown: Informer<Lease> | undefined;

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
    this.#shown = informer;
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
    const { items, metadata } = await kube.list(leases, { namespace, labelSelector, signal });
    for (const lease of items) this.#see(lease);
    this.#readAtMs = askedAtMs;
    const there = new Set(items.map((lease) => lease.metadata.name));
    for (const peer of this.#byLease.values()) {
      if (!there.has(peer.name) && !peer.isGone) {
        this.#miss(peer, { version: metadata.resourceVersion, isOutdated: true });
      } else if (askedAtMs >= peer.overAtMs) this.#bury(peer);
    }
  }

  #see(lease: Lease): void {
    const { clock, id } = this.#member;
    const { name, uid, resourceVersion } = lease.metadata;
    if (name === this.#ownName) return;
    const known = this.#byLease.get(name);
    const said = memberRecordOf(lease);
    const isNews = said !== undefined && said.seq > (known?.record?.seq ?? Number.NEGATIVE_INFINITY);
    // The watch and the reads overtake each other: what is not newer is no sign of life.
    const isOld = known !== undefined && !isNewer(resourceVersion, known.version);
    if (isOld && (known.isGone || !isNews)) return;
    if (!isNews && !known?.isTold) this.#tellEdited(lease);
    const record = isNews ? said : known?.record;
    const peer: SeenPeer = {
      name,
      uid,
      version: resourceVersion,
      id: record?.id ?? known?.id ?? name,
      record,
      isOutdated: !isNews,
      overAtMs: this.#overAtMs(said, known?.record),
      isDead: false,
      isGone: false,
      isTold: !isNews,
    };
    if (peer.id === id) return;
    const isBack = known !== undefined && clock.monotonicMs() >= known.overAtMs;
    const isSame = known?.isOutdated === peer.isOutdated && !isBack && saysTheSame(known.record, peer.record);
    if (known && isSame) {
      // In place, since it stays the same rival.
      Object.assign(known, peer);
      return;
    }
    this.#byLease.set(name, peer);
    this.#onChange();
  }

  /** The watch shows a Lease as it was when it was deleted; a list instead of a watch, as it was last seen. */
  #forget(lease: Lease): void {
    const { name, resourceVersion } = lease.metadata;
    const before = this.#byLease.get(name);
    const isLast = before !== undefined && isNewer(resourceVersion, before.version, 'older');
    if ((memberRecordOf(lease)?.seq ?? 0) > (before?.record?.seq ?? 0)) this.#see(lease);
    const known = this.#byLease.get(name);
    if (known?.isDead || known?.record?.left) this.#byLease.delete(name);
    else if (known && !known.isGone) this.#miss(known, { version: resourceVersion, isOutdated: !isLast });
  }

  /**
   * Its Lease is gone, and it did not say that it has stopped. It may have renewed until a moment ago, where a late watch
   * did not show it, so it counts for its whole duration from now.
   */
  #miss(peer: SeenPeer, { version, isOutdated }: Pick<SeenPeer, 'version' | 'isOutdated'>): void {
    peer.isGone = true;
    peer.version = version;
    peer.overAtMs = this.#overAtMs(peer.record);
    if (!isOutdated) return;
    peer.isOutdated = true;
    this.#onChange();
  }

  #bury(peer: SeenPeer): void {
    peer.isDead = true;
    // The watch will not say so any more.
    if (peer.isGone && this.#shown?.get(`${this.#member.namespace}/${peer.name}`) === undefined)
      this.#byLease.delete(peer.name);
  }

  /** Of a member that gives a sign of life now. */
  #overAtMs(...records: (MemberRecord | undefined)[]): number {
    const { clock, times } = this.#member;
    return clock.monotonicMs() + Math.max(times.durationMs, ...records.map((each) => each?.durationMs ?? 0));
  }

  #tellEdited(lease: Lease): void {
    this.#member.log.warn(
      'The Lease of another replica was changed by hand or by another program; until it is renewed or over everything may be its share',
      { lease: keyOf(lease) },
    );
  }
}

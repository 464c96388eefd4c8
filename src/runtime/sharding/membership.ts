// One member of a group: announces itself by a Lease of its own, renews it, watches the others' Leases, and answers which
// keys are this member's. decide-shares.ts decides; this file writes, reads and remembers.
//
// Guarantees: at no time do two members own a key. A member acts on a key only
//   1. while its Lease counts by its own monotonic clock: `renewDeadlineMs` after the last acknowledged write was sent;
//   2. under a division that it published, and after a read of all Leases that began after that write was acknowledged;
//   3. while no other live member's record claims the key.
// Of two members that publish and then read, at least one sees the other's record. A member that must give a key away
// publishes that it keeps it until its work on it has ended. Others count a member as dead when its Lease has not changed
// for its whole duration by their own clock, which is later than 1. A Lease that vanishes is not a member that has
// stopped; a newcomer therefore listens for one duration before it acts. Wall clocks are not used.
// Assumption: what is under way ends within `durationMs - renewDeadlineMs` once the signal aborts.

import { type Lease, leases } from '../../api/kinds.ts';
import { type Draft, keyOf } from '../../api/object.ts';
import type { Informer } from '../informer/informer.ts';
import { ifThere } from '../kube/if-there.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isAlreadyExists, isConflict, isForbidden, isNotFound } from '../kube/kube-error.ts';
import type { Clock, Log, Timer } from '../ports.ts';
import { Bell } from '../time/bell.ts';
import { withDeadline } from '../time/deadline.ts';
import { claims, decideShares, type Peer, type SharesDecision } from './decide-shares.ts';
import {
  groupLabel,
  LABEL_SHARDING_GROUP,
  type MemberRecord,
  memberLease,
  memberRecordOf,
} from './member-record.ts';
import type { MemberTimes } from './member-times.ts';
import { HASH_VERSION, ownerOf } from './rendezvous.ts';
import type { Owns, Shares } from './shares.ts';

/** A failed write is repeated sooner than the next renewal. */
const RETRY_MS = 100;
/** A division that changed while it was confirmed is confirmed again soon. */
const CONFIRM_AGAIN_MS = 10;
/** Keys that are no longer kept are published together. */
const GATHER_MS = 20;
/** Leases of members that have left or died are deleted after this time. */
const TIDY_AFTER_MS = 30_000;
/** A look at all objects is not cheap in a large cluster. */
const GAIN_EVERY_MS = 100;

export interface MembershipOptions {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  namespace: string;
  /** The name of the single Lease that the group holds. */
  group: string;
  /** Unique among the members. */
  id: string;
  times: MemberTimes;
  /** Of the members' Leases: with the label of this group. */
  leases: Informer<Lease>;
  hash?: number;
  /** Simulation: a deliberately wrong hash function. */
  ownerOf?: typeof ownerOf;
}

/** The member's Lease could not be renewed in time: others may act on its share by now. */
export class ShareLostError extends Error {
  override readonly name = 'ShareLostError';
}

interface Seen extends Peer {
  name: string;
  /** The version of the Lease. */
  version: string;
  /** Whether people were told that it cannot be read. */
  isTold: boolean;
}

interface Said {
  members: readonly string[];
  kept: readonly string[];
}

const NOTHING: Said = { members: [], kept: [] };

/** Lower case and short enough for the name of an object. */
export function memberLeaseName(group: string, id: string): string {
  const name = `${group}.${id}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');
  return name.slice(-253).replace(/^[^a-z0-9]+/, '');
}

export class Membership implements Shares {
  readonly #options: MembershipOptions & { hash: number };
  readonly #ownerOf: typeof ownerOf;
  readonly #log: Log;
  readonly #name: string;
  readonly #bell = new Bell();
  readonly #peers = new Map<string, Seen>();
  /** Keys that are worked on, with the number of runs. */
  readonly #busy = new Map<string, number>();
  /** Names of Leases that this member has deleted, or tried to. */
  readonly #tidied = new Set<string>();
  readonly #prepare: ((before: Owns, after: Owns) => Promise<void> | void)[] = [];
  readonly #gained: (() => void)[] = [];
  #lease: Lease | undefined;
  #seq = 0;
  /** What was last acknowledged by the server. */
  #published: Said = NOTHING;
  /** Under which division it acts: published, and the others' Leases were read since. */
  #confirmed: readonly string[] = [];
  /** Divisions that were sent to the server since: others may have acted by any of them. */
  #sent: (readonly string[])[] = [];
  /** A write has an unknown outcome: it may still take effect, until a later one is acknowledged. */
  #isUnsure = false;
  #needsConfirm = false;
  #isConfirming = false;
  /** Live members whose records may claim keys of this member. */
  #rivals: readonly Peer[] = [];
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #mayActAtMs = Number.POSITIVE_INFINITY;
  #isStarted = false;
  #isAnnounced = false;
  #lost = new AbortController();
  #expiry: Timer | undefined;
  #gainTimer: Timer | undefined;
  #gainedAtMs = Number.NEGATIVE_INFINITY;
  #told = '';
  term = 0;

  constructor(options: MembershipOptions) {
    this.#options = { hash: HASH_VERSION, ...options };
    this.#ownerOf = options.ownerOf ?? ownerOf;
    this.#name = memberLeaseName(options.group, options.id);
    this.#log = options.log.with({ group: options.group, member: options.id });
    options.leases.subscribe({
      added: (lease) => this.#see(lease),
      updated: (_before, lease) => this.#see(lease),
      // A Lease that is gone is no member that has stopped, unless it said so before.
      deleted: (lease) => {
        if (memberRecordOf(lease)?.left) this.#see(lease);
        const known = this.#peers.get(lease.metadata.name);
        const isOver = known && options.clock.monotonicMs() >= known.overAtMs;
        if (isOver || known?.record?.left) this.#peers.delete(lease.metadata.name);
      },
    });
  }

  /** Aborts when the Lease was not renewed in time. `rejoin` gives a new one. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  owns(key: string): boolean {
    const { clock, id, hash } = this.#options;
    if (clock.monotonicMs() >= this.#validUntilMs || this.#lost.signal.aborted) return false;
    if (this.#ownerOf(key, this.#confirmed) !== id) return false;
    for (const members of this.#sent) if (this.#ownerOf(key, members) !== id) return false;
    return !this.#rivals.some((rival) => claims(rival, key, hash));
  }

  enter(key: string): { leave(): void } | undefined {
    if (!this.owns(key)) return undefined;
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
    return {
      leave: () => {
        const left = (this.#busy.get(key) ?? 1) - 1;
        if (left > 0) this.#busy.set(key, left);
        else this.#busy.delete(key);
        if (left === 0 && this.#published.kept.includes(key)) this.#bell.ring();
      },
    };
  }

  beforeGain(prepare: (before: Owns, after: Owns) => Promise<void> | void): void {
    this.#prepare.push(prepare);
  }

  onGain(look: () => void): void {
    this.#gained.push(look);
  }

  /** The fence: throws when this member's Lease no longer counts. */
  check(): void {
    if (this.#options.clock.monotonicMs() < this.#validUntilMs) return;
    if (this.#isAnnounced) this.#lose();
    this.#lost.signal.throwIfAborted();
    throw new ShareLostError('this replica must not act yet: it is joining its group');
  }

  /** Others that are alive, as last seen. */
  get others(): readonly string[] {
    return this.#decide().rivals.map(({ id }) => id);
  }

  /** For logs and metrics: under which division it acts, and what it waits for. */
  get state() {
    return {
      members: this.#confirmed,
      published: this.#published.members,
      sent: this.#sent.length,
      kept: this.#published.kept,
      busy: [...this.#busy.keys()],
      waitsFor: this.#rivals.map(({ id, record }) => ({ id, members: record?.members, kept: record?.kept })),
      needsConfirm: this.#needsConfirm,
      isConfirming: this.#isConfirming,
      isStarted: this.#isStarted,
      isLost: this.#lost.signal.aborted,
    };
  }

  /** The group's Lease is held, and what acts is ready: this member may get a share. */
  start(): void {
    this.#isStarted = true;
    this.#bell.ring();
  }

  /** Nothing is under way any more: it starts again, as a newcomer with the same name. */
  rejoin(): void {
    this.#lost = new AbortController();
    this.#confirmed = [];
    this.#sent = [];
    this.#needsConfirm = false;
    this.#published = NOTHING;
    this.#mayActAtMs = Number.POSITIVE_INFINITY;
    this.#isAnnounced = false;
    this.#isStarted = false;
    this.#prepare.length = 0;
    this.#gained.length = 0;
    this.#busy.clear();
    this.#bell.ring();
  }

  /** Renews until `signal` aborts. Rejects when Leases cannot be written at all. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#turn(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isForbidden(error) || (isNotFound(error) && !this.#isAnnounced))
          throw noRight(error, this.#options);
        this.#log.warn('Could not write or read the Leases of the group, will try again', {
          err: error,
          retryInMs: RETRY_MS,
        });
        pauseMs = RETRY_MS;
      }
      await this.#bell.wait(this.#options.clock, pauseMs, signal);
    }
  }

  /** Says that it has stopped. Nothing of this member may be under way. */
  async leave(signal: AbortSignal): Promise<void> {
    this.#end(new ShareLostError('this replica leaves its group'));
    if (this.#lease === undefined) return;
    const record = { ...this.#record(NOTHING), left: true };
    await this.#write(record, signal);
    this.#log.info('Left the group');
  }

  /** After the last one has left: nothing remains. */
  async remove(signal: AbortSignal): Promise<void> {
    const { kube, namespace } = this.#options;
    await ifThere(kube.delete(leases, { namespace, name: this.#name }, { signal }));
  }

  /** Reads all members from the server. */
  async read(signal: AbortSignal): Promise<void> {
    const { kube, clock, namespace, group } = this.#options;
    const labelSelector = `${LABEL_SHARDING_GROUP}=${groupLabel(group)}`;
    const askedAtMs = clock.monotonicMs();
    const { items } = await kube.list(leases, { namespace, labelSelector, signal });
    for (const lease of items) this.#see(lease);
    this.#readAtMs = askedAtMs;
    for (const peer of this.#peers.values()) if (askedAtMs >= peer.overAtMs) peer.isDead = true;
  }

  /** One look at everything; how long until the next. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { clock, times } = this.#options;
    if (this.#lost.signal.aborted) {
      // Nothing acts that would have to end first.
      if (!this.#isStarted) this.rejoin();
      return times.renewPeriodMs;
    }
    const decision = this.#decide();
    this.#tell(decision);
    const { members } = decision;
    // What others claim may be out of date, where the watch is late.
    const isStale = this.#rivals.length > 0 && clock.monotonicMs() - this.#readAtMs > times.durationMs;
    this.#needsConfirm ||= decision.isInDoubt || isStale;
    const isNew = !sameMembers(members, this.#published.members) || !this.#isAnnounced;
    // From here on only what is this member's under both divisions is begun.
    if (isNew) {
      this.#sent.push(members);
      this.#needsConfirm = true;
    }
    this.#follow(decision);
    const said: Said = { members, kept: this.#keptUnder(members) };
    const dueAtMs = this.#validUntilMs - times.renewDeadlineMs + times.renewPeriodMs;
    const isDue =
      isNew ||
      this.#isUnsure ||
      said.kept.length !== this.#published.kept.length ||
      clock.monotonicMs() >= dueAtMs - 1;
    if (isDue) await this.#publish(said, signal);
    if (this.#needsConfirm && !this.#isUnsure && !this.#lost.signal.aborted) void this.#confirm(signal);
    void this.#tidy(signal);
    return this.#nextTurnMs(this.#decide());
  }

  #nextTurnMs({ nextChangeMs }: SharesDecision): number {
    const { clock, times } = this.#options;
    const nowMs = clock.monotonicMs();
    const renewAtMs = this.#validUntilMs - times.renewDeadlineMs + times.renewPeriodMs;
    const startAtMs = this.#mayActAtMs > nowMs ? this.#mayActAtMs : Number.POSITIVE_INFINITY;
    const kept = this.#published.kept.some((key) => !this.#busy.has(key));
    return Math.max(kept ? GATHER_MS : 1, Math.min(renewAtMs, nextChangeMs, startAtMs) - nowMs);
  }

  async #publish(said: Said, signal: AbortSignal): Promise<void> {
    const { clock, times } = this.#options;
    const { signal: lost } = this.#lost;
    const sentAtMs = clock.monotonicMs();
    // Half of the deadline, so that a request which is lost can be repeated in time.
    const delayMs = this.#isAnnounced ? times.renewDeadlineMs / 2 : times.durationMs;
    const reason = () => new Error(`no answer about the Lease of this replica within ${delayMs} ms`);
    this.#isUnsure = true;
    await withDeadline({ clock, delayMs, reason, parent: signal }, (inTime) =>
      this.#write(this.#record(said), inTime),
    );
    // An answer that comes after the deadline is no renewal: others may have counted this member as dead.
    if (this.#isAnnounced && clock.monotonicMs() >= this.#validUntilMs) this.#lose();
    if (lost.aborted) return;
    this.#isUnsure = false;
    this.#validUntilMs = sentAtMs + times.renewDeadlineMs;
    this.#expiry?.cancel();
    this.#expiry = clock.setTimeout(() => this.#expire(), this.#validUntilMs - clock.monotonicMs());
    this.#published = said;
    if (!this.#isAnnounced) {
      this.#isAnnounced = true;
      this.#mayActAtMs = clock.monotonicMs() + times.durationMs;
      this.#log.info('Announced this replica to its group; listening for others', {
        forMs: times.durationMs,
      });
    }
  }

  /** The published division comes into effect. Beside the renewals, which must not wait for it. */
  async #confirm(signal: AbortSignal): Promise<void> {
    const { id } = this.#options;
    const { signal: lost } = this.#lost;
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    const { members } = this.#published;
    const before = this.#confirmed;
    const sent = this.#sent.length;
    try {
      await this.read(signal);
      const owned: Owns = (key) => this.#ownerOf(key, before) === id;
      const willOwn: Owns = (key) => this.#ownerOf(key, members) === id;
      if (!sameMembers(before, members)) for (const prepare of this.#prepare) await prepare(owned, willOwn);
      const decision = this.#decide();
      if (lost.aborted || this.#isUnsure) return;
      // Something changed meanwhile: the next turn publishes that first.
      if (!sameMembers(members, this.#published.members) || !sameMembers(members, decision.members)) return;
      this.#confirmed = members;
      this.#sent.splice(0, sent);
      this.#needsConfirm = this.#sent.length > 0 || decision.isInDoubt;
      this.#follow(decision);
      if (sameMembers(before, members)) return;
      this.term += 1;
      this.#log.info('Objects are divided anew', { members: [...members], before: [...before] });
      this.#gain();
    } catch (error) {
      if (!signal.aborted) this.#log.warn('Could not take over a share yet, will try again', { err: error });
    } finally {
      this.#isConfirming = false;
      if (this.#needsConfirm) this.#options.clock.setTimeout(() => this.#bell.ring(), CONFIRM_AGAIN_MS);
    }
  }

  /** Coalesced: several changes within a moment are looked at once. */
  #gain(): void {
    if (this.#gainTimer !== undefined) return;
    const { clock } = this.#options;
    const delayMs = Math.max(0, this.#gainedAtMs + GAIN_EVERY_MS - clock.monotonicMs());
    this.#gainTimer = clock.setTimeout(() => {
      this.#gainTimer = undefined;
      this.#gainedAtMs = clock.monotonicMs();
      if (!this.#lost.signal.aborted) for (const look of this.#gained) look();
    }, delayMs);
  }

  #follow({ rivals }: SharesDecision): void {
    const { hash } = this.#options;
    const before = this.#rivals;
    // A rival with the same division claims nothing that is this member's.
    this.#rivals = rivals.filter(
      ({ record }) =>
        record === undefined ||
        record.kept.length > 0 ||
        (record.members.length > 0 &&
          (record.hash !== hash || !sameMembers(record.members, this.#confirmed))),
    );
    // What they claimed may be this member's now.
    if (before.some((rival) => !this.#rivals.includes(rival))) this.#gain();
  }

  #keptUnder(members: readonly string[]): string[] {
    const { id } = this.#options;
    return [...this.#busy.keys()].filter((key) => this.#ownerOf(key, members) !== id);
  }

  #record({ members, kept }: Said): MemberRecord {
    const { id, hash, times } = this.#options;
    this.#seq += 1;
    return { id, hash, seq: this.#seq, members, kept, durationMs: times.durationMs, left: false };
  }

  async #write(record: MemberRecord, signal: AbortSignal): Promise<void> {
    const { kube, clock, namespace, group } = this.#options;
    const draft = (known: Lease | undefined): Draft<Lease> =>
      memberLease(known, { namespace, name: this.#name, group, record, wallMs: clock.now() });
    for (let attempt = 1; ; attempt++) {
      try {
        this.#lease = this.#lease
          ? await kube.update(leases, draft(this.#lease), { signal })
          : await kube.create(leases, draft(undefined), { signal });
        return;
      } catch (error) {
        if (attempt >= 3) throw error;
        if (isNotFound(error) && this.#lease !== undefined) {
          this.#log.warn('The Lease of this replica was deleted by somebody else; writing it again');
          this.#lease = undefined;
        } else if (isConflict(error) || isAlreadyExists(error)) {
          this.#lease = await ifThere(kube.get(leases, { namespace, name: this.#name }, { signal }));
          const found = this.#lease && memberRecordOf(this.#lease);
          // The answer to an earlier write of this process may have been lost.
          if (found?.id !== record.id) {
            const what = this.#lease ? 'changed' : 'deleted';
            this.#log.warn(`The Lease of this replica was ${what} by somebody else; writing it again`);
          }
        } else throw error;
      }
    }
  }

  #decide(): SharesDecision {
    const { id, hash, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const mayAct = this.#isStarted && this.#isAnnounced && nowMs >= this.#mayActAtMs;
    return decideShares({ id, hash, peers: this.#peers.values(), nowMs, mayAct });
  }

  #see(lease: Lease): void {
    const { clock, times, id } = this.#options;
    const { name } = lease.metadata;
    if (name === this.#name) return;
    const known = this.#peers.get(name);
    const record = memberRecordOf(lease);
    if (record !== undefined && known?.record !== undefined && record.seq <= known.record.seq) return;
    if (record === undefined && known?.version === lease.metadata.resourceVersion) return;
    const durationMs = Math.max(record?.durationMs ?? 0, known?.record?.durationMs ?? 0, times.durationMs);
    const isUnreadable = record === undefined;
    if (isUnreadable && !known?.isTold) {
      this.#log.warn(
        'The Lease of another replica was changed by hand or by another program; what it said before counts until it is renewed or over',
        { lease: keyOf(lease) },
      );
    }
    const peer: Seen = {
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
    this.#peers.set(name, peer);
    this.#follow(this.#decide());
    this.#bell.ring();
  }

  #tell({ waitsFor = '' }: SharesDecision): void {
    if (waitsFor !== '' && waitsFor !== this.#told)
      this.#log.warn('Waiting for another replica', { why: waitsFor });
    this.#told = waitsFor;
  }

  #expire(): void {
    if (this.#options.clock.monotonicMs() >= this.#validUntilMs) this.#lose();
  }

  #lose(): void {
    if (this.#lost.signal.aborted) return;
    const why = `its Lease was not renewed within ${this.#options.times.renewDeadlineMs} ms`;
    this.#log.warn(
      'This replica stops acting on its share; it joins again when what is under way has ended',
      { why },
    );
    this.#end(new ShareLostError(`this replica must not act any more: ${why}`));
  }

  #end(reason: ShareLostError): void {
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#confirmed = [];
    this.#expiry?.cancel();
    this.#lost.abort(reason);
    this.#bell.ring();
  }

  /** The first member deletes what dead ones left. */
  async #tidy(signal: AbortSignal): Promise<void> {
    const { kube, clock, namespace, id } = this.#options;
    if (this.#confirmed[0] !== id) return;
    const nowMs = clock.monotonicMs();
    for (const [name, peer] of this.#peers) {
      if (!(peer.record?.left ?? false) && nowMs < peer.overAtMs) continue;
      if (nowMs < peer.overAtMs + TIDY_AFTER_MS || this.#tidied.has(name)) continue;
      this.#tidied.add(name);
      await ifThere(kube.delete(leases, { namespace, name }, { signal })).catch((error: unknown) => {
        this.#log
          .v(3)
          .info('Could not delete the Lease of a replica that is gone', { lease: name, err: error });
      });
    }
  }
}

function sameMembers(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

function saysTheSame(one: MemberRecord | undefined, other: MemberRecord | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.left === other.left &&
    one.hash === other.hash &&
    sameMembers(one.members, other.members) &&
    sameMembers(one.kept, other.kept)
  );
}

function noRight(error: unknown, { namespace }: MembershipOptions): Error {
  return new Error(
    `--sharding needs the right to get, list, watch, create, update and delete Leases in namespace ${namespace}; ` +
      'without it no replica can know what is its share, so this one does nothing',
    { cause: error },
  );
}

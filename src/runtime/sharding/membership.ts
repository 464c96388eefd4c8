// One member of a group: announces itself by a Lease of its own, renews it, watches the others' Leases, and answers which
// keys are this member's. decide-shares.ts decides; this file puts the parts together, and member-loop.ts runs them.
//
// Guarantees: at no time do two members own a key. A member acts on a key only
//   1. while its own Lease counts: own-lease.ts;
//   2. under a division that it published, after a read of all Leases that began after that: confirmation.ts;
//   3. while no other live member's record claims the key: division.ts, and peers.ts for who is alive.
// docs/decisions/0031-shares.md says why this is enough.

import type { Lease } from '../../api/kinds.ts';
import type { Informer } from '../informer/informer.ts';
import { Bell } from '../time/bell.ts';
import { Confirmation } from './confirmation.ts';
import { decideShares, type SharesDecision } from './decide-shares.ts';
import { Division } from './division.ts';
import { Gains, type Prepare } from './gains.ts';
import type { Member } from './member.ts';
import { MemberLoop } from './member-loop.ts';
import { OwnLease } from './own-lease.ts';
import { Peers } from './peers.ts';
import { HASH_VERSION, ownerOf } from './rendezvous.ts';
import type { Shares } from './shares.ts';

export interface MembershipOptions extends Omit<Member, 'hash'> {
  /** Of the members' Leases: with the label of this group. */
  leases: Informer<Lease>;
  hash?: number;
  /** Simulation: a deliberately wrong hash function. */
  ownerOf?: typeof ownerOf;
}

export class Membership implements Shares {
  readonly #member: Member;
  readonly #bell = new Bell();
  readonly #lease: OwnLease;
  readonly #peers: Peers;
  readonly #division: Division;
  readonly #confirmation: Confirmation;
  readonly #gains: Gains;
  readonly #loop: MemberLoop;
  #isStarted = false;

  constructor(options: MembershipOptions) {
    const { group, id, clock } = options;
    const log = options.log.with({ group, member: id });
    const member: Member = { hash: HASH_VERSION, ...options, log };
    this.#member = member;
    this.#lease = new OwnLease(member, () => {
      this.#division.stop();
      this.#bell.ring();
    });
    this.#gains = new Gains(clock, () => !this.#lease.lost.aborted);
    this.#division = new Division({
      id,
      hash: member.hash,
      ownerOf: options.ownerOf ?? ownerOf,
      onGivenAway: () => {
        this.#confirmation.isNeeded = true;
        this.#bell.ring();
      },
    });
    this.#peers = new Peers(member, () => {
      this.#division.follow(this.#decide().rivals);
      this.#bell.ring();
    });
    this.#confirmation = new Confirmation({
      clock,
      log,
      readMs: member.times.durationMs,
      lease: this.#lease,
      peers: this.#peers,
      division: this.#division,
      gains: this.#gains,
      decide: () => this.#decide(),
      onUnfinished: (delayMs) => clock.setTimeout(() => this.#bell.ring(), delayMs),
    });
    this.#loop = new MemberLoop({
      member,
      bell: this.#bell,
      lease: this.#lease,
      peers: this.#peers,
      division: this.#division,
      confirmation: this.#confirmation,
      decide: () => this.#decide(),
      // Before `start` nothing acts that would have to end first.
      onLost: () => {
        if (!this.#isStarted) this.rejoin();
      },
    });
    this.#peers.watch(options.leases);
  }

  /** Aborts when the Lease was not renewed in time. `rejoin` gives a new one. */
  get lost(): AbortSignal {
    return this.#lease.lost;
  }

  owns(key: string): boolean {
    return this.#lease.counts && this.#division.gives(key);
  }

  enter(key: string): { leave(): void } | undefined {
    if (!this.owns(key)) return undefined;
    this.#division.begin(key);
    return {
      leave: () => {
        const isLast = this.#division.end(key);
        if (isLast && this.#lease.published.kept.includes(key)) this.#bell.ring();
      },
    };
  }

  beforeGain(prepare: Prepare): void {
    this.#gains.preparations.push(prepare);
  }

  onGain(look: () => void): void {
    this.#gains.looks.push(look);
  }

  get term(): number {
    return this.#gains.term;
  }

  /** The fence: throws when this member's Lease no longer counts. */
  check(): void {
    this.#lease.check();
  }

  /** Others that are alive, as last seen. */
  get others(): readonly string[] {
    return this.#decide().rivals.map(({ id }) => id);
  }

  /** For logs and metrics: under which division it acts, and what it waits for. */
  get state() {
    const { published } = this.#lease;
    const { confirmed, sent, busy, rivals } = this.#division;
    return {
      members: confirmed,
      published: published.members,
      sent,
      kept: published.kept,
      busy,
      waitsFor: rivals.map(({ id, record }) => ({ id, members: record?.members, kept: record?.kept })),
      needsConfirm: this.#confirmation.isNeeded,
      isConfirming: this.#confirmation.isUnderWay,
      isStarted: this.#isStarted,
      isLost: this.#lease.lost.aborted,
    };
  }

  /** The group's Lease is held, and what acts is ready: this member may get a share. */
  start(): void {
    this.#isStarted = true;
    this.#bell.ring();
  }

  /** Nothing is under way any more: it starts again, as a newcomer with the same name. */
  rejoin(): void {
    this.#lease.rejoin();
    this.#division.rejoin();
    this.#confirmation.rejoin();
    this.#gains.clear();
    this.#isStarted = false;
    this.#bell.ring();
  }

  /** Resolves once there is a Lease of this member, which others see. `rejoin` gives a new one. */
  get announced(): Promise<void> {
    return this.#lease.announced;
  }

  /** Renews until `signal` aborts. Rejects when this member may not read or write Leases. */
  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  /** Says that it has stopped. Nothing of this member may be under way. */
  leave(signal: AbortSignal): Promise<void> {
    return this.#lease.leave(signal);
  }

  /** After the last one has left: nothing remains. */
  remove(signal: AbortSignal): Promise<void> {
    return this.#lease.remove(signal);
  }

  /** Reads all members from the server. */
  read(signal: AbortSignal): Promise<void> {
    return this.#peers.read(signal);
  }

  #decide(): SharesDecision {
    const { id, hash, clock } = this.#member;
    const { isAnnounced, listensUntilMs } = this.#lease;
    const nowMs = clock.monotonicMs();
    const mayAct = this.#isStarted && isAnnounced && nowMs >= listensUntilMs;
    return decideShares({ id, hash, peers: this.#peers.all(), nowMs, mayAct });
  }
}

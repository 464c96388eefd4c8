// Runs a member. Each turn looks at everything: decides among whom keys are divided, publishes that or renews the Lease, and
// has the published division confirmed. The next turn comes when something is due, or at a ring of the bell.

import { isForbidden, isNotFound } from '../kube/kube-error.ts';
import type { Bell } from '../time/bell.ts';
import type { Confirmation } from './confirmation.ts';
import type { SharesDecision } from './decide-shares.ts';
import type { Division } from './division.ts';
import type { Member } from './member.ts';
import { type Claim, sameMembers } from './member-record.ts';
import { OldLeases } from './old-leases.ts';
import type { OwnLease } from './own-lease.ts';
import type { Peers } from './peers.ts';

/** A failed write is repeated sooner than the next renewal. */
const RETRY_MS = 100;
/** Keys that are no longer kept are published together. */
const GATHER_MS = 20;

export interface MemberLoopParts {
  member: Member;
  bell: Bell;
  lease: OwnLease;
  peers: Peers;
  division: Division;
  confirmation: Confirmation;
  decide: () => SharesDecision;
  /** Called in each turn while the Lease is lost. */
  onLost: () => void;
}

export class MemberLoop {
  readonly #parts: MemberLoopParts;
  readonly #oldLeases: OldLeases;
  /** What the log says that this member waits for. */
  #told = '';

  constructor(parts: MemberLoopParts) {
    this.#parts = parts;
    this.#oldLeases = new OldLeases(parts.member);
  }

  /** Renews until `signal` aborts. Rejects when this member may not read or write Leases. */
  async run(signal: AbortSignal): Promise<void> {
    const { member, bell, lease } = this.#parts;
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        pauseMs = await this.#turn(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isForbidden(error) || (isNotFound(error) && !lease.isAnnounced)) throw noRight(error, member);
        member.log.warn('Could not write or read the Leases of the group, will try again', {
          err: error,
          retryInMs: RETRY_MS,
        });
        pauseMs = RETRY_MS;
      }
      await bell.wait(member.clock, pauseMs, signal);
    }
  }

  /** Returns the time until the next turn. */
  async #turn(signal: AbortSignal): Promise<number> {
    const { member, lease, peers, division, confirmation, decide, onLost } = this.#parts;
    const { id, clock, times } = member;
    if (lease.lost.aborted) {
      onLost();
      return times.renewPeriodMs;
    }
    if (confirmation.refusal !== undefined) throw confirmation.refusal;
    const decision = decide();
    this.#tell(decision);
    const { members } = decision;
    // What others claim may be out of date, where the watch is late.
    const isStale = division.rivals.length > 0 && clock.monotonicMs() - peers.readAtMs > times.durationMs;
    const isNew = !sameMembers(members, lease.published.members) || !lease.isAnnounced;
    // Before it is published: others may act by it as soon as the request is sent.
    if (isNew) division.send(members);
    confirmation.isNeeded ||= decision.isInDoubt || isStale || isNew;
    division.follow(decision.rivals);
    const claim: Claim = { members, kept: division.keptUnder(members) };
    const isDue =
      isNew ||
      lease.isUnsure ||
      claim.kept.length !== lease.published.kept.length ||
      clock.monotonicMs() >= lease.renewAtMs - 1;
    if (isDue) await lease.publish(claim, signal);
    if (confirmation.isNeeded && !lease.isUnsure && !lease.lost.aborted) void confirmation.run(signal);
    // By one member only, the first.
    if (division.confirmed[0] === id) void this.#oldLeases.delete(peers.all(), signal);
    return this.#nextTurnMs(decide());
  }

  #nextTurnMs({ nextChangeMs }: SharesDecision): number {
    const { member, lease, division } = this.#parts;
    const { renewAtMs, listensUntilMs, published } = lease;
    const nowMs = member.clock.monotonicMs();
    const startAtMs = listensUntilMs > nowMs ? listensUntilMs : Number.POSITIVE_INFINITY;
    const hasEnded = published.kept.some((key) => !division.isBusy(key));
    return Math.max(hasEnded ? GATHER_MS : 1, Math.min(renewAtMs, nextChangeMs, startAtMs) - nowMs);
  }

  #tell({ waitsFor = '' }: SharesDecision): void {
    if (waitsFor !== '' && waitsFor !== this.#told)
      this.#parts.member.log.warn('Waiting for another replica', { why: waitsFor });
    this.#told = waitsFor;
  }
}

function noRight(error: unknown, { namespace }: Member): Error {
  return new Error(
    `--sharding needs the right to get, list, watch, create, update and delete Leases in namespace ${namespace}; ` +
      'without it no replica can know what is its share, so this one does nothing',
    { cause: error },
  );
}

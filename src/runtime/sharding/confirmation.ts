// Brings the published division into effect, after caches were brought up to date with what others did until now.
//
// Guarantees: a division is confirmed only after a read of all Leases that began after its write was acknowledged. Of two
// members that publish and then read, at least one sees the other's record, and is held back by what that claims. It is not
// confirmed when anything changed meanwhile: the Lease was lost, a write has an unknown outcome, another division was
// published, or the members are no longer the same.

import type { Log } from '../ports.ts';
import type { SharesDecision } from './decide-shares.ts';
import type { Division } from './division.ts';
import type { Gains } from './gains.ts';
import { sameMembers } from './member-record.ts';
import type { OwnLease } from './own-lease.ts';
import type { Peers } from './peers.ts';
import type { Owns } from './shares.ts';

export interface ConfirmationParts {
  log: Log;
  lease: OwnLease;
  peers: Peers;
  division: Division;
  gains: Gains;
  decide: () => SharesDecision;
  /** Called at the end of a run while confirmation is still needed. */
  onUnfinished: () => void;
}

export class Confirmation {
  readonly #parts: ConfirmationParts;
  #isUnderWay = false;
  /** A division is published and not confirmed, or what is known of the others has to be read again. */
  isNeeded = false;

  constructor(parts: ConfirmationParts) {
    this.#parts = parts;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Beside the renewals, which must not wait for it. The last write must be acknowledged. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, lease, peers, division, gains, decide, onUnfinished } = this.#parts;
    const { lost } = lease;
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    const { members } = lease.published;
    const before = division.confirmed;
    const { sent } = division;
    try {
      await peers.read(signal);
      // What a rival gives away later than this is taken over by the next run.
      const { earlier } = division;
      const isGain = division.gainsBy(members);
      const owned: Owns = (key) => division.gives(key) || division.isBusy(key);
      const willOwn: Owns = (key) => division.givesUnder(members, key);
      if (isGain) for (const prepare of gains.preparations) await prepare(owned, willOwn);
      const decision = decide();
      if (lost.aborted || lease.isUnsure) return;
      // Something changed meanwhile: the next turn publishes that first.
      if (!sameMembers(members, lease.published.members) || !sameMembers(members, decision.members)) return;
      division.confirm(members, { sent, earlier });
      division.follow(decision.rivals);
      this.isNeeded = division.isUnconfirmed || decision.isInDoubt;
      if (!isGain) return;
      gains.term += 1;
      if (!sameMembers(before, members))
        log.info('Objects are divided anew', { members: [...members], before: [...before] });
      gains.announce();
    } catch (error) {
      if (!signal.aborted) log.warn('Could not take over a share yet, will try again', { err: error });
    } finally {
      this.#isUnderWay = false;
      if (this.isNeeded) onUnfinished();
    }
  }
}

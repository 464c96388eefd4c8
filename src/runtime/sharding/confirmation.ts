// Brings the published division into effect, after caches were brought up to date with what others did until now.
//
// Guarantees: a division is confirmed only after a read of all Leases that began after its write was acknowledged. Of two
// members that publish and then read, at least one sees the other's record, and is held back by what that claims. It is not
// confirmed when anything changed meanwhile: the Lease was lost, a write has an unknown outcome, another division was
// published, or the members are no longer the same.

import { isForbidden } from '../kube/kube-error.ts';
import type { Clock, Log } from '../ports.ts';
import { childSignal } from '../time/child-signal.ts';
import { withDeadline } from '../time/deadline.ts';
import { onAbort } from '../time/on-abort.ts';
import { untilAborted } from '../time/until-aborted.ts';
import type { SharesDecision } from './decide-shares.ts';
import type { Division } from './division.ts';
import type { Gains } from './gains.ts';
import { sameMembers } from './member-record.ts';
import type { OwnLease } from './own-lease.ts';
import type { Peers } from './peers.ts';
import type { Owns } from './shares.ts';

/** One that failed, doubling. Each one is a list of all Leases of the group. */
const RETRY_MS = 100;
const LONGEST_RETRY_MS = 1_000;
/** A division that changed while it was confirmed is confirmed again soon. */
const AGAIN_MS = 10;
/** A read on a connection that is dead is given up, long before the client does that. */
const LONGEST_READ_MS = 30_000;

export interface ConfirmationParts {
  clock: Clock;
  /**
   * How long a read may take: less delays a slow server's answer for ever, more leaves a share without an owner. Each one
   * that took too long doubles it for the next, until one succeeds.
   */
  readMs: number;
  log: Log;
  lease: OwnLease;
  peers: Peers;
  division: Division;
  gains: Gains;
  decide: () => SharesDecision;
  /** Called at the end of a run while confirmation is still needed: when to run it again. */
  onUnfinished: (delayMs: number) => void;
}

export class Confirmation {
  readonly #parts: ConfirmationParts;
  #isUnderWay = false;
  #readMs: number;
  #retryMs = RETRY_MS;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #refusal: unknown;
  /** A division is published and not confirmed, or what is known of the others has to be read again. */
  isNeeded = false;

  constructor(parts: ConfirmationParts) {
    this.#parts = parts;
    this.#readMs = parts.readMs;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** The server does not let this member read Leases: its answer. */
  get refusal(): unknown {
    return this.#refusal;
  }

  /** This member is a newcomer now. */
  rejoin(): void {
    this.isNeeded = false;
    this.#succeeded();
  }

  /**
   * Beside the renewals, which must not wait for it. The last write must be acknowledged. Ends with the Lease. Never rejects. Does
   * nothing while another run is under way, or for a while after one that failed.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, lease, division, gains, decide, onUnfinished } = this.#parts;
    const { lost } = lease;
    // A timer may fire up to a millisecond early.
    if (this.#isUnderWay || clock.monotonicMs() < this.#notBeforeMs - 1) return;
    this.#isUnderWay = true;
    const { members } = lease.published;
    const before = division.confirmed;
    const { sent } = division;
    // Whatever hangs must not hold up the newcomer that this member becomes.
    const term = childSignal(signal);
    const stopListening = onAbort(lost, () => term.abort(lost.reason));
    try {
      await this.#read(term.signal);
      // What a rival gives away later than this is taken over by the next run.
      const { earlier } = division;
      const isGain = division.gainsBy(members);
      const owned: Owns = (key) => division.gives(key) || division.isBusy(key);
      const willOwn: Owns = (key) => division.givesUnder(members, key);
      if (isGain) {
        for (const prepare of gains.preparations) {
          // Nothing would handle the rejection of one that is begun now.
          term.signal.throwIfAborted();
          await untilAborted(Promise.resolve(prepare(owned, willOwn)), term.signal);
        }
      }
      this.#succeeded();
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
      if (!term.signal.aborted) this.#failed(error);
    } finally {
      stopListening();
      term.detach();
      this.#isUnderWay = false;
      if (this.isNeeded) onUnfinished(Math.max(AGAIN_MS, this.#notBeforeMs - clock.monotonicMs()));
    }
  }

  #succeeded(): void {
    this.#retryMs = RETRY_MS;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  #failed(err: unknown): void {
    const { clock, log } = this.#parts;
    const retryInMs = this.#retryMs;
    log.warn('Could not take over a share yet, will try again', { err, retryInMs });
    this.#notBeforeMs = clock.monotonicMs() + retryInMs;
    this.#retryMs = Math.min(2 * retryInMs, LONGEST_RETRY_MS);
  }

  async #read(term: AbortSignal): Promise<void> {
    const { clock, peers, readMs } = this.#parts;
    const delayMs = this.#readMs;
    const reason = () => {
      this.#readMs = Math.min(2 * delayMs, LONGEST_READ_MS);
      return new Error(`no answer about the Leases of the group within ${delayMs} ms`);
    };
    try {
      await withDeadline({ clock, delayMs, reason, parent: term }, (inTime) => peers.read(inTime));
    } catch (error) {
      if (isForbidden(error)) this.#refusal = error;
      throw error;
    }
    this.#readMs = readMs;
  }
}

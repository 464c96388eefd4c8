// This member's own Lease: what it publishes, and how long that lets it act.
//
// Guarantees: the Lease counts until `renewDeadlineMs` after the last acknowledged write was sent, by this process' monotonic
// clock. Others see that write later than it was sent and wait for the whole duration, which is longer; so this member has
// stopped before they count it as dead. Once the deadline has passed, a late answer does not renew: only `rejoin` does.
// Assumption: what is under way ends within `durationMs - renewDeadlineMs` once `lost` aborts.

import type { Timer } from '../ports.ts';
import { withDeadline } from '../time/deadline.ts';
import type { Member } from './member.ts';
import { MemberLeaseWriter } from './member-lease-writer.ts';
import { type Claim, type MemberRecord, NO_CLAIM } from './member-record.ts';

/** The member's Lease could not be renewed in time: others may act on its share by now. */
export class ShareLostError extends Error {
  override readonly name = 'ShareLostError';
}

export class OwnLease {
  readonly #member: Member;
  readonly #writer: MemberLeaseWriter;
  readonly #onEnd: () => void;
  #seq = 0;
  #published: Claim = NO_CLAIM;
  #isUnsure = false;
  #isAnnounced = false;
  #announced = Promise.withResolvers<void>();
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #listensUntilMs = Number.POSITIVE_INFINITY;
  #lost = new AbortController();
  #expiry: Timer | undefined;

  /** `onEnd` is called when the Lease stops to count. */
  constructor(member: Member, onEnd: () => void) {
    this.#member = member;
    this.#writer = new MemberLeaseWriter(member);
    this.#onEnd = onEnd;
  }

  /** Whether this member may act at all. */
  get counts(): boolean {
    return this.#member.clock.monotonicMs() < this.#validUntilMs && !this.#lost.signal.aborted;
  }

  /** Aborts when the Lease was not renewed in time. `rejoin` gives a new one. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** What was last acknowledged by the server. */
  get published(): Claim {
    return this.#published;
  }

  /** A write has an unknown outcome: it may still take effect, until a later one is acknowledged. */
  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  /** The first write was acknowledged. */
  get isAnnounced(): boolean {
    return this.#isAnnounced;
  }

  /** Resolves once the first write was acknowledged; `rejoin` gives a new one. */
  get announced(): Promise<void> {
    return this.#announced.promise;
  }

  get renewAtMs(): number {
    const { renewDeadlineMs, renewPeriodMs } = this.#member.times;
    return this.#validUntilMs - renewDeadlineMs + renewPeriodMs;
  }

  /**
   * A newcomer acts on nothing before this time. Within one duration every live member writes its Lease again, also one
   * whose Lease was deleted.
   */
  get listensUntilMs(): number {
    return this.#listensUntilMs;
  }

  /** The fence: throws when the Lease no longer counts. */
  check(): void {
    if (this.#member.clock.monotonicMs() < this.#validUntilMs) return;
    if (this.#isAnnounced) this.#lose();
    this.#lost.signal.throwIfAborted();
    throw new ShareLostError('this replica must not act yet: it is joining its group');
  }

  /** Writes the Lease: announces this member, renews, or publishes another division. */
  async publish(claim: Claim, signal: AbortSignal): Promise<void> {
    const { clock, times, log } = this.#member;
    const { signal: lost } = this.#lost;
    const sentAtMs = clock.monotonicMs();
    // Half of the deadline, so that a request which is lost can be repeated in time.
    const delayMs = this.#isAnnounced ? times.renewDeadlineMs / 2 : times.durationMs;
    const reason = () => new Error(`no answer about the Lease of this replica within ${delayMs} ms`);
    this.#isUnsure = true;
    await withDeadline({ clock, delayMs, reason, parent: signal }, (inTime) =>
      this.#writer.write(this.#nextRecord(claim), inTime),
    );
    // An answer that comes after the deadline is no renewal: others may have counted this member as dead.
    if (this.#isAnnounced && clock.monotonicMs() >= this.#validUntilMs) this.#lose();
    if (lost.aborted) return;
    this.#isUnsure = false;
    this.#validUntilMs = sentAtMs + times.renewDeadlineMs;
    this.#expiry?.cancel();
    this.#expiry = clock.setTimeout(() => this.#expire(), this.#validUntilMs - clock.monotonicMs());
    this.#published = claim;
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    this.#announced.resolve();
    this.#listensUntilMs = clock.monotonicMs() + times.durationMs;
    log.info('Announced this replica to its group; listening for others', { forMs: times.durationMs });
  }

  /** After `lost`: the next `publish` announces this member as a newcomer. */
  rejoin(): void {
    this.#lost = new AbortController();
    this.#published = NO_CLAIM;
    this.#listensUntilMs = Number.POSITIVE_INFINITY;
    if (this.#isAnnounced) this.#announced = Promise.withResolvers<void>();
    this.#isAnnounced = false;
  }

  /** Says that this member has stopped. Nothing of it may be under way. */
  async leave(signal: AbortSignal): Promise<void> {
    this.#end(new ShareLostError('this replica leaves its group'));
    if (!this.#writer.isWritten) return;
    await this.#writer.write({ ...this.#nextRecord(NO_CLAIM), left: true }, signal);
    this.#member.log.info('Left the group');
  }

  remove(signal: AbortSignal): Promise<void> {
    return this.#writer.remove(signal);
  }

  #nextRecord({ members, kept }: Claim): MemberRecord {
    const { id, hash, times } = this.#member;
    this.#seq += 1;
    return { id, hash, seq: this.#seq, members, kept, durationMs: times.durationMs, left: false };
  }

  #expire(): void {
    if (this.#member.clock.monotonicMs() >= this.#validUntilMs) this.#lose();
  }

  #lose(): void {
    if (this.#lost.signal.aborted) return;
    const { log, times } = this.#member;
    const why = `its Lease was not renewed within ${times.renewDeadlineMs} ms`;
    log.warn('This replica stops acting on its share; it joins again when what is under way has ended', {
      why,
    });
    this.#end(new ShareLostError(`this replica must not act any more: ${why}`));
  }

  #end(reason: ShareLostError): void {
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#expiry?.cancel();
    this.#lost.abort(reason);
    this.#onEnd();
  }
}

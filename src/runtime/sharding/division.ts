// Which keys are this member's, and on which of them it works. State only: what is published is written by own-lease.ts, and
// confirmation.ts decides when it comes into effect.
//
// Guarantees: `gives` is true only
//   - under the confirmed division and under every division that was sent since, acknowledged or not: others may have seen
//     any of these, and begun with what it denies this member;
//   - while no rival's record claims the key, nor did so since caches were last brought up to date: what a rival did until
//     it gave the key away may be missing in them.
// A key that is worked on is in `keptUnder` every division that takes it away, so that others do not begin with it.

import { claims, type Peer } from './decide-shares.ts';
import type { Member } from './member.ts';
import { sameMembers } from './member-record.ts';
import type { ownerOf } from './rendezvous.ts';

export interface DivisionOptions extends Pick<Member, 'id' | 'hash'> {
  ownerOf: typeof ownerOf;
  /** A rival no longer claims what it claimed: the division has to be confirmed before this member takes it over. */
  onGivenAway: () => void;
}

export class Division {
  readonly #options: DivisionOptions;
  /** Keys that are worked on, with the number of runs. */
  readonly #busy = new Map<string, number>();
  #confirmed: readonly string[] = [];
  /** Divisions that were sent to the server since the confirmed one. */
  #sent: (readonly string[])[] = [];
  #rivals: readonly Peer[] = [];
  /** Rivals as they were when they claimed more, until the division is confirmed. */
  #earlier: readonly Peer[] = [];

  constructor(options: DivisionOptions) {
    this.#options = options;
  }

  /** The members under whose division this one acts: published, and the others' Leases were read since. */
  get confirmed(): readonly string[] {
    return this.#confirmed;
  }

  /** How many divisions were sent since the confirmed one. */
  get sent(): number {
    return this.#sent.length;
  }

  /** A division was sent, or rivals gave something away, since the last confirmation. */
  get isUnconfirmed(): boolean {
    return this.#sent.length > 0 || this.#earlier.length > 0;
  }

  /** Live members whose records may claim keys of this member. */
  get rivals(): readonly Peer[] {
    return this.#rivals;
  }

  /** What rivals claimed before, and this member has not taken over yet. */
  get earlier(): readonly Peer[] {
    return this.#earlier;
  }

  get busy(): readonly string[] {
    return [...this.#busy.keys()];
  }

  isBusy(key: string): boolean {
    return this.#busy.has(key);
  }

  /** Whether the key is this member's when it is divided among `members`. */
  givesUnder(members: readonly string[], key: string): boolean {
    return this.#options.ownerOf(key, members) === this.#options.id;
  }

  /** Whether this member may begin with the key, provided that its Lease counts. */
  gives(key: string): boolean {
    const { hash } = this.#options;
    if (!this.givesUnder(this.#confirmed, key)) return false;
    for (const members of this.#sent) if (!this.givesUnder(members, key)) return false;
    const mayBeRivals = (rival: Peer): boolean => claims(rival, key, hash);
    return !this.#rivals.some(mayBeRivals) && !this.#earlier.some(mayBeRivals);
  }

  begin(key: string): void {
    this.#busy.set(key, (this.#busy.get(key) ?? 0) + 1);
  }

  /** Whether nothing works on the key any more. */
  end(key: string): boolean {
    const left = (this.#busy.get(key) ?? 1) - 1;
    if (left > 0) this.#busy.set(key, left);
    else this.#busy.delete(key);
    return left === 0;
  }

  /** Keys that are worked on although `members` gives them to others. */
  keptUnder(members: readonly string[]): string[] {
    return this.busy.filter((key) => !this.givesUnder(members, key));
  }

  /** Before `members` is published: from here on only what is this member's under both divisions is begun. */
  send(members: readonly string[]): void {
    this.#sent.push(members);
  }

  /** Whether confirming `members` may give this member keys that it does not have now. */
  gainsBy(members: readonly string[]): boolean {
    if (members.length === 0) return false;
    const isOther = (each: readonly string[]): boolean => !sameMembers(each, members);
    return isOther(this.#confirmed) || this.#sent.some(isOther) || this.#earlier.length > 0;
  }

  /**
   * `members` comes into effect. The first `sent` of the divisions that were sent are over, and so is what rivals claimed
   * `earlier`: caches show what was done under them.
   */
  confirm(members: readonly string[], { sent, earlier }: { sent: number; earlier: readonly Peer[] }): void {
    this.#confirmed = members;
    this.#sent.splice(0, sent);
    this.#earlier = this.#earlier.filter((rival) => !earlier.includes(rival));
  }

  /** Takes what live members claim into account. */
  follow(live: readonly Peer[]): void {
    const before = this.#rivals;
    this.#rivals = live.filter((peer) => this.#mayClaim(peer));
    // A member that has no share and is about to get none will bring everything up to date before it does.
    if (this.#confirmed.length === 0 && this.#sent.length === 0) this.#earlier = [];
    else {
      const given = before.filter((rival) => !this.#rivals.includes(rival) && this.#mayClaim(rival));
      this.#earlier = [...this.#earlier.filter((rival) => this.#mayClaim(rival)), ...given];
      if (given.length > 0) this.#options.onGivenAway();
    }
  }

  /** A member with the same division claims nothing that is this member's. */
  #mayClaim({ record, isOutdated }: Peer): boolean {
    if (record === undefined || isOutdated || record.kept.length > 0) return true;
    const isSame = record.hash === this.#options.hash && sameMembers(record.members, this.#confirmed);
    return record.members.length > 0 && !isSame;
  }

  /** The Lease is over: nothing is this member's. */
  stop(): void {
    this.#confirmed = [];
  }

  /** Nothing is under way any more, and nothing was published as the newcomer that this member is now. */
  rejoin(): void {
    this.#confirmed = [];
    this.#sent = [];
    this.#earlier = [];
    this.#busy.clear();
  }
}

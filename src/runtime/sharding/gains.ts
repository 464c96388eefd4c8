// Tells the loops that objects may have become this member's. See beforeGain, onGain and term in shares.ts.

import type { Clock, Timer } from '../ports.ts';
import type { Owns } from './shares.ts';

/** A look at all objects is not cheap in a large cluster. */
const ANNOUNCE_EVERY_MS = 100;

export type Prepare = (before: Owns, after: Owns) => Promise<void> | void;

export class Gains {
  readonly #clock: Clock;
  readonly #mayLook: () => boolean;
  readonly preparations: Prepare[] = [];
  readonly looks: (() => void)[] = [];
  #timer: Timer | undefined;
  #announcedAtMs = Number.NEGATIVE_INFINITY;
  /** Increases with each gain. */
  term = 0;

  constructor(clock: Clock, mayLook: () => boolean) {
    this.#clock = clock;
    this.#mayLook = mayLook;
  }

  /** Coalesced: several gains within a moment are looked at once. */
  announce(): void {
    if (this.#timer !== undefined) return;
    const clock = this.#clock;
    const delayMs = Math.max(0, this.#announcedAtMs + ANNOUNCE_EVERY_MS - clock.monotonicMs());
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      this.#announcedAtMs = clock.monotonicMs();
      if (this.#mayLook()) for (const look of this.looks) look();
    }, delayMs);
  }

  /** The loops have ended; those that begin after `rejoin` register again. */
  clear(): void {
    this.preparations.length = 0;
    this.looks.length = 0;
  }
}

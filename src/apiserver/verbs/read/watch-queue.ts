// The queue of a watcher's pending events. Bounded: a watcher that falls too far behind is closed; it then lists or
// watches again from its last version.

import type { ObjectEvent } from './change-events.ts';
import type { WatchStart } from './watch.ts';

export type QueuedEvent =
  | ObjectEvent
  | { readonly kind: 'bookmark'; readonly revision: number; readonly initialEventsEnd: boolean };

/** Live events that a watcher may lag behind; the objects themselves are shared with the store's history. */
const MAX_LAG = 10_000;
const MANY = 50;

export class WatchQueue {
  #past: Iterator<ObjectEvent | undefined> | undefined;
  /** Entries before `#at` are taken, and undefined. */
  #events: (QueuedEvent | undefined)[] = [];
  #at = 0;
  #unsubscribe: () => void;
  /** Fell too far behind. */
  overflowed = false;

  /** `wake` is called when there are new events. */
  constructor(start: WatchStart, revision: number, wake: () => void) {
    this.#past = start.past;
    if (start.endsWithBookmark) this.#events.push({ kind: 'bookmark', revision, initialEventsEnd: true });
    this.#unsubscribe = start.follow((event) => {
      this.#push(event);
      wake();
    });
  }

  bookmark(revision: number): void {
    this.#push({ kind: 'bookmark', revision, initialEventsEnd: false });
  }

  /** Undefined: nothing is left. `searching`: call again, after other clients had their turn. */
  take(): QueuedEvent | 'searching' | undefined {
    if (this.#past !== undefined) {
      const { done, value } = this.#past.next();
      if (!done) return value ?? 'searching';
      this.#past = undefined;
    }
    const event = this.#events[this.#at];
    if (event === undefined) return undefined;
    this.#events[this.#at] = undefined;
    this.#at++;
    // Usually one event comes and is taken: an array for each would be most of the cost.
    if ((this.#at === this.#events.length && this.#at > MANY) || this.#at > MAX_LAG) {
      this.#events = this.#events.slice(this.#at);
      this.#at = 0;
    }
    return event;
  }

  close(): void {
    this.#unsubscribe();
    this.#past = undefined;
    this.#events = [];
    this.#at = 0;
  }

  #push(event: QueuedEvent): void {
    if (this.#events.length - this.#at >= MAX_LAG) {
      this.overflowed = true;
      this.#unsubscribe();
      return;
    }
    this.#events.push(event);
  }
}

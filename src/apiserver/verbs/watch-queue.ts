// What a watcher has still to read. Bounded: a watcher that falls too far behind is closed rather than kept in
// memory; it then lists or watches again from where it was.

import type { Change } from '../storage/history.ts';
import type { Version } from '../storage/version.ts';
import type { EventType, WatchStart } from './watch.ts';

export type QueuedEvent =
  | { readonly kind: 'object'; readonly type: EventType; readonly version: Version; readonly change?: Change }
  | { readonly kind: 'bookmark'; readonly revision: number; readonly initialEventsEnd: boolean };

/** Live events a watcher may lag behind; the objects themselves are shared with the store's history. */
const MAX_LAG = 10_000;

export class WatchQueue {
  #events: QueuedEvent[] = [];
  #at = 0;
  #initialLeft: number;
  #unsubscribe: () => void;
  /** Fell too far behind. */
  overflowed = false;

  /** `wake` is called whenever there is something new to take. */
  constructor(start: WatchStart, revision: number, wake: () => void) {
    for (const version of start.initial) this.#events.push({ kind: 'object', type: 'ADDED', version });
    if (start.endsWithBookmark) this.#events.push({ kind: 'bookmark', revision, initialEventsEnd: true });
    for (const event of start.backlog) this.#events.push({ kind: 'object', ...event });
    this.#initialLeft = this.#events.length;
    this.#unsubscribe = start.follow({
      event: (type, version, change) => {
        this.#push({ kind: 'object', type, version, change });
        wake();
      },
    });
  }

  bookmark(revision: number): void {
    this.#push({ kind: 'bookmark', revision, initialEventsEnd: false });
  }

  take(): QueuedEvent | undefined {
    const event = this.#events[this.#at];
    if (event === undefined) return undefined;
    this.#at++;
    if (this.#initialLeft > 0) this.#initialLeft--;
    if (this.#at === this.#events.length || this.#at > MAX_LAG) {
      this.#events = this.#events.slice(this.#at);
      this.#at = 0;
    }
    return event;
  }

  close(): void {
    this.#unsubscribe();
    this.#events = [];
    this.#at = 0;
  }

  #push(event: QueuedEvent): void {
    if (this.#events.length - this.#at - this.#initialLeft >= MAX_LAG) {
      this.overflowed = true;
      this.#unsubscribe();
      return;
    }
    this.#events.push(event);
  }
}

// What is said about one object for one reason. Many messages are one event: from the tenth within ten minutes on they
// are "(combined from similar events)", so that a message with a time or a number in it cannot make an event a try.

import type { HeapEntry } from '../time/timer-heap.ts';
import { type Remark, truncateMessage } from './event-record.ts';

const MOST_MESSAGES = 10;
const INTERVAL_MS = 600_000;
/** Those of the last interval, the combined one, and some from before that may come back. */
const MOST_ENTRIES = 16;

/** One event, as it is or will be on the server. */
export interface Entry extends HeapEntry {
  readonly topic: Topic;
  /** Undefined for the combined one. */
  readonly message: string | undefined;
  /** The latest: a combined event shows the newest message. */
  remark: Remark;
  count: number;
  /** Wall clock. */
  readonly firstMs: number;
  lastMs: number;
  /** On the server; undefined before it is there. */
  name: string | undefined;
  writing: boolean;
  writtenCount: number;
  writtenAtMs: number;
  pauseMs: number;
  attempts: number;
}

export class Topic {
  readonly reason: string;
  /** In the order in which they were begun. */
  readonly entries: Entry[] = [];
  /** Different messages of this interval; few, so that looking through them is quick. */
  #recent: string[] = [];
  #lastMs = 0;

  constructor(reason: string) {
    this.reason = reason;
  }

  /** The message as it is to be shown, and by which its repetitions are found. */
  wording(message: string, nowMs: number): { shown: string; key: string | undefined } {
    if (nowMs - this.#lastMs > INTERVAL_MS) this.#recent = [];
    this.#lastMs = nowMs;
    if (!this.#recent.includes(message)) this.#recent.push(message);
    if (this.#recent.length < MOST_MESSAGES) return { shown: message, key: message };
    // They must not grow with each new message; which one leaves does not matter.
    this.#recent.shift();
    return { shown: truncateMessage(`(combined from similar events): ${message}`), key: undefined };
  }

  entryOf(key: string | undefined): Entry | undefined {
    return this.entries.find((entry) => entry.message === key);
  }

  add(entry: Entry): void {
    if (this.entries.length >= MOST_ENTRIES) {
      const idle = this.entries.find(({ index, writing }) => index < 0 && !writing);
      if (idle !== undefined) this.remove(idle);
    }
    this.entries.push(entry);
  }

  remove(entry: Entry): void {
    const at = this.entries.indexOf(entry);
    if (at >= 0) this.entries.splice(at, 1);
  }
}

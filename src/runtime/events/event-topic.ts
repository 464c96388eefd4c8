// The events of one object with one reason. From the tenth different message within ten minutes on, messages are combined
// into one event, "(combined from similar events)": a message that contains a time or a number must not create an event
// per retry.

import type { HeapEntry } from '../time/timer-heap.ts';
import { type Remark, truncateMessage } from './event-record.ts';

const MOST_MESSAGES = 10;
const INTERVAL_MS = 600_000;
/** Events kept: those of the last interval, the combined one, and some older ones that may recur. */
const MOST_ENTRIES = 16;

/** One event, as it is or will be on the server. */
export interface Entry extends HeapEntry {
  readonly topic: Topic;
  /** Undefined for the combined event. */
  readonly message: string | undefined;
  /** The newest message, which a combined event shows. */
  remark: Remark;
  count: number;
  /** Wall clock. */
  readonly firstMs: number;
  lastMs: number;
  /** Its name on the server; undefined before it was written. */
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
  /** Distinct messages of this interval; few, so a linear search is fast. */
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
    // Bounded; which one is evicted does not matter.
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

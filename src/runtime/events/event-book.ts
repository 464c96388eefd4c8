// What the recorder has been told and the server has not: each event once, with its count, and when it is due to be
// written. It does no I/O.

import type { Clock } from '../ports.ts';
import { type HeapEntry, TimerHeap } from '../timer-heap.ts';
import { createTokenBucket, type TokenBucket } from '../token-bucket.ts';
import { createEventAggregator } from './event-aggregator.ts';
import { type EventSubject, type Remark, subjectKey, truncateMessage } from './event-record.ts';
import { LruMap } from './lru-map.ts';

/** client-go's: so many writes about an object at once, then one in five minutes. */
const SPAM = { burst: 25, perSecond: 1 / 300 };
/** How soon a count may be written again: doubling from the first to the last. */
const FIRST_PAUSE_MS = 10_000;
const LAST_PAUSE_MS = 300_000;
/** Warnings go before what is normal and has waited no longer than this. */
const WARNINGS_AHEAD_MS = 600_000;

export interface Entry extends HeapEntry {
  readonly key: string;
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

export type Recorded = 'due' | 'counted' | 'queue full' | 'too many for one object';

export class EventBook {
  readonly #clock: Clock;
  readonly #longestQueue: number;
  readonly #due = new TimerHeap<Entry>();
  readonly #entries: LruMap<string, Entry>;
  readonly #spam: LruMap<string, TokenBucket>;
  readonly #aggregator;

  /** `onForgotten` hears of events that were pushed out before they were written. */
  constructor(options: { clock: Clock; longestQueue: number; remembered: number; onForgotten: () => void }) {
    this.#clock = options.clock;
    this.#longestQueue = options.longestQueue;
    this.#aggregator = createEventAggregator(options);
    this.#spam = new LruMap(options.remembered);
    this.#entries = new LruMap(options.remembered, (entry) => {
      if (entry.index < 0) return;
      this.#due.remove(entry);
      options.onForgotten();
    });
  }

  get waiting(): number {
    return this.#due.size;
  }

  get nextDueMs(): number | undefined {
    return this.#due.peek()?.dueMs;
  }

  record({ subject, type, reason, message }: Remark): Recorded {
    const { remark, key } = this.#aggregator.aggregate({
      subject: nameOf(subject),
      type,
      reason,
      message: truncateMessage(message),
    });
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      // Warnings may still come in when there is no room for what is normal.
      const room = remark.type === 'Warning' ? 2 * this.#longestQueue : this.#longestQueue;
      if (this.#due.size >= room) return 'queue full';
      if (!this.#spamOf(remark).take()) return 'too many for one object';
      entry = this.#open(key, remark);
    }
    entry.remark = remark;
    entry.count++;
    entry.lastMs = this.#clock.now();
    if (entry.writing || entry.index >= 0) return 'counted';
    this.#schedule(entry);
    return 'due';
  }

  /** The next entry to write, now marked as being written. `all`: also those whose time has not come. */
  take(all = false): Entry | undefined {
    const nowMs = this.#clock.monotonicMs();
    for (;;) {
      const entry = this.#due.peek();
      if (entry === undefined || (entry.dueMs > nowMs && !all)) return undefined;
      this.#due.remove(entry);
      // The first write of an event had its token when it was recorded.
      const spam = this.#spamOf(entry.remark);
      if (entry.writtenCount === 0 || entry.attempts > 0 || all || spam.take()) {
        entry.writing = true;
        return entry;
      }
      this.#push(entry, nowMs + spam.waitMs());
    }
  }

  written(entry: Entry, name: string, count: number): void {
    const first = entry.writtenCount === 0;
    entry.name = name;
    entry.writing = false;
    entry.attempts = 0;
    entry.writtenCount = count;
    entry.writtenAtMs = this.#clock.monotonicMs();
    if (!first) entry.pauseMs = Math.min(LAST_PAUSE_MS, entry.pauseMs * 2);
    if (entry.count > count) this.#schedule(entry);
  }

  tryAgain(entry: Entry, delayMs: number): void {
    entry.writing = false;
    entry.attempts++;
    this.#push(entry, this.#clock.monotonicMs() + delayMs);
  }

  forget(entry: Entry): void {
    entry.writing = false;
    this.#due.remove(entry);
    this.#entries.delete(entry.key);
  }

  #open(key: string, remark: Remark): Entry {
    const wallMs = this.#clock.now();
    const entry: Entry = {
      key,
      remark,
      count: 0,
      firstMs: wallMs,
      lastMs: wallMs,
      name: undefined,
      writing: false,
      writtenCount: 0,
      writtenAtMs: 0,
      pauseMs: FIRST_PAUSE_MS,
      attempts: 0,
      dueMs: 0,
      sequence: 0,
      index: -1,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #schedule(entry: Entry): void {
    const nowMs = this.#clock.monotonicMs();
    if (entry.writtenCount > 0) this.#push(entry, Math.max(nowMs, entry.writtenAtMs + entry.pauseMs));
    else this.#push(entry, entry.remark.type === 'Warning' ? nowMs - WARNINGS_AHEAD_MS : nowMs);
  }

  #push(entry: Entry, dueMs: number): void {
    entry.dueMs = dueMs;
    this.#due.push(entry);
  }

  #spamOf(remark: Remark): TokenBucket {
    const key = subjectKey(remark);
    let bucket = this.#spam.get(key);
    if (bucket === undefined) {
      bucket = createTokenBucket({ clock: this.#clock, ...SPAM });
      this.#spam.set(key, bucket);
    }
    return bucket;
  }
}

/** Remarks are kept for long, and must not keep the objects that they are about. */
function nameOf({ apiVersion, kind, metadata }: EventSubject): EventSubject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

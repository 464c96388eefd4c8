// Events that were recorded and not yet written: each once, with its count and when it is due. No I/O.

import { TokenBucket } from '../../wire/token-bucket.ts';
import type { Clock } from '../ports.ts';
import { TimerHeap } from '../time/timer-heap.ts';
import { type EventSubject, type Remark, subjectKey, truncateMessage } from './event-record.ts';
import { type Entry, Topic } from './event-topic.ts';
import { LruMap } from './lru-map.ts';

/** client-go's token bucket per object: a burst, then one write in five minutes. */
const SPAM = { burst: 25, perSecond: 1 / 300 };
/** Interval between writes of a count: doubles from the first to the last. */
const FIRST_PAUSE_MS = 10_000;
const LAST_PAUSE_MS = 300_000;
/** A warning goes before a normal event, unless that has waited longer than this. */
const WARNINGS_AHEAD_MS = 600_000;

export type Recorded = 'due' | 'counted' | 'queue full' | 'too many for one object';

/** The events of one object, warnings and normal ones apart. */
interface Subject {
  readonly spam: TokenBucket;
  readonly topics: Topic[];
}

export class EventBook {
  readonly #clock: Clock;
  readonly #longestQueue: number;
  readonly #due = new TimerHeap<Entry>();
  readonly #subjects: LruMap<string, Subject>;

  /** `onForgotten` is called for events that were evicted before they were written. */
  constructor(options: { clock: Clock; longestQueue: number; remembered: number; onForgotten: () => void }) {
    this.#clock = options.clock;
    this.#longestQueue = options.longestQueue;
    this.#subjects = new LruMap(options.remembered, ({ topics }) => {
      for (const { entries } of topics) {
        for (const entry of entries) {
          if (entry.index < 0) continue;
          this.#due.remove(entry);
          options.onForgotten();
        }
      }
    });
  }

  get waiting(): number {
    return this.#due.size;
  }

  get nextDueMs(): number | undefined {
    return this.#due.peek()?.dueMs;
  }

  record({ subject: object, type, reason, message }: Remark): Recorded {
    const key = subjectKey({ subject: object, type });
    // Warnings are still accepted when there is no room for normal events.
    const room = type === 'Warning' ? 2 * this.#longestQueue : this.#longestQueue;
    const isFull = this.#due.size >= room;
    const known = this.#subjects.get(key);
    let topic = known?.topics.find((one) => one.reason === reason);
    if (topic === undefined && isFull) return 'queue full';
    const subject = known ?? this.#openSubject(key);
    if (topic === undefined) {
      topic = new Topic(reason);
      subject.topics.push(topic);
    }
    const wording = topic.wording(truncateMessage(message), this.#clock.monotonicMs());
    const remark = { subject: nameOf(object), type, reason, message: wording.shown };
    let entry = topic.entryOf(wording.key);
    if (entry === undefined) {
      if (isFull) return 'queue full';
      if (!subject.spam.take()) return 'too many for one object';
      entry = this.#open(topic, wording.key, remark);
    }
    entry.remark = remark;
    entry.count++;
    entry.lastMs = this.#clock.now();
    if (entry.writing || entry.index >= 0) return 'counted';
    this.#schedule(entry);
    return 'due';
  }

  /** The next entry to write, marked as being written. `all`: also entries that are not due yet. */
  take(all = false): Entry | undefined {
    const nowMs = this.#clock.monotonicMs();
    for (;;) {
      const entry = this.#due.peek();
      if (entry === undefined || (entry.dueMs > nowMs && !all)) return undefined;
      this.#due.remove(entry);
      // The first write of an event took its token when it was recorded.
      const { spam } = this.#subjectOf(entry.remark);
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
    entry.topic.remove(entry);
  }

  #open(topic: Topic, message: string | undefined, remark: Remark): Entry {
    const wallMs = this.#clock.now();
    const entry: Entry = {
      topic,
      message,
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
    topic.add(entry);
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

  #subjectOf(remark: Remark): Subject {
    const key = subjectKey(remark);
    return this.#subjects.get(key) ?? this.#openSubject(key);
  }

  #openSubject(key: string): Subject {
    const subject = { spam: new TokenBucket({ clock: this.#clock, ...SPAM }), topics: [] };
    this.#subjects.set(key, subject);
    return subject;
  }
}

/** Entries live long, and must not keep the objects that they are about in memory. */
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

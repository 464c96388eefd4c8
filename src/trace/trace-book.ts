// Keeps the last trace entries in memory and streams new ones.

import type { Clock } from '../runtime/ports.ts';
import { linksOf } from './about-call.ts';
import type { CsiEntry, TraceEntry, Unnumbered } from './trace-entry.ts';

/** More than a hundred lives of volumes: what anybody looks at, in a few megabytes. */
const LONGEST = 5_000;
/** Added before the oldest are dropped all at once: dropping one on each addition would move the whole list. */
const SLACK = 1_000;

/** Formats a recorded change; undefined when nothing relevant changed. */
export type Tell = () => Unnumbered | undefined;

type Call = Pick<CsiEntry, 'by' | 'method' | 'request'>;

interface Noted {
  readonly seq: number;
  readonly tell: Tell;
}

export class TraceBook {
  readonly #clock: Clock;
  readonly #wallMs: number;
  readonly #monotonicMs: number;
  readonly #limit: number;
  readonly #listeners = new Set<(entry: TraceEntry) => void>();
  readonly #underWay = new Map<Call, number>();
  #noted: Noted[] = [];
  #seq = 0;

  constructor(options: { clock: Clock; limit?: number }) {
    this.#clock = options.clock;
    this.#wallMs = options.clock.now();
    this.#monotonicMs = options.clock.monotonicMs();
    this.#limit = options.limit ?? LONGEST;
  }

  /** The time that entries carry: with fractions, and never going back. */
  nowMs(): number {
    return this.#wallMs + (this.#clock.monotonicMs() - this.#monotonicMs);
  }

  /** Formatted lazily: most entries are never read. */
  note(tell: Tell): void {
    const noted = { seq: this.#seq++, tell };
    this.#noted.push(noted);
    if (this.#noted.length >= this.#limit + SLACK) this.#noted = this.#noted.slice(-this.#limit);
    if (this.#listeners.size === 0) return;
    for (const entry of entryOf(noted)) for (const listener of this.#listeners) listener(entry);
  }

  /** Puts entries of an earlier run before all others. To be called before anything is noted. */
  restore(entries: readonly TraceEntry[]): void {
    for (const entry of entries) this.#noted.push({ seq: this.#seq++, tell: () => entry });
  }

  /** Those with a higher number, in order of recording, and the last number there is. */
  after(seq: number): { entries: TraceEntry[]; last: number } {
    const entries = this.#noted.filter((noted) => noted.seq > seq).flatMap(entryOf);
    return { entries, last: this.#seq - 1 };
  }

  /** A call that has begun; it becomes an entry when it ends. */
  begin(call: Call): (end: { code: string; error?: string }) => void {
    const atMs = this.nowMs();
    this.#underWay.set(call, atMs);
    return (end) => {
      if (!this.#underWay.delete(call)) return;
      const durationMs = this.nowMs() - atMs;
      this.note(() => ({ ...callEntry(call, atMs), ...end, durationMs }));
    };
  }

  /** By time of beginning, calls under way last. */
  entries(): TraceEntry[] {
    const ended = this.#noted.flatMap(entryOf).sort((a, b) => a.atMs - b.atMs || a.seq - b.seq);
    const underWay = [...this.#underWay].map(([call, atMs]) => ({ ...callEntry(call, atMs), seq: -1 }));
    return [...ended, ...underWay];
  }

  /** Calls back with each entry that is added from now on. Returns unsubscribe. */
  follow(listener: (entry: TraceEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function entryOf({ seq, tell }: Noted): TraceEntry[] {
  const entry = tell();
  return entry === undefined ? [] : [{ ...entry, seq }];
}

function callEntry(call: Call, atMs: number): Omit<CsiEntry, 'seq'> {
  return { kind: 'csi', ...call, atMs, ...linksOf(call.request) };
}

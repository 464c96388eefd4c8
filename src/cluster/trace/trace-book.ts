// Keeps the last entries of everything that happens in a cluster, in memory, and hands new ones to those who follow.

import type { Clock } from '../../runtime/ports.ts';
import type { CsiEntry, TraceEntry, Unnumbered } from './trace-entry.ts';

/** More than a hundred lives of volumes: what anybody looks at, in a few megabytes. */
const LONGEST = 5_000;
/** Added before the oldest are dropped all at once: dropping one on each addition would move the whole list. */
const SLACK = 1_000;

export class TraceBook {
  readonly #clock: Clock;
  readonly #wallMs: number;
  readonly #monotonicMs: number;
  readonly #limit: number;
  readonly #listeners = new Set<(entry: TraceEntry) => void>();
  readonly #underWay = new Set<CsiEntry>();
  #entries: TraceEntry[] = [];
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

  add(entry: Unnumbered): void {
    // Not a copy: whoever adds an entry has just made it.
    const numbered = Object.assign(entry, { seq: this.#seq++ }) as TraceEntry;
    this.#entries.push(numbered);
    if (this.#entries.length >= this.#limit + SLACK) this.#entries = this.#entries.slice(-this.#limit);
    for (const listener of this.#listeners) listener(numbered);
  }

  /** A call that has begun; it becomes an entry when it ends. */
  begin(call: Omit<CsiEntry, 'seq' | 'atMs' | 'kind'>): (end: { code: string; error?: string }) => void {
    const entry: CsiEntry = { ...call, kind: 'csi', seq: -1, atMs: this.nowMs() };
    this.#underWay.add(entry);
    return (end) => {
      if (!this.#underWay.delete(entry)) return;
      this.add({ ...entry, ...end, durationMs: this.nowMs() - entry.atMs });
    };
  }

  /** By time of beginning, calls under way last. */
  entries(): TraceEntry[] {
    const ended = this.#entries.toSorted((a, b) => a.atMs - b.atMs || a.seq - b.seq);
    return [...ended, ...this.#underWay];
  }

  /** Calls back with each entry that is added from now on. Returns unsubscribe. */
  follow(listener: (entry: TraceEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

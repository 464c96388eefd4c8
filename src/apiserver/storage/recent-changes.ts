// The recent history, for watches that start at an older revision and for pages of a list that must show one revision.
// Bounded by count, bytes and age; revisions older than what was dropped are compacted (410 Expired).

import type { Version } from './version.ts';

/** One committed change of one object. */
export interface Change {
  readonly revision: number;
  readonly type: string;
  readonly key: string;
  /** Undefined when this change created the object. */
  readonly before: Version | undefined;
  /** Undefined when this change deleted the object. */
  readonly after: Version | undefined;
  /** The last state, with this change's revision: `after`, or the final state of a deleted object. */
  readonly last: Version;
  readonly atMs: number;
  /** Wire forms of this change, encoded once and shared by all watchers; dropped once `last` is settled. */
  encoded: Map<string, string> | undefined;
}

export interface ChangeLimits {
  maxChanges: number;
  maxBytes: number;
  /** Changes older than this are dropped even when there is room. */
  maxAgeMs: number;
}

/** Five minutes, as kube-apiserver keeps in etcd by default; the other limits bound memory under load. */
export const defaultChangeLimits: ChangeLimits = {
  maxChanges: 20_000,
  maxBytes: 32 * 1024 * 1024,
  maxAgeMs: 5 * 60_000,
};

export class RecentChanges {
  readonly #limits: ChangeLimits;
  readonly #all = new Deque();
  readonly #byType = new Map<string, Deque>();
  #bytes = 0;
  /** Reads and watches are possible from this revision on. */
  compactedRevision: number;

  constructor(limits: ChangeLimits, startRevision: number) {
    this.#limits = limits;
    this.compactedRevision = startRevision;
  }

  push(change: Change): void {
    this.#all.push(change);
    this.#bytes += sizeOf(change);
    let ofType = this.#byType.get(change.type);
    if (ofType === undefined) {
      ofType = new Deque();
      this.#byType.set(change.type, ofType);
    }
    ofType.push(change);
    this.#compact(change.atMs);
  }

  /** Changes of a kind after `revision`, oldest first. */
  *since(type: string, revision: number): Generator<Change> {
    const changes = this.#byType.get(type);
    if (changes === undefined) return;
    for (let at = changes.firstAfter(revision); at < changes.end; at++) yield changes.at(at);
  }

  #compact(nowMs: number): void {
    const { maxChanges, maxBytes, maxAgeMs } = this.#limits;
    for (let first = this.#all.first; first !== undefined; first = this.#all.first) {
      const fits = this.#all.size <= maxChanges && this.#bytes <= maxBytes && nowMs - first.atMs <= maxAgeMs;
      if (fits) return;
      this.#dropFirst();
    }
  }

  #dropFirst(): void {
    const change = this.#all.shift();
    if (change === undefined) return;
    this.#byType.get(change.type)?.shift();
    this.#bytes -= sizeOf(change);
    this.compactedRevision = change.revision;
  }
}

function sizeOf(change: Change): number {
  return change.last.size + 200;
}

/** A queue by revision: amortized constant push and shift, binary search. */
class Deque {
  #items: Change[] = [];
  #start = 0;

  get size(): number {
    return this.#items.length - this.#start;
  }

  get end(): number {
    return this.#items.length;
  }

  get first(): Change | undefined {
    return this.#items[this.#start];
  }

  at(index: number): Change {
    return this.#items[index] as Change;
  }

  push(change: Change): void {
    this.#items.push(change);
  }

  shift(): Change | undefined {
    const change = this.#items[this.#start];
    if (change === undefined) return undefined;
    this.#start++;
    if (this.#start > 64 && this.#start * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#start);
      this.#start = 0;
    }
    return change;
  }

  firstAfter(revision: number): number {
    let low = this.#start;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

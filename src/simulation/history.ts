// Everything that happened in one simulated world, in order: API changes, calls to drivers, what the storage did, faults,
// users, processes. Checkers read this and nothing else; written out as text it is what two runs of a seed must agree on.

import type { KubeObject } from '../api/object.ts';

/** The fields of a CSI request that checkers and traces need. Of secrets only the names of their owners are kept. */
export interface CallFacts {
  readonly method: string;
  readonly driver: string;
  /** The ID of the volume, snapshot or group that it is about, or the name asked for by one that creates it. */
  readonly volume: string;
  readonly node: string;
  readonly path: string;
  readonly staging: string;
  /** Values of the secrets that came with it. */
  readonly secrets: readonly string[];
  /** Everything else as canonical text. */
  readonly rest: string;
  /** Of CreateVolume the snapshot that it restores, of a snapshot's creation the volumes that it is of. */
  readonly sources: readonly string[];
}

export type Entry = { readonly atMs: number } & (
  | {
      readonly kind: 'api';
      readonly plural: string;
      readonly key: string;
      readonly before: KubeObject | undefined;
      readonly after: KubeObject | undefined;
    }
  /** A component asked the API server for something that changes it. */
  | {
      readonly kind: 'write';
      readonly actor: string;
      readonly verb: string;
      readonly plural: string;
      readonly key: string;
      readonly outcome: string;
    }
  /** A component called a driver. `delivered` follows if it reached the driver, `returned` if the caller got an answer. */
  | { readonly kind: 'call'; readonly id: number; readonly actor: string; readonly call: CallFacts }
  | { readonly kind: 'delivered'; readonly id: number; readonly actor: string; readonly call: CallFacts }
  | {
      readonly kind: 'returned';
      readonly id: number;
      readonly actor: string;
      readonly call: CallFacts;
      readonly code: string;
    }
  /** The storage changed. */
  | {
      readonly kind: 'storage';
      readonly driver: string;
      readonly change: StorageChange;
      readonly volume: string;
      readonly node: string;
      readonly path: string;
      readonly name: string;
      /** Where a volume is made or grows. */
      readonly gib?: number;
      /** Where it is published: it cannot be written there, by its device either. */
      readonly isReadOnly?: boolean;
      /** The snapshot that a volume is made from; empty if from none. */
      readonly source?: string;
    }
  /** A snapshot of the storage was cut or deleted. */
  | {
      readonly kind: 'snapshot';
      readonly driver: string;
      readonly change: 'cut' | 'deleted';
      readonly snapshot: string;
      /** The volume that it is of. */
      readonly source: string;
      /** The group that it is a member of, or empty. */
      readonly group: string;
      readonly name: string;
      /** It can be used from then on. */
      readonly readyAtMs: number;
    }
  | { readonly kind: 'fault'; readonly fault: string; readonly where: string }
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'process'; readonly process: string; readonly what: string }
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'violation'; readonly rule: string; readonly text: string }
);

export type StorageChange =
  | 'created'
  | 'deleted'
  | 'grown'
  | 'attached'
  | 'detached'
  | 'staged'
  | 'unstaged'
  | 'published'
  | 'unpublished'
  /** Its filesystem is as large as the volume. */
  | 'expanded'
  | 'rebooted';

/**
 * Faults; then none, and everything must become as users want it, again once a silent node is back; then users delete
 * everything and nothing may stay.
 */
export type Phase = 'faults' | 'converge' | 'return' | 'delete' | 'end';

/** Without its time, which the history gives it. */
export type News = Entry extends infer E ? (E extends Entry ? Omit<E, 'atMs'> : never) : never;

export interface Violation {
  readonly rule: string;
  readonly text: string;
  readonly atMs: number;
}

export class History {
  readonly entries: Entry[] = [];
  readonly violations: Violation[] = [];
  readonly #nowMs: () => number;
  readonly #observers: ((entry: Entry) => void)[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  observe(observer: (entry: Entry) => void): void {
    this.#observers.push(observer);
  }

  /** Keeps the entry itself, not a copy. */
  add(news: News): void {
    const entry = news as News & { atMs: number };
    entry.atMs = this.#nowMs();
    this.entries.push(entry as Entry);
    for (const observer of this.#observers) observer(entry as Entry);
  }

  violate(rule: string, text: string): void {
    this.violations.push({ rule, text, atMs: this.#nowMs() });
    this.add({ kind: 'violation', rule, text });
  }
}

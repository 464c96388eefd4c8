// The state of the API server: all objects in memory, one revision counter, and the order in which changes become
// real. A write is judged against the newest pending state of its object, joins the batch of this turn of the event
// loop, is made durable with it, and only then is seen by readers and watchers, in revision order.

import type { KubeObject } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { type Change, History, type HistoryLimits } from './history.ts';
import { type Journal, type JournalRecord, RetryableCommitError } from './journal.ts';
import { OrderedVersions } from './ordered-versions.ts';
import { Version } from './version.ts';

/** What a write decides once it has seen the current state. */
export type Plan =
  | { readonly kind: 'put'; readonly object: KubeObject }
  /** `object` is the last state, as watchers will see it. */
  | { readonly kind: 'remove'; readonly object: KubeObject }
  /** Nothing changes; the caller gets the current version. */
  | { readonly kind: 'keep'; readonly version: Version };

export type Decide = (current: Version | undefined) => Plan;
export type ChangeListener = (change: Change) => void;

/** A commit failed: nothing of its batch happened. */
export class CommitError extends KubeError {
  constructor(message: string) {
    super({ reason: 'InternalError', code: 500, message: `Internal error occurred: ${message}` });
  }
}

/** The state of a store at one moment. Versions never change, so any number of stores can start from one image. */
export interface StoreImage {
  readonly revision: number;
  readonly versions: ReadonlyMap<string, readonly Version[]>;
}

export interface StoreOptions {
  clock: Clock;
  log: Log;
  /** What it holds at the start, beside what the journal does. */
  image?: StoreImage;
  /** Absent: memory only, every write committed before `write` returns. */
  journal?: Journal;
  history: HistoryLimits;
  /** Freezes every object deeply, so that whoever changes a shared one fails at once. For tests. */
  freeze: boolean;
}

interface Pending {
  readonly change: Change;
  resolve(version: Version): void;
  reject(error: Error): void;
  /** Writes that changed nothing, on top of this one. */
  readonly followers: { resolve(): void; reject(error: Error): void }[];
}

class Collection {
  readonly versions = new Map<string, Version>();
  readonly ordered = new OrderedVersions();
  /** Newest uncommitted state of the keys that have one; undefined when that is "removed". */
  readonly heads = new Map<string, { change: Change }>();
  readonly listeners = new Set<ChangeListener>();
}

export class Store {
  readonly #options: StoreOptions;
  readonly #collections = new Map<string, Collection>();
  readonly history: History;
  #revision: number;
  #headRevision: number;
  #queue: Pending[] = [];
  /** What is being made durable now; the queue waits for it. */
  #committing: readonly Pending[] = [];
  #flushing = false;
  readonly #afterFlush: (() => void)[] = [];
  #flushScheduled = false;
  #failure: Error | undefined;
  #failedForGood = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#revision = Math.max(1, options.journal?.revision ?? 1, options.image?.revision ?? 1);
    this.#headRevision = this.#revision;
    for (const [type, versions] of options.image?.versions ?? []) {
      for (const version of versions) this.#apply(type, version.key, version);
    }
    for (const { type, key, revision, bytes } of options.journal?.load() ?? []) {
      this.#apply(type, key, new Version({ key, revision, bytes, freeze: options.freeze }));
    }
    this.history = new History(options.history, this.#revision);
  }

  /** The newest committed revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Why writes fail, while they do. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get(type: string, key: string): Version | undefined {
    return this.#collections.get(type)?.versions.get(key);
  }

  count(type: string): number {
    return this.#collections.get(type)?.versions.size ?? 0;
  }

  types(): string[] {
    return [...this.#collections.keys()].sort();
  }

  image(): StoreImage {
    const versions = this.types().map((type) => [type, [...this.range(type, '')]] as const);
    return { revision: this.#revision, versions: new Map(versions) };
  }

  /** In key order, from the first key ≥ `from` that starts with `prefix`, as of now. */
  range(type: string, prefix: string, from = prefix): Iterable<Version> {
    return this.#collections.get(type)?.ordered.range(from, prefix) ?? [];
  }

  /** The same as of an older revision, which must not be below `history.compactedRevision`. */
  *rangeAt(type: string, prefix: string, from: string, revision: number): Generator<Version> {
    const then = new Map<string, Version | undefined>();
    for (const { key, before } of this.history.since(type, revision)) {
      if (!then.has(key) && key.startsWith(prefix) && key >= from) then.set(key, before);
    }
    const gone = [...then.values()].filter((version) => version !== undefined);
    gone.sort((a, b) => (a.key < b.key ? -1 : 1));
    let next = 0;
    for (const version of this.range(type, prefix, from)) {
      for (; next < gone.length && (gone[next] as Version).key < version.key; next++) {
        yield gone[next] as Version;
      }
      if (then.has(version.key)) continue;
      yield version;
    }
    yield* gone.slice(next);
  }

  /** Follows one kind. Listeners run in revision order, after the change can be read, and must not throw. */
  subscribe(type: string, listener: ChangeListener): () => void {
    const { listeners } = this.#collection(type);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Resolves once the plan is durable and visible; rejects with what `decide` threw, or a CommitError. */
  write(type: string, key: string, decide: Decide): Promise<Version> {
    return new Promise((resolve, reject) => {
      if (this.#failedForGood) throw new CommitError(`storage has failed: ${this.#failure?.message}`);
      const collection = this.#collection(type);
      const head = collection.heads.get(key);
      const current = head === undefined ? collection.versions.get(key) : head.change.after;
      const plan = decide(current);
      if (plan.kind === 'keep') {
        // Nobody may be told of a state that is not on disk yet.
        if (head === undefined) resolve(plan.version);
        else this.#await(head.change, () => resolve(plan.version), reject);
        return;
      }
      const change = this.#changeFor(type, key, current, plan);
      collection.heads.set(key, { change });
      this.#queue.push({ change, resolve, reject, followers: [] });
      this.#schedule();
    });
  }

  /** What `write` would decide on, for dry runs. */
  head(type: string, key: string): Version | undefined {
    const collection = this.#collections.get(type);
    const head = collection?.heads.get(key);
    return head === undefined ? collection?.versions.get(key) : head.change.after;
  }

  /** Makes durable what is queued; afterwards the journal is closed and writes fail. */
  async close(): Promise<void> {
    while (this.#queue.length > 0 || this.#flushing) {
      await new Promise<void>((resolve) => {
        this.#afterFlush.push(resolve);
        this.#flush();
      });
    }
    this.#failedForGood = true;
    this.#failure ??= new Error('the server is stopping');
    this.#options.journal?.close();
  }

  #changeFor(
    type: string,
    key: string,
    current: Version | undefined,
    plan: { kind: string; object: KubeObject },
  ): Change {
    const revision = ++this.#headRevision;
    plan.object.metadata.resourceVersion = String(revision);
    const last = new Version({
      key,
      revision,
      object: plan.object,
      freeze: this.#options.freeze,
    });
    return {
      revision,
      type,
      key,
      before: current,
      after: plan.kind === 'put' ? last : undefined,
      last,
      atMs: this.#options.clock.now(),
      encoded: new Map(),
    };
  }

  #schedule(): void {
    if (this.#options.journal === undefined) {
      this.#flush();
    } else if (!this.#flushScheduled) {
      this.#flushScheduled = true;
      this.#options.clock.setImmediate(() => this.#flush());
    }
  }

  /** One batch at a time; what is written meanwhile, by listeners too, makes the next one. */
  #flush(): void {
    this.#flushScheduled = false;
    if (this.#flushing) return;
    this.#flushing = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const { journal } = this.#options;
      if (journal === undefined) {
        this.#complete(batch);
        continue;
      }
      try {
        this.#committing = batch;
        journal.commit(batch.map(({ change }) => recordOf(change))).then(
          () => this.#settle(() => this.#complete(batch)),
          (error: unknown) => this.#settle(() => this.#rollBack([...batch, ...this.#queue.splice(0)], error)),
        );
        return;
      } catch (error) {
        this.#committing = [];
        this.#rollBack(batch, error);
      }
    }
    this.#flushing = false;
    for (const told of this.#afterFlush.splice(0)) told();
  }

  #settle(end: () => void): void {
    this.#committing = [];
    end();
    this.#flushing = false;
    this.#flush();
  }

  #complete(batch: readonly Pending[]): void {
    this.#failure = undefined;
    for (const { change } of batch) this.#publish(change);
    for (const { change, resolve, followers } of batch) {
      resolve(change.last);
      for (const follower of followers) follower.resolve();
    }
  }

  #publish(change: Change): void {
    const collection = this.#collection(change.type);
    this.#apply(change.type, change.key, change.after);
    if (collection.heads.get(change.key)?.change === change) collection.heads.delete(change.key);
    this.#revision = change.revision;
    this.history.push(change);
    for (const listener of [...collection.listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.#options.log.error('a listener to changes failed', error, {
          type: change.type,
          key: change.key,
        });
      }
    }
  }

  #rollBack(batch: readonly Pending[], cause: unknown): void {
    this.#failedForGood = !(cause instanceof RetryableCommitError);
    this.#failure = cause instanceof Error ? cause : new Error(String(cause));
    this.#options.log.error(
      this.#failedForGood ? 'storage failed; no more writes are accepted' : 'storage failed; will try again',
      cause,
    );
    for (const { change, reject, followers } of batch) {
      this.#collection(change.type).heads.delete(change.key);
      const error = new CommitError(`${change.type} ${change.key} was not written: ${this.#failure.message}`);
      reject(error);
      for (const follower of followers) follower.reject(error);
    }
  }

  /** Follows a pending write without being one. */
  #await(change: Change, resolve: () => void, reject: (error: Error) => void): void {
    const pending = [...this.#committing, ...this.#queue].find((each) => each.change === change);
    if (pending === undefined) resolve();
    else pending.followers.push({ resolve, reject });
  }

  #apply(type: string, key: string, version: Version | undefined): void {
    const collection = this.#collection(type);
    if (version === undefined) {
      collection.versions.delete(key);
      collection.ordered.delete(key);
    } else {
      collection.versions.set(key, version);
      collection.ordered.set(version);
    }
  }

  #collection(type: string): Collection {
    let collection = this.#collections.get(type);
    if (collection === undefined) {
      collection = new Collection();
      this.#collections.set(type, collection);
    }
    return collection;
  }
}

function recordOf({ revision, type, key, before, after }: Change): JournalRecord {
  return { revision, type, key, bytes: after?.bytes, replaces: before?.revision ?? 0 };
}

// The state of the API server: all objects in memory, one revision counter, and the order of commits. A write is
// checked against the newest pending state of its object, joins the current batch, is made durable with it, and only
// then becomes visible to readers and watchers, in revision order.

import type { KubeObject } from '../../api/object.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { type ChangeListener, Collection } from './collection.ts';
import { afterCommit, GroupCommit, type Pending, type Waiting } from './group-commit.ts';
import type { Journal } from './journal.ts';
import { type Change, type ChangeLimits, RecentChanges } from './recent-changes.ts';
import { Version } from './version.ts';

/** The limit of a request body: an object can always be read, changed and written back. */
const MAX_OBJECT_LENGTH = 3 * 1024 * 1024;

/** A write's decision, from the current state. */
export type Plan =
  | { readonly kind: 'put'; readonly object: KubeObject }
  /** `object` is the final state, as watchers will see it. */
  | { readonly kind: 'remove'; readonly object: KubeObject }
  /** No change; the caller gets the current version. */
  | { readonly kind: 'keep'; readonly version: Version };

export type Decide = (current: Version | undefined) => Plan;

/** The state of a store at one revision. Versions are immutable, so any number of stores can start from one image. */
export interface StoreImage {
  readonly revision: number;
  readonly versions: ReadonlyMap<string, readonly Version[]>;
}

export interface StoreOptions {
  clock: Clock;
  log: Log;
  /** The initial contents, in addition to the journal's. */
  image?: StoreImage;
  /** Absent: memory only, every write committed before `write` returns. */
  journal?: Journal;
  history: ChangeLimits;
  /** Deep-freezes every object, so that code which mutates a shared one fails at once. For tests. */
  freeze: boolean;
}

/**
 * HTTP watchers are written to every few milliseconds: the encoded form of this many newest changes is kept for them.
 */
const KEPT_IN_WRITING = 128;

export class Store {
  readonly #options: StoreOptions;
  readonly #collections = new Map<string, Collection<Pending>>();
  readonly history: RecentChanges;
  #revision: number;
  #headRevision: number;
  readonly #commits: GroupCommit;
  /** The changes whose encoded form is kept, by revision modulo their number. */
  readonly #told: Change[] = [];

  constructor(options: StoreOptions) {
    this.#options = options;
    const { clock, log, journal } = options;
    this.#commits = new GroupCommit({ clock, log, journal, publish: (pending) => this.#publish(pending) });
    this.#revision = Math.max(1, options.journal?.revision ?? 1, options.image?.revision ?? 1);
    this.#headRevision = this.#revision;
    for (const [type, versions] of options.image?.versions ?? []) {
      for (const version of versions) this.#collection(type).put(version.key, version);
    }
    for (const { type, key, revision, bytes: own } of options.journal?.load() ?? []) {
      const bytes = Buffer.from(own.buffer, own.byteOffset, own.byteLength);
      this.#collection(type).put(key, new Version({ key, revision, bytes, freeze: options.freeze }));
    }
    this.history = new RecentChanges(options.history, this.#revision);
  }

  /** The newest committed revision. */
  get revision(): number {
    return this.#revision;
  }

  /** Why writes fail, while they do. */
  get failure(): Error | undefined {
    return this.#commits.failure;
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

  /** In key order, from the first key ≥ `from` that starts with `prefix`, at the current revision. */
  range(type: string, prefix: string, from = prefix): Iterable<Version> {
    return this.#collections.get(type)?.ordered.range(from, prefix) ?? [];
  }

  /** The same at an older revision, which must not be below `history.compactedRevision`. */
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

  /**
   * Subscribes to one kind, or one object of it. Listeners run in revision order, after the change is visible, and must
   * not throw.
   */
  subscribe(type: string, listener: ChangeListener, onlyKey?: string): () => void {
    return this.#collection(type).subscribe(listener, onlyKey);
  }

  /** Resolves once the write is durable and visible; rejects with what `decide` threw, or a CommitError. */
  write(type: string, key: string, decide: Decide): Promise<Version> {
    try {
      return this.#write(type, key, decide);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #write(type: string, key: string, decide: Decide): Promise<Version> {
    this.#commits.checkOpen();
    const collection = this.#collection(type);
    const head = collection.heads.get(key);
    const current = head === undefined ? collection.versions.get(key) : head.change.after;
    const plan = decide(current);
    if (plan.kind === 'keep') {
      return head === undefined ? Promise.resolve(plan.version) : afterCommit(head, plan.version);
    }
    const change = this.#changeFor(type, key, current, plan);
    if (this.#options.journal === undefined) {
      this.#enqueue(change, collection, undefined);
      return Promise.resolve(change.last);
    }
    return new Promise((resolve, reject) => this.#enqueue(change, collection, { resolve, reject }));
  }

  #enqueue(change: Change, collection: Collection<Pending>, waiting: Waiting | undefined): void {
    this.#commits.add({ change, collection, waiting, followers: undefined, failure: undefined });
  }

  /** The state that `write` would decide from, for dry runs. */
  head(type: string, key: string): Version | undefined {
    const collection = this.#collections.get(type);
    const head = collection?.heads.get(key);
    return head === undefined ? collection?.versions.get(key) : head.change.after;
  }

  /** Pending writes: the committed version of each such object, and the newest. */
  *pending(
    type: string,
    prefix: string,
  ): Generator<{ before: Version | undefined; after: Version | undefined }> {
    const collection = this.#collections.get(type);
    for (const [key, { change }] of collection?.heads ?? []) {
      if (key.startsWith(prefix)) yield { before: collection?.versions.get(key), after: change.after };
    }
  }

  /** Commits what is queued; afterwards the journal is closed and writes fail. */
  close(): Promise<void> {
    return this.#commits.close();
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
    // The journal needs the text anyway. Without one, memory is the only limit.
    if (plan.kind === 'put' && this.#options.journal !== undefined && last.text.length > MAX_OBJECT_LENGTH) {
      this.#headRevision--;
      throw new KubeError({
        reason: 'RequestEntityTooLarge',
        code: 413,
        message: `${type} ${key} would have ${last.text.length} characters as JSON: limit is ${MAX_OBJECT_LENGTH}`,
      });
    }
    return {
      revision,
      type,
      key,
      before: current,
      after: plan.kind === 'put' ? last : undefined,
      last,
      atMs: this.#options.clock.now(),
      encoded: undefined,
    };
  }

  #publish(pending: Pending): void {
    const { change, collection } = pending;
    const { key } = change;
    collection.put(key, change.after);
    if (collection.heads.get(key) === pending) collection.heads.delete(key);
    change.before?.supersede();
    this.#revision = change.revision;
    this.history.push(change);
    this.#keepInWriting(change);
    for (const listener of collection.listenersTo(key)) {
      try {
        listener(change);
      } catch (error) {
        this.#options.log.error('a listener to changes failed', error, { type: change.type, key });
      }
    }
  }

  #keepInWriting(change: Change): void {
    const place = change.revision % KEPT_IN_WRITING;
    const oldest = this.#told[place];
    this.#told[place] = change;
    if (oldest === undefined) return;
    oldest.last.settle();
    oldest.encoded = undefined;
  }

  #collection(type: string): Collection<Pending> {
    let collection = this.#collections.get(type);
    if (collection === undefined) {
      collection = new Collection();
      this.#collections.set(type, collection);
    }
    return collection;
  }
}

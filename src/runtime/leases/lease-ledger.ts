// A durable set of entries in one object, a Lease of the caller's own, written by group commit: entries that begin during
// a write go into the next one, which also drops those that have ended; those that end last leave a moment later.
//
// Guarantees: once `begin` resolves with true, the entry stands in the API until this process ends it. Every write
// carries the version that it was made from and differs from it, so that of a write whose answer was lost and its
// repetition one fails. An entry that is found and not known was left by another process: it is kept, and handed on.

import { type Lease, leases } from '../../api/kinds.ts';
import { type Draft, keyOf } from '../../api/object.ts';
import { ifThere } from '../kube/if-there.ts';
import type { KubeClient } from '../kube/kube.ts';
import { isForbidden, isNotFound, isUnacceptable } from '../kube/kube-error.ts';
import type { Clock, Log } from '../ports.ts';
import { Bell } from '../time/bell.ts';

/** The more volumes are being made, the sooner the next claim begins: it is worth waiting for a moment. */
const GATHER_MS_EACH = 1;
const LONGEST_GATHER_MS = 50;
/** What is over leaves by a write of its own when no other came for so long. */
const TRAILING_MS = 500;
const RETRY_MS = 1_000;
const IDLE_MS = 3_600_000;
const MOST_ATTEMPTS = 3;
/** Annotations may have 256 KiB together. */
const MOST_BYTES = 200 * 1024;

export interface LedgerEntry {
  namespace: string;
  name: string;
  uid: string;
}

export interface LedgerPage<T> {
  /**
   * How often it was written. It makes each write differ from what is stored: one that changes nothing would not be a
   * new version, and an older one that is still on its way could then replace it.
   */
  writes: number;
  entries: readonly T[];
}

/** The Lease holds what this program did not write: entries may be in it that must not be lost. */
export class UnreadableLedgerError extends Error {
  override readonly name = 'UnreadableLedgerError';
}

/** How a page stands in the Lease. */
export interface LedgerFormat<T> {
  /** Throws an UnreadableLedgerError. */
  read(lease: Lease | undefined): LedgerPage<T>;
  /** The entries are JSON already: each is written many times and changes never. */
  write(known: Lease | undefined, page: LedgerPage<string>): Draft<Lease>;
}

export interface LeaseLedgerOptions<T> {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  /** Of the Lease. */
  name: { namespace: string; name: string };
  format: LedgerFormat<T>;
  /** What to tell people once when the Lease cannot be written: what happens instead. */
  unusable: string;
  /** Hears of the entries that an earlier process left. */
  found(entry: T): void;
  /**
   * Hears of entries that were ended, once nobody can find them any more. When the Lease cannot be written, it hears of them
   * at once: they stay there, and a process that starts later may find them.
   */
  left(entry: T): void;
  /**
   * Several replicas have it open. None begins entries in it; each takes those that were left, as far as they are in its
   * share, and ends them. `share` says which.
   */
  isShared?: boolean;
}

interface Standing<T> {
  entry: T;
  text: string;
  bytes: number;
}

interface Batch extends PromiseWithResolvers<boolean> {
  uids: string[];
}

function standing<T>(entry: T): Standing<T> {
  const text = JSON.stringify(entry);
  return { entry, text, bytes: Buffer.byteLength(text) + 1 };
}

export class LeaseLedger<T extends LedgerEntry> {
  readonly #options: LeaseLedgerOptions<T>;
  readonly #log: Log;
  readonly name: { namespace: string; name: string };
  readonly #bell = new Bell();
  /** What must stand, by UID. */
  readonly #standing = new Map<string, Standing<T>>();
  #bytes = 0;
  /**
   * Those that are over, by UID, until a write without them is acknowledged. One that a read does not show may come back by
   * an earlier write that is still on its way.
   */
  readonly #over = new Map<string, { entry: T; isShown: boolean }>();
  /** When they leave by a write of their own. */
  #trailingAtMs = 0;
  #lease: Lease | undefined;
  #writes = 0;
  /** The Lease is as it was last seen, unless somebody else wrote it. */
  #isCurrent = false;
  /** Shared: which entries are this replica's, and the others' as they stand in the Lease. */
  #isMine: (uid: string) => boolean;
  #others: string[] = [];
  /** Those who wait for the next write. */
  #batch: Batch | undefined;
  #isUsable = true;

  constructor(options: LeaseLedgerOptions<T>) {
    this.#options = options;
    this.name = options.name;
    this.#isMine = () => !options.isShared;
    this.#log = options.log.with({ lease: keyOf({ metadata: this.name }) });
  }

  /**
   * Reads what was left, and takes it over: from then on a write of who left it, still on its way, fails. To be awaited
   * before the first claim is looked at.
   */
  async open(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#read(signal);
        if (this.#standing.size > 0) await this.#commit(signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (this.#giveUp(error)) return;
        this.#log.warn('Could not read the ledger, will try again', { err: error, retryInMs: RETRY_MS });
        await this.#options.clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /**
   * Shared: reads again what was left, and takes over what is in this replica's share now: from then on a write of who left
   * it, still on its way, fails.
   */
  async share(isMine: (uid: string) => boolean): Promise<void> {
    this.#isMine = isMine;
    if (!this.#isUsable) return;
    try {
      await this.#read();
      if (this.#standing.size > 0) await this.#commit();
    } catch (error) {
      if (!this.#giveUp(error)) throw error;
    }
  }

  /** Writes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#due(signal);
        await this.#writeBatch(signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#batch?.reject(signal.reason);
    }
  }

  /**
   * Whether the entry stands now; false when it cannot be kept here. To be called for a UID of which none stands.
   */
  async begin(entry: T, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const added = standing(entry);
    if (this.#options.isShared || !this.#isUsable || this.#bytes + added.bytes > MOST_BYTES) return false;
    this.#over.delete(entry.uid);
    this.#add(added);
    this.#batch ??= { ...Promise.withResolvers<boolean>(), uids: [] };
    this.#batch.uids.push(entry.uid);
    this.#bell.ring();
    return this.#batch.promise;
  }

  end(uid: string): void {
    const ended = this.#standing.get(uid);
    if (!ended) return;
    this.#standing.delete(uid);
    this.#bytes -= ended.bytes;
    this.#over.set(uid, { entry: ended.entry, isShown: true });
    if (!this.#isUsable) this.#leave([uid]);
    else if (this.#over.size === 1) this.#trailAfter(TRAILING_MS);
  }

  get(uid: string): T | undefined {
    return this.#standing.get(uid)?.entry;
  }

  all(): T[] {
    return [...this.#standing.values()].map(({ entry }) => entry);
  }

  /**
   * Those that somebody may find: all that stand, and those that were ended and have not left yet. Without what stays in a
   * Lease that cannot be written.
   */
  findable(): T[] {
    return [...this.all(), ...Array.from(this.#over.values(), ({ entry }) => entry)];
  }

  #add(added: Standing<T>): void {
    this.#bytes += added.bytes;
    this.#standing.set(added.entry.uid, added);
  }

  #trailAfter(delayMs: number): void {
    this.#trailingAtMs = this.#options.clock.monotonicMs() + delayMs;
    this.#bell.ring();
  }

  /** Resolves when there is something to write. */
  async #due(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!this.#batch) {
      const isTrailing = this.#over.size > 0 && this.#isUsable;
      const waitMs = isTrailing ? this.#trailingAtMs - clock.monotonicMs() : IDLE_MS;
      if (waitMs <= 0) return;
      await this.#bell.wait(clock, waitMs, signal);
      signal.throwIfAborted();
    }
    const others = this.#standing.size - this.#batch.uids.length;
    const gatherMs = Math.min(LONGEST_GATHER_MS, others * GATHER_MS_EACH);
    if (gatherMs > 0) await clock.sleep(gatherMs, signal);
  }

  async #writeBatch(signal: AbortSignal): Promise<void> {
    const batch = this.#batch;
    this.#batch = undefined;
    try {
      await this.#commit(signal);
      batch?.resolve(true);
    } catch (error) {
      if (signal.aborted) {
        batch?.reject(signal.reason);
        throw error;
      }
      // Nothing was asked for them yet.
      for (const uid of batch?.uids ?? []) this.end(uid);
      if (this.#giveUp(error)) batch?.resolve(false);
      else batch?.reject(error);
      this.#trailAfter(RETRY_MS);
    }
  }

  async #commit(signal?: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#isCurrent) await this.#read(signal);
      try {
        return await this.#write(signal);
      } catch (error) {
        // A conflict, or an answer that was lost: what stands there now is not known, even if the other of two writes, of `run`
        // and of `share`, has succeeded meanwhile.
        this.#isCurrent = false;
        if (signal?.aborted || attempt >= MOST_ATTEMPTS || this.#isPermanent(error)) throw error;
      }
    }
  }

  async #read(signal?: AbortSignal): Promise<void> {
    this.#lease = await ifThere(this.#options.kube.get(leases, this.name, { ...(signal && { signal }) }));
    const { writes, entries } = this.#options.format.read(this.#lease);
    this.#writes = writes;
    const there = new Set(entries.map(({ uid }) => uid));
    for (const [uid, over] of this.#over) if (!there.has(uid)) over.isShown = false;
    if (this.#options.isShared) this.#divide(entries);
    for (const entry of entries) {
      if (!this.#isMine(entry.uid)) continue;
      if (this.#standing.has(entry.uid) || this.#over.get(entry.uid)?.isShown) continue;
      this.#over.delete(entry.uid);
      this.#add(standing(entry));
      this.#log.info('Found an entry that was left, following it', { object: keyOf({ metadata: entry }) });
      this.#options.found(entry);
    }
    this.#isCurrent = true;
  }

  /** What is not this replica's stays in the Lease as it is, and is no longer known here. */
  #divide(entries: readonly T[]): void {
    this.#others = entries.filter(({ uid }) => !this.#isMine(uid)).map((entry) => JSON.stringify(entry));
    for (const [uid, { bytes }] of this.#standing) {
      if (this.#isMine(uid)) continue;
      this.#standing.delete(uid);
      this.#bytes -= bytes;
    }
    for (const [uid, { isShown }] of this.#over) {
      if (this.#isMine(uid)) continue;
      // Whose it is now finds it in the Lease, unless a write without it took effect whose answer was lost.
      if (isShown) this.#over.delete(uid);
      else this.#leave([uid]);
    }
  }

  async #write(signal?: AbortSignal): Promise<void> {
    const { kube, format } = this.#options;
    const over = [...this.#over];
    const writes = this.#writes + 1;
    const entries = [...Array.from(this.#standing.values(), ({ text }) => text), ...this.#others];
    const lease = format.write(this.#lease, { writes, entries });
    this.#isCurrent = false;
    const options = { brief: true, ...(signal && { signal }) } as const;
    this.#lease = this.#lease
      ? await kube.update(leases, lease, options)
      : await kube.create(leases, lease, options);
    this.#isCurrent = true;
    this.#writes = writes;
    for (const [uid, { entry }] of over) {
      if (this.#over.has(uid)) this.#leave([uid]);
      // Another replica's since the write was sent, which does not find it any more.
      else if (!this.#isMine(uid)) this.#options.left(entry);
    }
    // Those that came meanwhile.
    if (this.#over.size > 0) this.#trailAfter(TRAILING_MS);
  }

  #leave(uids: Iterable<string>): void {
    for (const uid of uids) {
      const over = this.#over.get(uid);
      this.#over.delete(uid);
      if (over) this.#options.left(over.entry);
    }
  }

  /** The server will say the same next time. */
  #isPermanent(error: unknown): boolean {
    const hasNoNamespace = isNotFound(error) && this.#lease === undefined;
    return (
      hasNoNamespace || isForbidden(error) || isUnacceptable(error) || error instanceof UnreadableLedgerError
    );
  }

  #giveUp(error: unknown): boolean {
    if (!this.#isPermanent(error)) return false;
    if (this.#isUsable) {
      this.#log.error(this.#options.unusable, error);
    }
    this.#isUsable = false;
    // They stay there, but nothing can wait for a write that never comes.
    this.#leave([...this.#over.keys()]);
    return true;
  }
}

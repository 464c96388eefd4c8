// The intents of all claims for which the driver is being asked, in one object of the provisioner's own, written by group
// commit: whoever begins while a write is under way shares the next one. What is over leaves with it, or a moment later.
// Owns its Lease; never touches claims.
//
// Guarantees: once `begin` resolves with true, the intent stands in the API until this process ends it. Every write
// carries the version that it was made from and differs from it, so that of a write whose answer was lost and its
// repetition one fails. An intent that is found and not known is somebody's, who is gone: it is kept, and handed on.

import { type Lease, leases } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { getIfThere } from '../../../runtime/kube/get-if-there.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isForbidden, isNotFound, isUnacceptable } from '../../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../../runtime/ports.ts';
import { Bell } from '../../../runtime/time/bell.ts';
import type { Intent } from './intent.ts';
import { leaseWith, ledgerName, pageOf, UnreadableLedgerError } from './ledger-lease.ts';

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

export interface IntentLedgerOptions {
  kube: KubeClient;
  clock: Clock;
  log: Log;
  namespace: string;
  driver: string;
  /** Of the one node that the provisioner makes volumes for. */
  nodeName?: string | undefined;
  /** Hears of the intents that an earlier process left. */
  found(intent: Intent): void;
}

interface Entry {
  intent: Intent;
  text: string;
  bytes: number;
}

interface Batch extends PromiseWithResolvers<boolean> {
  uids: string[];
}

function entryOf(intent: Intent): Entry {
  const text = JSON.stringify(intent);
  return { intent, text, bytes: Buffer.byteLength(text) + 1 };
}

export class IntentLedger {
  readonly #options: IntentLedgerOptions;
  readonly #log: Log;
  readonly name: { namespace: string; name: string };
  readonly #bell = new Bell();
  /** What must stand, by the claim's UID. */
  readonly #standing = new Map<string, Entry>();
  #bytes = 0;
  /** UIDs of those that are over, and may still be in the Lease. */
  readonly #over = new Set<string>();
  /** When they leave by a write of their own. */
  #trailingAtMs = 0;
  #lease: Lease | undefined;
  #writes = 0;
  /** The Lease is as it was last seen, unless somebody else wrote it. */
  #isCurrent = false;
  /** Those who wait for the next write. */
  #batch: Batch | undefined;
  #isUsable = true;

  constructor(options: IntentLedgerOptions) {
    this.#options = options;
    this.name = { namespace: options.namespace, name: ledgerName(options.driver, options.nodeName) };
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
        this.#log.warn('Could not read the intents, will try again', { err: error, retryInMs: RETRY_MS });
        await this.#options.clock.sleep(RETRY_MS, signal);
      }
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
   * Whether the intent stands now; false when it cannot be kept here. To be called for a claim of which none stands.
   */
  async begin(intent: Intent, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const entry = entryOf(intent);
    if (!this.#isUsable || this.#bytes + entry.bytes > MOST_BYTES) return false;
    this.#over.delete(intent.uid);
    this.#add(entry);
    this.#batch ??= { ...Promise.withResolvers<boolean>(), uids: [] };
    this.#batch.uids.push(intent.uid);
    this.#bell.ring();
    return this.#batch.promise;
  }

  /** The volume is recorded, or known not to exist, or the claim itself keeps the intent now. */
  end(uid: string): void {
    const entry = this.#standing.get(uid);
    if (!entry) return;
    this.#standing.delete(uid);
    this.#bytes -= entry.bytes;
    this.#over.add(uid);
    if (this.#over.size === 1) this.#trailAfter(TRAILING_MS);
  }

  get(uid: string): Intent | undefined {
    return this.#standing.get(uid)?.intent;
  }

  all(): Intent[] {
    return [...this.#standing.values()].map(({ intent }) => intent);
  }

  #add(entry: Entry): void {
    this.#bytes += entry.bytes;
    this.#standing.set(entry.intent.uid, entry);
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

  async #commit(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#isCurrent) await this.#read(signal);
      try {
        return await this.#write(signal);
      } catch (error) {
        // A conflict, or an answer that was lost: what stands there now is not known.
        if (signal.aborted || attempt >= MOST_ATTEMPTS || this.#isPermanent(error)) throw error;
      }
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#lease = await getIfThere(this.#options.kube, leases, this.name, signal);
    const { writes, intents } = pageOf(this.#lease);
    this.#writes = writes;
    const there = new Set(intents.map(({ uid }) => uid));
    for (const uid of this.#over) if (!there.has(uid)) this.#over.delete(uid);
    for (const intent of intents) {
      if (this.#standing.has(intent.uid) || this.#over.has(intent.uid)) continue;
      this.#add(entryOf(intent));
      this.#log.info('Found an intent that was left, following it', { claim: keyOf({ metadata: intent }) });
      this.#options.found(intent);
    }
    this.#isCurrent = true;
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { kube, driver } = this.#options;
    const over = [...this.#over];
    const writes = this.#writes + 1;
    const intents = Array.from(this.#standing.values(), ({ text }) => text);
    const lease = leaseWith(this.#lease ?? { ...this.name, driver }, { writes, intents });
    this.#isCurrent = false;
    this.#lease = this.#lease
      ? await kube.update(leases, lease, { brief: true, signal })
      : await kube.create(leases, lease, { brief: true, signal });
    this.#isCurrent = true;
    this.#writes = writes;
    for (const uid of over) this.#over.delete(uid);
    // Those that came meanwhile.
    if (this.#over.size > 0) this.#trailAfter(TRAILING_MS);
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
      this.#log.error('Intents cannot be kept in a Lease; each claim keeps its own, as a finalizer', error);
    }
    this.#isUsable = false;
    return true;
  }
}

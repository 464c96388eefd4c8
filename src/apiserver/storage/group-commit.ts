// Group commit: writes that are decided in one turn of the event loop, or while the journal is busy, are made durable
// as one batch. Only then are they published, in order, and their writers get their responses. A batch that fails is
// rolled back as a whole, with everything that was decided on top of it. Without a journal each write is a batch of its
// own, committed at once.

import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import type { Collection } from './collection.ts';
import { type Journal, type JournalRecord, RetryableCommitError } from './journal.ts';
import type { Change } from './recent-changes.ts';
import type { Version } from './version.ts';

/** A commit failed: no write of its batch took effect. */
export class CommitError extends KubeError {
  constructor(message: string) {
    super({ reason: 'InternalError', code: 500, message: `Internal error occurred: ${message}` });
  }
}

/** A pending write: decided but not committed. */
export interface Pending {
  readonly change: Change;
  readonly collection: Collection<Pending>;
  /** Undefined without a journal, where nothing has to wait. */
  readonly waiting: Waiting | undefined;
  /** No-op writes on top of this one. */
  followers: (() => void)[] | undefined;
  failure: Error | undefined;
}

export interface Waiting {
  resolve(version: Version): void;
  reject(error: Error): void;
}

export interface GroupCommitOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly journal: Journal | undefined;
  /** Makes it visible to readers and watchers. Must not throw. */
  publish(pending: Pending): void;
}

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #queue: Pending[] = [];
  #isFlushing = false;
  #isScheduled = false;
  readonly #afterFlush: (() => void)[] = [];
  #failure: Error | undefined;
  #failedForGood = false;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Why writes fail, while they do. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Throws when no more writes are accepted. */
  checkOpen(): void {
    if (this.#failedForGood) throw new CommitError(`storage has failed: ${this.#failure?.message}`);
  }

  add(pending: Pending): void {
    pending.collection.heads.set(pending.change.key, pending);
    this.#queue.push(pending);
    this.#schedule();
  }

  /** Commits what is queued; afterwards the journal is closed and writes fail. */
  async close(): Promise<void> {
    while (this.#queue.length > 0 || this.#isFlushing) {
      await new Promise<void>((resolve) => {
        this.#afterFlush.push(resolve);
        this.#flush();
      });
    }
    this.#failedForGood = true;
    this.#failure ??= new Error('the server is stopping');
    await this.#options.journal?.close();
  }

  #schedule(): void {
    const { journal, clock } = this.#options;
    if (journal === undefined) {
      this.#flush();
    } else if (!this.#isScheduled && !this.#isFlushing) {
      this.#isScheduled = true;
      clock.setImmediate(() => this.#flush());
    }
  }

  /** One batch at a time; writes that arrive meanwhile, also from listeners, form the next one. */
  #flush(): void {
    this.#isScheduled = false;
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const { journal } = this.#options;
      if (journal === undefined) {
        this.#complete(batch);
        continue;
      }
      try {
        journal.commit(batch.map(({ change }) => recordOf(change))).then(
          () => this.#settle(() => this.#complete(batch)),
          (error: unknown) => this.#settle(() => this.#rollBack([...batch, ...this.#queue.splice(0)], error)),
        );
        return;
      } catch (error) {
        this.#rollBack(batch, error);
      }
    }
    this.#isFlushing = false;
    for (const resolve of this.#afterFlush.splice(0)) resolve();
  }

  #settle(end: () => void): void {
    end();
    this.#isFlushing = false;
    if (this.#queue.length > 0 && this.#afterFlush.length === 0) this.#schedule();
    else this.#flush();
  }

  #complete(batch: readonly Pending[]): void {
    this.#failure = undefined;
    for (const pending of batch) this.#options.publish(pending);
    for (const { change, waiting, followers } of batch) {
      waiting?.resolve(change.last);
      if (followers) for (const follower of followers) follower();
    }
  }

  #rollBack(batch: readonly Pending[], cause: unknown): void {
    this.#failedForGood = !(cause instanceof RetryableCommitError);
    this.#failure = cause instanceof Error ? cause : new Error(String(cause));
    this.#options.log.error(
      this.#failedForGood ? 'storage failed; no more writes are accepted' : 'storage failed; will try again',
      cause,
    );
    for (const pending of batch) {
      const { change, collection, waiting, followers } = pending;
      collection.heads.delete(change.key);
      pending.failure = new CommitError(
        `${change.type} ${change.key} was not written: ${this.#failure.message}`,
      );
      waiting?.reject(pending.failure);
      if (followers) for (const follower of followers) follower();
    }
  }
}

/** Resolves with the version once the pending write is committed: a state that is not on disk is never returned. */
export async function afterCommit(pending: Pending, version: Version): Promise<Version> {
  await new Promise<void>((resolve) => {
    pending.followers ??= [];
    pending.followers.push(resolve);
  });
  if (pending.failure !== undefined) throw pending.failure;
  return version;
}

function recordOf({ revision, type, key, before, after }: Change): JournalRecord {
  return { revision, type, key, text: after?.text, replaces: before?.revision ?? 0 };
}

// The journal in a thread of its own, seen from the store: hands over one batch at a time and waits for the answer.
// The event loop waits for neither SQLite nor the disk. When the thread dies, the journal has failed: what it had written
// is unknown.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../../runtime/process/thread-environment.ts';
import {
  DataDirError,
  type Journal,
  type JournalRecord,
  RetryableCommitError,
  type StoredRow,
} from './journal.ts';

export type ToJournalThread = readonly JournalRecord[] | 'close';

export type FromJournalThread =
  | { kind: 'rows'; rows: readonly StoredRow[] }
  | { kind: 'open'; revision: number }
  | { kind: 'refused'; message: string }
  | { kind: 'committed' }
  | { kind: 'failed'; message: string; mayTryAgain: boolean };

/** A small young generation is enough: batches are short-lived. */
const YOUNG_MB = 4;

export async function openJournalThread(dataDir: string): Promise<Journal> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const thread = new JournalThread(join(dataDir, 'state.db'));
  await thread.opened;
  return thread;
}

class JournalThread implements Journal {
  readonly #worker: Worker;
  readonly #opened = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #rows: StoredRow[] = [];
  #committing: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;
  revision = 0;

  constructor(path: string) {
    const file = import.meta.url.endsWith('.ts') ? './journal-worker.ts' : './journal-worker.js';
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData: path,
      env: threadEnvironment(),
      // Options of this process's own program (`--eval`, `--import`) are not passed to the thread.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#worker.on('message', (message: FromJournalThread) => this.#hear(message));
    this.#worker.on('error', (error) => {
      this.#failure = new Error(`the thread that writes ${path} failed: ${error.message}`, { cause: error });
    });
    this.#worker.on('exit', () => {
      this.#failure ??= new Error(`the thread that writes ${path} has ended`);
      this.#opened.reject(this.#failure);
      this.#committing?.reject(this.#failure);
      this.#ended.resolve();
    });
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  load(): Iterable<StoredRow> {
    return this.#rows.splice(0);
  }

  commit(batch: readonly JournalRecord[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#committing = Promise.withResolvers();
    // Like an open file, it keeps the process alive only while there is work.
    this.#worker.ref();
    this.#send(batch);
    return this.#committing.promise;
  }

  close(): Promise<void> {
    this.#worker.ref();
    this.#send('close');
    return this.#ended.promise;
  }

  #send(message: ToJournalThread): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromJournalThread): void {
    switch (message.kind) {
      case 'rows':
        for (const row of message.rows) this.#rows.push(row);
        return;
      case 'open':
        this.revision = message.revision;
        this.#worker.unref();
        this.#opened.resolve();
        return;
      case 'refused':
        this.#failure = new DataDirError(message.message);
        return;
      case 'committed':
        this.#settled()?.resolve();
        return;
      case 'failed':
        this.#settled()?.reject(
          message.mayTryAgain ? new RetryableCommitError(message.message) : new Error(message.message),
        );
    }
  }

  #settled(): PromiseWithResolvers<void> | undefined {
    const committing = this.#committing;
    this.#committing = undefined;
    this.#worker.unref();
    return committing;
  }
}

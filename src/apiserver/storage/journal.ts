// The durability port of the store: where committed writes go before anyone hears of them. SQLite is one
// implementation; without a journal the store lives in memory only.

/** One write. `text` is the object as JSON; undefined means that it is removed. */
export interface JournalRecord {
  readonly revision: number;
  readonly type: string;
  readonly key: string;
  readonly text: string | undefined;
  /** Revision of the version this one replaces; 0 when there is none. */
  readonly replaces: number;
}

export interface StoredRow {
  readonly revision: number;
  readonly type: string;
  readonly key: string;
  readonly bytes: Uint8Array;
}

export interface Journal {
  /** The highest revision ever committed. */
  readonly revision: number;
  /** What was there when it was opened. Asked once. */
  load(): Iterable<StoredRow>;
  /**
   * All of the batch or nothing. Resolves when it is on disk; rejects when nothing of it was written, or when it is
   * written but nobody knows whether it will survive. Not called again before it is settled.
   */
  commit(batch: readonly JournalRecord[]): Promise<void>;
  close(): Promise<void>;
}

/** The data directory cannot be used as it is. Says which file, what is wrong with it, what to do. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError';
}

/** A failed commit after which a later one may succeed (the disk was full). Any other failure is permanent. */
export class RetryableCommitError extends Error {
  override readonly name = 'RetryableCommitError';
}

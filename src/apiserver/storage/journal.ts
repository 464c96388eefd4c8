// The durability port of the store: committed writes go here before they become visible. SQLite is one implementation;
// without a journal the store is in memory only.

/** One write. `text` is the object as JSON; undefined means deletion. */
export interface JournalRecord {
  readonly revision: number;
  readonly type: string;
  readonly key: string;
  readonly text: string | undefined;
  /** Revision of the version that this one replaces; 0 when there is none. */
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
  /** The contents at the time of opening. Called once. */
  load(): Iterable<StoredRow>;
  /**
   * Atomic. Resolves when the batch is on disk; rejects when nothing was written, or when it is unknown whether it will
   * survive. Not called again before it is settled.
   */
  commit(batch: readonly JournalRecord[]): Promise<void>;
  close(): Promise<void>;
}

/** The data directory cannot be used as it is. The message names the file, the problem and what to do. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError';
}

/** A failed commit after which a later one may succeed (the disk was full). Any other failure is permanent. */
export class RetryableCommitError extends Error {
  override readonly name = 'RetryableCommitError';
}

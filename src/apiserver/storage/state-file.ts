// The store's SQLite file: one row per live object, whose row id is the revision that wrote it, so that a write appends
// at the end of one B-tree and deletes its predecessor by number. WAL with a sync of the log after each transaction, as
// with synchronous=FULL; but the sync is our own fdatasync, since SQLite's also updates the file's times. All functions
// block, and belong in a thread of their own (journal-worker.ts). The exclusive lock on the file excludes a second
// process, and is released when the process dies.

import { chmodSync, closeSync, existsSync, fdatasyncSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { DataDirError, type JournalRecord, RetryableCommitError, type StoredRow } from './journal.ts';

const FORMAT_VERSION = 1;
/** The application ID of the file: the letters BRTH. */
const APPLICATION_ID = 0x42525448;
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

export function openStateFile(path: string): StateFile {
  let db: DatabaseSync | undefined;
  try {
    // It holds Secrets.
    closeSync(openSync(path, 'a', 0o600));
    db = new DatabaseSync(path);
    // Locks at the first read and keeps the lock; a second process then fails here instead of corrupting anything.
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    prepareFile(db, path);
    makePrivate(path);
    return new StateFile(db, path);
  } catch (error) {
    db?.close();
    throw refusal(error, path);
  }
}

/** An existing file may be older than this rule. Files that SQLite creates beside it inherit its mode. */
function makePrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/** Rejects a file that is not ours or of a newer version, before anything is written to it. */
function prepareFile(db: DatabaseSync, path: string): void {
  const applicationId = pragma(db, 'application_id');
  const format = pragma(db, 'user_version');
  const tables = (db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number }).n;
  const isNew = applicationId === 0 && format === 0 && tables === 0;
  if (!isNew && applicationId !== APPLICATION_ID) {
    throw new DataDirError(
      `${path} is an SQLite file of another program; choose another --data-dir (nothing was changed)`,
    );
  }
  if (!isNew && format !== FORMAT_VERSION) {
    throw new DataDirError(
      `${path} has storage format ${format}, this version reads format ${FORMAT_VERSION}; ` +
        'use the version of berth that wrote it, or another --data-dir (nothing was changed)',
    );
  }
  // 16 MB of log between checkpoints: each checkpoint costs two more syncs, and a longer log slows the next start.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000');
  if (isNew) {
    db.exec(`
      BEGIN IMMEDIATE;
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${FORMAT_VERSION};
      CREATE TABLE objects (
        revision INTEGER PRIMARY KEY, type TEXT NOT NULL, key TEXT NOT NULL, crc INTEGER NOT NULL, value BLOB NOT NULL
      );
      CREATE TABLE position (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
      INSERT INTO position VALUES (1, 0);
      COMMIT;
    `);
  } else {
    // Takes the write lock now, so that a second process is rejected even while neither writes.
    db.exec('BEGIN IMMEDIATE; COMMIT');
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0] ?? 0;
}

function refusal(error: unknown, path: string): unknown {
  if (error instanceof DataDirError) return error;
  const { errcode, message } = error as { errcode?: number; message?: string };
  if (errcode !== undefined && (errcode & 0xff) === SQLITE_BUSY) {
    return new DataDirError(`${path} is in use by another process; stop it first, or use another --data-dir`);
  }
  return new DataDirError(
    `${path} cannot be read: ${message ?? String(error)}; restore it from a backup, or use another --data-dir ` +
      '(nothing was changed)',
    { cause: error },
  );
}

export class StateFile {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #insert: StatementSync;
  readonly #replace: StatementSync;
  readonly #remove: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #position: StatementSync;
  #revision: number;
  #logFile: number | undefined;
  #scratch = Buffer.allocUnsafeSlow(16 * 1024);

  constructor(db: DatabaseSync, path: string) {
    this.#db = db;
    this.#path = path;
    this.#insert = db.prepare('INSERT INTO objects (revision, type, key, crc, value) VALUES (?, ?, ?, ?, ?)');
    this.#replace = db.prepare('UPDATE objects SET revision = ?, crc = ?, value = ? WHERE revision = ?');
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#remove = db.prepare('DELETE FROM objects WHERE revision = ?');
    this.#position = db.prepare('UPDATE position SET revision = ? WHERE id = 1');
    const row = db.prepare('SELECT revision FROM position WHERE id = 1').get() as
      | { revision: number }
      | undefined;
    if (row === undefined) throw new Error('its position record is missing');
    this.#revision = row.revision;
  }

  get revision(): number {
    return this.#revision;
  }

  *rows(): Generator<StoredRow> {
    const rows = this.#db
      .prepare('SELECT revision, type, key, crc, value FROM objects ORDER BY revision')
      .iterate() as Iterable<{ revision: number; type: string; key: string; crc: number; value: Uint8Array }>;
    try {
      for (const { revision, type, key, crc, value } of rows) {
        if (crc32(value) !== crc || revision > this.#revision) {
          throw new DataDirError(
            `${this.#path} is damaged: ${type} ${key} (revision ${revision}) does not match its checksum; ` +
              'restore the file from a backup, or use another --data-dir (nothing was changed)',
          );
        }
        yield { revision, type, key, bytes: value };
      }
    } catch (error) {
      throw refusal(error, this.#path);
    }
  }

  /** Atomic: throws when nothing was written, or when it is unknown whether the batch will survive. */
  commit(batch: readonly JournalRecord[]): void {
    this.#write(batch);
    this.#sync();
  }

  #write(batch: readonly JournalRecord[]): void {
    const last = batch.at(-1);
    if (last === undefined) return;
    try {
      this.#begin.run();
      for (const record of batch) {
        if (record.text !== undefined) this.#put(record, record.text);
        else if (record.replaces !== 0) this.#remove.run(record.replaces);
      }
      this.#position.run(last.revision);
      this.#commit.run();
      this.#revision = last.revision;
    } catch (error) {
      this.#rollBack();
      const { errcode = 0, message } = error as { errcode?: number; message?: string };
      const text = `writing ${batch.length} change(s) to ${this.#path} failed: ${message ?? String(error)}`;
      // After a failed fsync it is unknown which pages reached the disk, so only a full disk may be retried.
      if ((errcode & 0xff) === SQLITE_FULL) throw new RetryableCommitError(text, { cause: error });
      throw new Error(text, { cause: error });
    }
  }

  #put({ revision, type, key, replaces }: JournalRecord, text: string): void {
    // A character takes at most three bytes; SQLite copies its arguments.
    if (this.#scratch.length < text.length * 3) this.#scratch = Buffer.allocUnsafeSlow(text.length * 4);
    const bytes = this.#scratch.subarray(0, this.#scratch.write(text));
    const crc = crc32(bytes);
    // One statement for both is a quarter cheaper than a delete and an insert.
    if (replaces !== 0 && this.#replace.run(revision, crc, bytes, replaces).changes !== 0) return;
    this.#insert.run(revision, type, key, crc, bytes);
  }

  /** The log file is the same one from the first transaction to the close. */
  #sync(): void {
    const log = `${this.#path}-wal`;
    try {
      this.#logFile ??= openSync(log, 'r+');
      fdatasyncSync(this.#logFile);
    } catch (error) {
      throw new Error(`syncing ${log} failed: ${(error as Error).message}`, { cause: error });
    }
  }

  #rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    } catch {
      // The original failure is the one to report.
    }
  }

  close(): void {
    if (this.#logFile !== undefined) closeSync(this.#logFile);
    this.#logFile = undefined;
    if (this.#db.isOpen) this.#db.close();
  }
}

// A crash-safe store for a driver's records, in one SQLite file. Several processes may have it open. Transactions are
// atomic across processes, `kill -9` and power cuts. All operations are synchronous and short, so no `await` can come
// between a read and the write that depends on it.

import { DatabaseSync, type StatementSync } from 'node:sqlite';

export interface StateStore {
  /** A named set of records. Always open the same name with the same indexes. */
  collection<T>(name: string, options?: CollectionOptions<T>): Collection<T>;
  /**
   * Runs `work` in a transaction, exclusive among all processes; rolls back if it throws. Transactions nest.
   */
  transaction<R>(work: () => R): R;
  close(): void;
}

export interface CollectionOptions<T> {
  /** Index values of a record; undefined leaves it out of that index. */
  indexes?: Readonly<Record<string, IndexOptions<T>>>;
}

export interface IndexOptions<T> {
  of: (record: T) => string | undefined;
  /** A second record with the same value is rejected with a UniqueError. */
  unique?: boolean;
}

export interface ListOptions {
  /** Only keys greater than this. */
  after?: string;
  limit?: number;
}

export interface Collection<T> {
  get(key: string): T | undefined;
  /** Upsert. */
  put(key: string, record: T): void;
  delete(key: string): void;
  /** In key order. */
  list(options?: ListOptions): { key: string; record: T }[];
  /** Records with this value in the index, in key order. */
  findAll(index: string, value: string, options?: ListOptions): { key: string; record: T }[];
  find(index: string, value: string): { key: string; record: T } | undefined;
  count(): number;
}

export class UniqueError extends Error {
  override readonly name = 'UniqueError';
}

// Processes hold the write lock for microseconds; after a longer wait the holder must be a stopped process.
const BUSY_TIMEOUT_MS = 5_000;
const WAL_PAUSE_MS = 5;
const WAL_ATTEMPTS = BUSY_TIMEOUT_MS / WAL_PAUSE_MS;
/** SQLite's primary result code SQLITE_BUSY. */
const SQLITE_BUSY = 5;

/** `:memory:` opens a store private to this process, for tests and simulations. */
export function openStateStore(path: string): StateStore {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  // WAL with NORMAL: a commit is a write without fsync. A process crash loses nothing; a power cut may lose the last
  // commits whole, as it may lose the directories and images that the records describe. Only checkpoints wait for
  // the disk, so they are rare.
  useWriteAheadLog(database);
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16000;');
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const rollback = database.prepare('ROLLBACK');
  let depth = 0;

  const transaction = <R>(work: () => R): R => {
    if (depth > 0) return work();
    begin.run();
    depth += 1;
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      if (database.isTransaction) rollback.run();
      throw error;
    } finally {
      depth -= 1;
    }
  };

  return {
    collection: (name, options = {}) => openCollection(database, { name, ...options }),
    transaction,
    close: () => database.close(),
  };
}

/** Of several processes that open a new file at once, SQLite lets one switch the mode and makes no other wait. */
function useWriteAheadLog(database: DatabaseSync): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let attempt = 1; ; attempt++) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY;
      if (!isBusy || attempt >= WAL_ATTEMPTS) throw error;
      Atomics.wait(pause, 0, 0, WAL_PAUSE_MS);
    }
  }
}

interface Row {
  key: string;
  record: string;
}

function openCollection<T>(
  database: DatabaseSync,
  { name, indexes = {} }: CollectionOptions<T> & { name: string },
): Collection<T> {
  for (const word of [name, ...Object.keys(indexes)]) {
    if (!/^[a-zA-Z]\w*$/.test(word))
      throw new TypeError(`${JSON.stringify(word)} cannot name a collection or an index`);
  }
  const columns = Object.keys(indexes).map((index) => `by_${index}`);
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${name} (key TEXT PRIMARY KEY, record TEXT NOT NULL${columns
      .map((column) => `, ${column} TEXT`)
      .join('')}) WITHOUT ROWID`,
  );
  for (const [index, { unique }] of Object.entries(indexes)) {
    const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
    database.exec(`CREATE ${kind} IF NOT EXISTS ${name}_${index} ON ${name} (by_${index})`);
  }
  const all = ['key', 'record', ...columns];
  const put = database.prepare(
    `INSERT INTO ${name} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})
     ON CONFLICT (key) DO UPDATE SET ${all
       .slice(1)
       .map((column) => `${column} = excluded.${column}`)
       .join(', ')}`,
  );
  const get = database.prepare(`SELECT key, record FROM ${name} WHERE key = ?`);
  const remove = database.prepare(`DELETE FROM ${name} WHERE key = ?`);
  const list = database.prepare(`SELECT key, record FROM ${name} WHERE key > ? ORDER BY key LIMIT ?`);
  const count = database.prepare(`SELECT count(*) AS count FROM ${name}`);
  const finders = new Map<string, StatementSync>(
    Object.keys(indexes).map((index) => [
      index,
      database.prepare(
        `SELECT key, record FROM ${name} WHERE by_${index} = ? AND key > ? ORDER BY key LIMIT ?`,
      ),
    ]),
  );
  const read = (row: unknown) => {
    const { key, record } = row as Row;
    return { key, record: decode(JSON.parse(record)) as T };
  };
  const findAll = (index: string, value: string, { after = '', limit = -1 }: ListOptions = {}) => {
    const finder = finders.get(index);
    if (finder === undefined) throw new TypeError(`collection ${name} has no index ${index}`);
    return finder.all(value, after, limit).map(read);
  };

  return {
    get(key) {
      const row = get.get(key);
      return row === undefined ? undefined : read(row).record;
    },
    put(key, record) {
      const values = Object.values(indexes).map(({ of }) => of(record) ?? null);
      try {
        put.run(key, JSON.stringify(encode(record)), ...values);
      } catch (error) {
        if (String(error).includes('UNIQUE constraint failed')) {
          throw new UniqueError(`${name} ${key}: another record has the same ${uniqueNames(indexes)}`, {
            cause: error,
          });
        }
        throw error;
      }
    },
    delete(key) {
      remove.run(key);
    },
    list: ({ after = '', limit = -1 } = {}) => list.all(after, limit).map(read),
    findAll,
    find: (index, value) => findAll(index, value, { limit: 1 })[0],
    count: () => (count.get() as { count: number }).count,
  };
}

function uniqueNames<T>(indexes: Readonly<Record<string, IndexOptions<T>>>): string {
  return Object.entries(indexes)
    .filter(([, { unique }]) => unique)
    .map(([index]) => index)
    .join(' or ');
}

// JSON has no integers beyond 2^53; sizes are bigints. A walk after parsing: a reviver makes parsing ten times slower.
function encode(value: unknown): unknown {
  if (typeof value === 'bigint') return { $bigint: value.toString() };
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value !== 'object' || value === null) return value;
  const encoded: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) encoded[key] = encode(item);
  return encoded;
}

/** In place: the parsed value is not shared. */
function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$bigint' in value) return BigInt(String(value.$bigint));
  const container = value as Record<string, unknown>;
  for (const key in container) {
    if (typeof container[key] === 'object') container[key] = decode(container[key]);
  }
  return value;
}

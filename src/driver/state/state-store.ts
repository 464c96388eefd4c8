// A crash-safe store for a driver's own records, in one SQLite file. Several processes may have it open: each reads what
// the others wrote, and a transaction is seen whole or not at all, also after `kill -9` or a power cut. Everything is
// synchronous and short, so a read and the write that depends on it cannot be torn apart by an `await`.

import { DatabaseSync, type StatementSync } from 'node:sqlite';

export interface StateStore {
  /** A named set of records. Ask for the same name with the same indexes everywhere. */
  collection<T>(name: string, options?: CollectionOptions<T>): Collection<T>;
  /**
   * Runs `work` alone among all processes; its writes are kept together, or not at all if it throws. Transactions nest.
   */
  transaction<R>(work: () => R): R;
  close(): void;
}

export interface CollectionOptions<T> {
  /** Values by which records can be found; undefined leaves a record out of that index. */
  indexes?: Readonly<Record<string, IndexOptions<T>>>;
}

export interface IndexOptions<T> {
  of: (record: T) => string | undefined;
  /** A second record with the same value is refused with a UniqueError. */
  unique?: boolean;
}

export interface ListOptions {
  /** Only keys greater than this. */
  after?: string;
  limit?: number;
}

export interface Collection<T> {
  get(key: string): T | undefined;
  /** Writes the record, whether there was one or not. */
  put(key: string, record: T): void;
  delete(key: string): void;
  /** In the order of their keys. */
  list(options?: ListOptions): { key: string; record: T }[];
  /** Records with this value in the index, in the order of their keys. */
  findAll(index: string, value: string, options?: ListOptions): { key: string; record: T }[];
  find(index: string, value: string): { key: string; record: T } | undefined;
  count(): number;
}

export class UniqueError extends Error {
  override readonly name = 'UniqueError';
}

// Other processes hold the write lock for microseconds; whoever waits longer than this has met one that is stopped.
const BUSY_TIMEOUT_MS = 5_000;

/** `:memory:` makes a store for tests and simulations, of this process alone. */
export function openStateStore(path: string): StateStore {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  // WAL with NORMAL: a commit is a write without a sync. A crash of the process loses nothing; a power cut may lose
  // the last commits, never tear one, just as it may lose the directories and images that the records speak of.
  // Checkpoints are what waits for the disk, so they are rare.
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16000;',
  );
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

// JSON has no integers beyond 2^53; sizes are bigints. Walked by hand: JSON's own hooks make parsing ten times slower.
function encode(value: unknown): unknown {
  if (typeof value === 'bigint') return { $bigint: value.toString() };
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value !== 'object' || value === null) return value;
  const encoded: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) encoded[key] = encode(item);
  return encoded;
}

/** In place: nobody else has the parsed value. */
function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$bigint' in value) return BigInt(String(value.$bigint));
  const container = value as Record<string, unknown>;
  for (const key in container) {
    if (typeof container[key] === 'object') container[key] = decode(container[key]);
  }
  return value;
}

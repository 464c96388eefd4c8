import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '../../api/object.ts';
import type { Log } from '../../runtime/ports.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { CommitError } from './group-commit.ts';
import { type Journal, RetryableCommitError } from './journal.ts';
import { openJournalThread } from './journal-thread.ts';
import { type Change, type ChangeLimits, defaultChangeLimits } from './recent-changes.ts';
import { Store } from './store.ts';

const quiet: Log = {
  info() {},
  warn() {},
  error() {},
  v: () => ({ enabled: false, info() {} }),
  with: () => quiet,
};

function object(name: string, value: unknown = 0): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, uid: name, resourceVersion: '', creationTimestamp: '' },
    data: value,
  } as unknown as KubeObject;
}

function storeWith(options: { journal?: Journal; history?: Partial<ChangeLimits> } = {}): Store {
  return new Store({
    clock: realClock,
    log: quiet,
    history: { ...defaultChangeLimits, ...options.history },
    freeze: true,
    ...(options.journal === undefined ? {} : { journal: options.journal }),
  });
}

const put = (store: Store, key: string, value: unknown = 0) =>
  store.write('configmaps', key, () => ({ kind: 'put', object: object(key, value) }));
const remove = (store: Store, key: string) =>
  store.write('configmaps', key, (current) => ({ kind: 'remove', object: current?.copy() as KubeObject }));
const keys = (store: Store, prefix = '') => [...store.range('configmaps', prefix)].map(({ key }) => key);

async function withDir(run: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'store-'));
  try {
    await run(dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

describe('the store in memory', () => {
  it('commits a write and notifies watchers before it returns', () => {
    const store = storeWith();
    const told: number[] = [];
    store.subscribe('configmaps', ({ revision }) => told.push(revision));
    void put(store, 'a/x');
    assert.equal(store.get('configmaps', 'a/x')?.object.metadata.resourceVersion, '2');
    assert.deepEqual(told, [2]);
  });

  it('publishes writes made by listeners after the change that caused them', () => {
    const store = storeWith();
    const told: string[] = [];
    store.subscribe('configmaps', ({ key }) => {
      if (key === 'a') void put(store, 'b');
    });
    store.subscribe('configmaps', ({ key }) => told.push(key));
    void put(store, 'a');
    assert.deepEqual(told, ['a', 'b']);
  });

  it('keeps keys sorted whatever the order of writes, and reads old revisions', () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 1500 }), remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.nat(), (steps, pick) => {
        const store = storeWith();
        const states = [{ revision: store.revision, keys: [] as string[] }];
        const model = new Set<string>();
        for (const each of steps) {
          const key = `n/${each.key}`;
          if (each.remove && !model.has(key)) continue;
          if (each.remove) model.delete(key);
          else model.add(key);
          void (each.remove ? remove(store, key) : put(store, key));
          states.push({ revision: store.revision, keys: [...model].sort() });
        }
        assert.deepEqual(keys(store), [...model].sort());
        const then = states[pick % states.length] as (typeof states)[0];
        const shown = [...store.rangeAt('configmaps', '', '', then.revision)].map(({ key }) => key);
        assert.deepEqual(shown, then.keys);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps ten thousand keys sorted while chunks split and become empty', () => {
    const store = storeWith();
    const random = seededRandom('keys');
    const model = new Set<string>();
    for (let at = 0; at < 10_000; at++) {
      const key = `n/${random.int(6_000)}`;
      if (model.has(key) && random.int(2) === 0) {
        model.delete(key);
        void remove(store, key);
      } else {
        model.add(key);
        void put(store, key);
      }
    }
    assert.deepEqual(keys(store), [...model].sort());
    assert.deepEqual(
      [...store.range('configmaps', 'n/', 'n/5')].map(({ key }) => key),
      [...model].sort().filter((key) => key >= 'n/5'),
    );
    for (const key of model) void remove(store, key);
    assert.deepEqual(keys(store), []);
  });

  it('notifies a listener to one object of that object only, and no listener that has unsubscribed', () => {
    const store = storeWith();
    const told: string[] = [];
    const follow = (name: string, onlyKey?: string) =>
      store.subscribe('configmaps', ({ key }) => told.push(`${name} ${key}`), onlyKey);
    follow('all');
    const unfollow = follow('a', 'a');
    follow('other a', 'a');
    for (const key of ['a', 'b']) void put(store, key);
    unfollow();
    void put(store, 'a');
    assert.deepEqual(told, ['all a', 'a a', 'other a a', 'all b', 'all a', 'other a a']);
  });

  it('keeps serialized bytes only of versions that can still be read', async () => {
    const store = storeWith();
    const first = await put(store, 'a', 1);
    const { bytes } = first;
    assert.equal(first.bytes, bytes, 'the newest keeps its bytes');
    const second = await put(store, 'a', 2);
    assert.notEqual(first.bytes, bytes, 'one that was replaced does not');
    assert.ok(!first.isSettled, 'followers may be a little behind');
    for (let at = 0; at < 127; at++) await put(store, `b/${at}`);
    assert.ok(first.isSettled && !second.isSettled);
    assert.deepEqual(JSON.parse(first.bytes.toString()), first.object);
    assert.equal(second.text, second.bytes.toString());
  });

  it('lists a namespace without those whose name it is a prefix of', () => {
    const store = storeWith();
    for (const key of ['a/1', 'a-b/1', 'ab/1', 'a/2', 'b/1']) void put(store, key);
    assert.deepEqual(keys(store, 'a/'), ['a/1', 'a/2']);
  });

  const limits: { name: string; history: Partial<ChangeLimits> }[] = [
    { name: 'count', history: { maxChanges: 10 } },
    { name: 'bytes', history: { maxBytes: 4_000 } },
  ];
  for (const { name, history } of limits) {
    it(`drops old changes by ${name}`, () => {
      const store = storeWith({ history });
      for (let at = 0; at < 100; at++) void put(store, `n/${at}`);
      const kept = [...store.history.since('configmaps', store.history.compactedRevision)];
      assert.ok(kept.length > 0 && kept.length <= 20, `${kept.length} kept`);
      assert.equal(kept[0]?.revision, store.history.compactedRevision + 1);
      assert.equal(kept.at(-1)?.revision, store.revision);
    });
  }

  it('refuses changes to shared objects when it freezes them', async () => {
    const store = storeWith();
    const { object: shared } = await put(store, 'a', { deep: [1] });
    assert.throws(() => (shared as unknown as { data: { deep: number[] } }).data.deep.push(2), TypeError);
  });
});

describe('the store on disk', () => {
  it('decides a write on top of pending ones, and shows nothing before it is durable', async () => {
    await withDir(async (dir) => {
      const journal = await openJournalThread(dir);
      const store = storeWith({ journal });
      const seen: (number | undefined)[] = [];
      const first = put(store, 'a', 1);
      const second = store.write('configmaps', 'a', (current) => {
        seen.push(current?.revision);
        return { kind: 'put', object: object('a', 2) };
      });
      const kept = store.write('configmaps', 'a', (current) => ({ kind: 'keep', version: current as never }));
      assert.equal(store.get('configmaps', 'a'), undefined);
      assert.equal((await first).revision, 2);
      assert.deepEqual(seen, [2]);
      assert.equal((await second).revision, 3);
      assert.equal((await kept).revision, 3);
      await store.close();
    });
  });

  it('restarts with every acknowledged write, at the same revision', async () => {
    await withDir(async (dir) => {
      const first = storeWith({ journal: await openJournalThread(dir) });
      await Promise.all(['a', 'b', 'c'].map((key) => put(first, key, { text: 'ä€' })));
      await put(first, 'b', 2);
      await remove(first, 'c');
      const { revision } = first;
      await first.close();
      const second = storeWith({ journal: await openJournalThread(dir) });
      assert.equal(second.revision, revision);
      assert.equal(second.history.compactedRevision, revision);
      assert.deepEqual(keys(second), ['a', 'b']);
      assert.deepEqual(second.get('configmaps', 'a')?.object, first.get('configmaps', 'a')?.object);
      await second.close();
    });
  });

  it('fails every write of a batch that cannot be committed, and rolls all of it back', async () => {
    let failing: Error | undefined = new RetryableCommitError('disk full');
    const journal: Journal = {
      revision: 1,
      load: () => [],
      async commit() {
        if (failing) throw failing;
      },
      async close() {},
    };
    const store = storeWith({ journal });
    const told: Change[] = [];
    store.subscribe('configmaps', (change) => told.push(change));
    const results = await Promise.allSettled([put(store, 'a'), put(store, 'b'), put(store, 'a')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
    assert.ok(results.every((each) => each.status === 'rejected' && each.reason instanceof CommitError));
    assert.deepEqual(keys(store), []);
    assert.deepEqual(told, []);
    assert.match(store.failure?.message ?? '', /disk full/);

    failing = undefined;
    await put(store, 'a');
    assert.deepEqual(
      told.map(({ before }) => before),
      [undefined],
    );
    assert.equal(store.failure, undefined);

    failing = new Error('fsync failed');
    await assert.rejects(put(store, 'b'), CommitError);
    failing = undefined;
    await assert.rejects(put(store, 'b'), /storage has failed/);
  });

  it('fails the writes that were decided on top of a failed batch', async () => {
    const commits: PromiseWithResolvers<void>[] = [];
    const journal: Journal = {
      revision: 1,
      load: () => [],
      commit() {
        const commit = Promise.withResolvers<void>();
        commits.push(commit);
        return commit.promise;
      },
      async close() {},
    };
    const store = storeWith({ journal });
    const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
    const first = put(store, 'a', 1);
    await nextTurn();
    const second = put(store, 'b', 2);
    const kept = store.write('configmaps', 'a', (current) => ({ kind: 'keep', version: current as never }));
    await nextTurn();
    assert.equal(commits.length, 1, 'one batch at a time');
    assert.deepEqual(keys(store), []);
    commits[0]?.resolve();
    assert.equal((await kept).revision, (await first).revision);
    assert.deepEqual(keys(store), ['a']);
    await nextTurn();
    const third = store.write('configmaps', 'b', (current) => ({ kind: 'keep', version: current as never }));
    const fourth = put(store, 'b', 4);
    commits[1]?.reject(new Error('sync failed'));
    const results = await Promise.allSettled([second, third, fourth]);
    assert.ok(results.every((each) => each.status === 'rejected' && each.reason instanceof CommitError));
    assert.deepEqual(keys(store), ['a']);
    assert.match(store.failure?.message ?? '', /sync failed/);
    await store.close();
  });

  it('is locked against a second process until the first has closed it', async () => {
    await withDir(async (dir) => {
      const journal = await openJournalThread(dir);
      await assert.rejects(openJournalThread(dir), {
        name: 'DataDirError',
        message: /in use by another process/,
      });
      await journal.close();
      await (await openJournalThread(dir)).close();
    });
  });

  const damages: { name: string; damage: (path: string) => Promise<void>; message: RegExp }[] = [
    {
      name: 'a newer format',
      damage: async (path) => withDatabase(path, 'PRAGMA user_version = 2'),
      message: /storage format 2, this version reads format 1/,
    },
    {
      name: "another program's file",
      damage: async (path) => withDatabase(path, 'PRAGMA application_id = 7'),
      message: /another program/,
    },
    {
      name: 'no database at all',
      damage: (path) => writeFile(path, 'x'.repeat(9000)),
      message: /cannot be read/,
    },
    {
      name: 'a changed value',
      damage: async (path) => withDatabase(path, "UPDATE objects SET value = CAST('{}' AS BLOB)"),
      message: /does not match its checksum/,
    },
    {
      name: 'a broken page',
      damage: async (path) => {
        const bytes = await readFile(path);
        bytes.fill(0xff, 4096);
        await writeFile(path, bytes);
      },
      message: /cannot be read|damaged/,
    },
  ];
  for (const { name, damage, message } of damages) {
    it(`refuses ${name} and leaves the file as it is`, async () => {
      await withDir(async (dir) => {
        const store = storeWith({ journal: await openJournalThread(dir) });
        await put(store, 'a', 'value');
        await store.close();
        const path = join(dir, 'state.db');
        await damage(path);
        const before = await readFile(path);
        await assert.rejects(openJournalThread(dir), {
          name: 'DataDirError',
          message,
        });
        assert.deepEqual(await readFile(path), before);
      });
    });
  }
});

function withDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

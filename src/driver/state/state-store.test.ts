import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Collection, openStateStore, type StateStore, UniqueError } from './state-store.ts';

interface Thing {
  name: string;
  color?: string;
  size: bigint;
}

const things = (store: StateStore): Collection<Thing> =>
  store.collection<Thing>('things', {
    indexes: { name: { of: ({ name }) => name, unique: true }, color: { of: ({ color }) => color } },
  });

describe('state store', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'berth-store-'));
  });
  after(() => rm(root, { recursive: true }));

  it('keeps typed records, bigints included, and finds them', () => {
    const store = openStateStore(':memory:');
    const all = things(store);
    all.put('b', { name: 'two', color: 'red', size: 1n << 60n });
    all.put('a', { name: 'one', color: 'red', size: 1n });
    all.put('c', { name: 'three', size: 3n });
    assert.deepEqual(all.get('b'), { name: 'two', color: 'red', size: 1n << 60n });
    assert.deepEqual(
      all.list().map(({ key }) => key),
      ['a', 'b', 'c'],
    );
    assert.deepEqual(
      all.list({ after: 'a', limit: 1 }).map(({ key }) => key),
      ['b'],
    );
    assert.deepEqual(
      all.findAll('color', 'red').map(({ key }) => key),
      ['a', 'b'],
    );
    assert.equal(all.find('name', 'three')?.key, 'c');
    all.put('b', { name: 'two', size: 2n });
    assert.deepEqual(
      all.findAll('color', 'red').map(({ key }) => key),
      ['a'],
    );
    assert.throws(() => all.put('d', { name: 'one', size: 0n }), UniqueError);
    all.delete('a');
    assert.equal(all.count(), 2);
    store.close();
  });

  it('undoes a transaction that throws, with those inside it', () => {
    const store = openStateStore(':memory:');
    const all = things(store);
    assert.throws(() =>
      store.transaction(() => {
        all.put('a', { name: 'one', size: 1n });
        store.transaction(() => all.put('b', { name: 'two', size: 2n }));
        throw new Error('no');
      }),
    );
    assert.equal(all.count(), 0);
    store.transaction(() => all.put('a', { name: 'one', size: 1n }));
    assert.equal(all.count(), 1);
    store.close();
  });

  it('shows another process what was written, and lets no two take one name', async () => {
    const path = join(root, 'shared.db');
    const store = openStateStore(path);
    const all = things(store);
    const writers = ['x', 'y', 'z'].map((prefix) =>
      child(
        path,
        `
      for (let at = 0; at < 100; at += 1) {
        try { store.transaction(() => { things.put('${prefix}' + at, { name: 'name ' + at, size: 1n }); }); }
        catch (error) { if (error.name !== 'UniqueError') throw error; }
      }
    `,
      ),
    );
    assert.deepEqual(await Promise.all(writers), [0, 0, 0]);
    assert.equal(all.count(), 100);
    store.close();
  });

  it('loses nothing that was written, and nothing half, to kill -9', async () => {
    const path = join(root, 'killed.db');
    const code = await child(
      path,
      `
      store.transaction(() => { things.put('a', { name: 'one', size: 1n }); });
      store.transaction(() => {
        things.put('b', { name: 'two', size: 1n });
        process.kill(process.pid, 'SIGKILL');
      });
    `,
    );
    assert.equal(code, 'SIGKILL');
    const store = openStateStore(path);
    assert.deepEqual(
      things(store)
        .list()
        .map(({ key }) => key),
      ['a'],
    );
    store.close();
  });
});

function child(path: string, body: string): Promise<number | string | null> {
  const source = `
    import { openStateStore } from ${JSON.stringify(new URL('./state-store.ts', import.meta.url).href)};
    const store = openStateStore(${JSON.stringify(path)});
    const things = store.collection('things', {
      indexes: { name: { of: ({ name }) => name, unique: true }, color: { of: ({ color }) => color } },
    });
    ${body}`;
  const process_ = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve) => process_.once('exit', (code, signal) => resolve(signal ?? code)));
}

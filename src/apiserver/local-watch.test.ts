// How a watch in the same process ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secrets } from '../api/kinds.ts';
import { VirtualClock } from '../runtime/time/virtual-clock.ts';
import { draft, testServer } from './testing/test-server.ts';

const secret = draft<never>({ metadata: { namespace: 'default', name: 'c' } });

test('a watch that waits ends when the server stops', async (t) => {
  const server = await testServer(t);
  const watch = server.client(server.adminUser).watch(secrets, {})[Symbol.asyncIterator]();
  const waiting = watch.next();
  await server.stop();
  assert.deepEqual(await waiting, { done: true, value: undefined });
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
});

test('a watch that waits ends with the reason of its signal, before or after it started', async (t) => {
  const server = await testServer(t);
  const client = server.client(server.adminUser);
  const stop = new AbortController();
  const watch = client.watch(secrets, { signal: stop.signal })[Symbol.asyncIterator]();
  const waiting = watch.next();
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  const late = client.watch(secrets, { signal: stop.signal })[Symbol.asyncIterator]();
  await assert.rejects(late.next(), /enough/);
});

test('a watch ends when its time is up, and events before that are not lost', async (t) => {
  const clock = new VirtualClock();
  const server = await testServer(t, { clock });
  const client = server.client(server.adminUser);
  const watch = client.watch(secrets, { timeoutSeconds: 10 })[Symbol.asyncIterator]();
  const first = watch.next();
  await client.create(secrets, secret);
  const { value } = await first;
  assert.equal(value?.type, 'ADDED');
  const waiting = watch.next();
  await clock.advance(9_000);
  let isOver = false;
  void waiting.then(() => {
    isOver = true;
  });
  await clock.advance(500);
  assert.equal(isOver, false);
  await clock.advance(1_000);
  assert.deepEqual(await waiting, { done: true, value: undefined });
});

test('a watch has a bookmark every four minutes, if it wants any', async (t) => {
  const clock = new VirtualClock();
  const server = await testServer(t, { clock });
  const client = server.client(server.adminUser);
  const watch = client.watch(secrets, { allowBookmarks: true })[Symbol.asyncIterator]();
  for (let count = 0; count < 2; count++) {
    const waiting = watch.next();
    await clock.advance(240_000);
    const { value } = await waiting;
    assert.equal(value?.type, 'BOOKMARK');
  }
  const waiting = watch.next();
  await watch.return?.();
  assert.deepEqual(await waiting, { done: true, value: undefined });
});

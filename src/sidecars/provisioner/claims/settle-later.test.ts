import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../../runtime/virtual-clock.ts';
import { SettleLater } from './settle-later.ts';

test('claims are let go once no volume was asked for during a moment, and not while one is being made', async () => {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const later = new SettleLater({ clock, wake: (key) => woken.push(key) });
  const { signal } = new AbortController();
  assert.equal(later.isBusy, false);
  const slow = Promise.withResolvers<void>();
  const making = later.while(() => slow.promise);
  later.add('a', signal);
  later.add('b', signal);
  later.delete('b');
  await clock.advance(60_000);
  assert.deepEqual(woken, []);
  slow.resolve();
  await making;
  assert.equal(later.isBusy, true);
  await clock.advance(2_000);
  assert.deepEqual(woken, ['a']);
  assert.equal(later.isBusy, false);
});

test('a failure counts as the end of a wait, and an abort ends the watch', async () => {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const later = new SettleLater({ clock, wake: (key) => woken.push(key) });
  const stop = new AbortController();
  await assert.rejects(
    later.while(() => Promise.reject(new Error('no'))),
    /no/,
  );
  later.add('a', stop.signal);
  stop.abort(new Error('stopped'));
  await clock.advance(10_000);
  assert.deepEqual(woken, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onAbort } from './on-abort.ts';

test('everybody who waits for one abort is told once, in order, except who took it back', () => {
  const controller = new AbortController();
  const told: string[] = [];
  const tell = (name: string) => (): void => void told.push(name);
  onAbort(controller.signal, tell('first'));
  const takeBack = onAbort(controller.signal, tell('second'));
  onAbort(controller.signal, tell('third'));
  takeBack();
  controller.abort();
  assert.deepEqual(told, ['first', 'third']);
});

test('the same function may wait twice, and takes back only once', () => {
  const controller = new AbortController();
  let calls = 0;
  const count = (): void => void calls++;
  onAbort(controller.signal, count);
  onAbort(controller.signal, count)();
  controller.abort();
  assert.equal(calls, 1);
});

test('one that is told takes back another, which then is not told', () => {
  const controller = new AbortController();
  const told: string[] = [];
  onAbort(controller.signal, () => takeBack());
  const takeBack = onAbort(controller.signal, () => told.push('never'));
  controller.abort();
  assert.deepEqual(told, []);
});

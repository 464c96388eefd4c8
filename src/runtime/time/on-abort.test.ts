import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onAbort } from './on-abort.ts';

test('every listener of one abort is called once, in order, except removed ones', () => {
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

test('the same function may be added twice, and is removed once', () => {
  const controller = new AbortController();
  let calls = 0;
  const count = (): void => void calls++;
  onAbort(controller.signal, count);
  onAbort(controller.signal, count)();
  controller.abort();
  assert.equal(calls, 1);
});

test('a listener that removes another keeps it from being called', () => {
  const controller = new AbortController();
  const told: string[] = [];
  onAbort(controller.signal, () => takeBack());
  const takeBack = onAbort(controller.signal, () => told.push('never'));
  controller.abort();
  assert.deepEqual(told, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { Retries } from './retries.ts';

function setUp() {
  const clock = new VirtualClock();
  return {
    clock,
    retries: new Retries({ clock, random: seededRandom(1), backoff: { startMs: 10, maxMs: 35 } }),
  };
}

test('waits double up to the longest, and other inputs start from the beginning', () => {
  const { retries } = setUp();
  assert.equal(retries.held('x'), undefined);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => retries.failed({ inputs: 'x' })),
    [10, 20, 35, 35],
  );
  assert.deepEqual(retries.held('x'), { kind: 'held', delayMs: 35 });
  assert.equal(retries.held('changed'), undefined);
  assert.equal(retries.failed({ inputs: 'changed' }), 10);
  assert.equal(retries.failed({ inputs: 'changed', slow: true }), 35);
  assert.equal(retries.failures(), 2);
  retries.clear();
  assert.equal(retries.held('changed'), undefined);
  assert.equal(retries.isEmpty, true);
});

test('a failure without inputs does not release a hold on other inputs', async () => {
  const { clock, retries } = setUp();
  retries.failed({ inputs: 'x', slow: true });
  await clock.advance(5);
  assert.equal(retries.failed({}), 20);
  assert.deepEqual(retries.held('x'), { kind: 'held', delayMs: 30 });
});

test('operations of one key have separate backoffs', async () => {
  const { clock, retries } = setUp();
  retries.failed({ operation: 'mount' });
  retries.failed({ operation: 'mount' });
  retries.failed({ operation: 'unmount' });
  await clock.advance(10);
  assert.equal(retries.waitMs({ operation: 'mount' }), 10);
  assert.equal(retries.waitMs({ operation: 'unmount' }), 0);
  assert.equal(retries.failures('mount'), 2);
  assert.equal(retries.failures(), 0);
  retries.succeeded('unmount');
  assert.equal(retries.failures('unmount'), 0);
  retries.failed({});
  retries.keepOnly(new Set(['unmount']));
  assert.equal(retries.failures('mount'), 0);
  assert.equal(retries.failures(), 1);
});

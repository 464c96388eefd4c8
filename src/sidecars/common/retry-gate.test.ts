import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { RetryGate } from './retry-gate.ts';

test('pauses double up to the longest, and a change opens the gate at once', () => {
  const clock = new VirtualClock();
  const gate = new RetryGate({ clock, random: seededRandom(1), policy: { startMs: 10, maxMs: 35 } });
  assert.equal(gate.waitMs('a', 'x'), 0);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => gate.failed('a', 'x', false)),
    [10, 20, 35, 35],
  );
  assert.equal(gate.waitMs('a', 'x'), 35);
  assert.equal(gate.waitMs('a', 'changed'), 0);
  assert.equal(gate.waitMs('b', 'x'), 0);
  assert.equal(gate.failed('a', 'changed', false), 10);
  assert.equal(gate.failed('a', 'changed', true), 35);
  gate.forget('a');
  assert.equal(gate.waitMs('a', 'changed'), 0);
});

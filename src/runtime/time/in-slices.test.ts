import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inSlices, SLICE } from './in-slices.ts';
import { VirtualClock } from './virtual-clock.ts';

const cases = [
  { name: 'nothing', count: 0, atOnce: 0 },
  { name: 'one slice', count: SLICE, atOnce: SLICE },
  { name: 'one item more', count: SLICE + 1, atOnce: SLICE },
  { name: 'many slices', count: 3 * SLICE + 5, atOnce: SLICE },
];
for (const { name, count, atOnce } of cases) {
  test(`items are looked at once each, in order, a slice in a turn: ${name}`, async () => {
    const clock = new VirtualClock();
    const items = Array.from({ length: count }, (_, index) => index);
    const seen: number[] = [];
    inSlices(clock, items, (item) => seen.push(item));
    assert.equal(seen.length, atOnce);
    await clock.settle();
    assert.deepEqual(seen, items);
  });
}

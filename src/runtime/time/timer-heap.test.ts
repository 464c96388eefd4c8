import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { type HeapEntry, TimerHeap } from './timer-heap.ts';

it('returns entries by time, then by insertion, with any removals in between', () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), dueMs: fc.nat(20) }),
    fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('pop' as const) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const heap = new TimerHeap<HeapEntry>();
      const model: HeapEntry[] = [];
      for (const act of actions) {
        if (act.kind === 'push') {
          const entry = { dueMs: act.dueMs, sequence: 0, index: -1 };
          heap.push(entry);
          model.push(entry);
          // A stable sort is the order asked for: insertion decides between equals.
          model.sort((a, b) => a.dueMs - b.dueMs);
        } else if (act.kind === 'pop') {
          assert.equal(heap.pop(), model.shift());
        } else {
          const entry = model[act.which % Math.max(1, model.length)];
          if (entry === undefined) continue;
          heap.remove(entry);
          heap.remove(entry);
          model.splice(model.indexOf(entry), 1);
        }
        assert.equal(heap.peek(), model[0]);
        assert.equal(heap.size, model.length);
      }
    }),
  );
});

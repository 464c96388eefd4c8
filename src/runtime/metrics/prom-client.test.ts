// The text of our metrics against prom-client's for the same history, byte for byte.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createMetrics } from './metrics.ts';

const label = fc.constantFrom('a', 'b', '', 'say "hi"', 'back\\slash', 'new\nline', 'ä€😀');
const labels = fc.record({ one: label, two: label });
const amount = fc.oneof(
  fc.constantFrom(0, 0.1, 1, 1e-7, 1e21, 0.30000000000000004),
  fc.double({ min: 0, max: 1e6, noNaN: true }),
);
const kind = fc.constantFrom('counter', 'plain', 'gauge', 'histogram');
const step = fc.record({ kind, labels, amount });
const labelNames = ['one', 'two'] as const;
const buckets = [0.1, 0.25, 1, 1000];
const help = 'What it is, with a \\ and a\nnewline.';

test('any sequence of operations is rendered as by prom-client', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
    const ours = createMetrics();
    const registry = new Registry();
    const registers = [registry];
    const counter = ours.counter({ name: 'a_total', help, labelNames });
    const plain = ours.counter({ name: 'b_total', help });
    const gauge = ours.gauge({ name: 'c', help, labelNames });
    const histogram = ours.histogram({ name: 'd_seconds', help, labelNames, buckets });
    const theirs = {
      counter: new Counter({ name: 'a_total', help, labelNames, registers }),
      plain: new Counter({ name: 'b_total', help, registers }),
      gauge: new Gauge({ name: 'c', help, labelNames, registers }),
      histogram: new Histogram({ name: 'd_seconds', help, labelNames, buckets, registers }),
    };
    for (const { kind: which, labels: of, amount: by } of steps) {
      if (which === 'counter') {
        counter.inc(of, by);
        theirs.counter.inc(of, by);
      } else if (which === 'plain') {
        plain.inc(by);
        theirs.plain.inc(by);
      } else if (which === 'gauge') {
        gauge.set(of, by);
        theirs.gauge.set(of, by);
      } else {
        histogram.observe(of, by);
        theirs.histogram.observe(of, by);
      }
    }
    // Ours begins with the start time of the process, which prom-client has among its default metrics.
    const text = ours.text().replace(/^# HELP process_start_time_seconds.*?\n\n/s, '');
    assert.equal(text, await registry.metrics());
  });
  await fc.assert(property, { numRuns: 300 });
});

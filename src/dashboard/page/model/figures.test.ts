// The series of the charts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallFigures, Sample } from '../../page-messages.ts';
import { busiestMethods, callLines, medianLines, standLines, worstLines } from './figures.ts';

const calls = (method: string, count: number, more: Partial<CallFigures> = {}): CallFigures => ({
  method,
  count,
  failed: 0,
  medianMs: 1,
  worstMs: 2,
  ...more,
});
const sample = (atMs: number, ...figures: CallFigures[]): Sample => ({
  atMs,
  claims: 4,
  bound: 3,
  pods: 2,
  running: 1,
  attached: 0,
  calls: figures,
});
const valuesOf = ({ lines }: ReturnType<typeof callLines>) =>
  Object.fromEntries(lines.map(({ label, values }) => [label, values]));

test('how the cluster stands', () => {
  assert.deepEqual(standLines([sample(1000), sample(2000)], { bound: 'bound', claims: 'all' }), {
    times: [1, 2],
    lines: [
      { label: 'bound', values: [3, 3] },
      { label: 'all', values: [4, 4] },
    ],
  });
});

test('calls are counted by the time that went by', () => {
  const lines = callLines([
    sample(1000, calls('A', 3)),
    sample(3000, calls('A', 3)),
    sample(3500, calls('A', 3)),
  ]);
  assert.deepEqual(valuesOf(lines), { A: [3, 1.5, 6] });
});

test('two samples of one moment divide by nothing less than a second', () => {
  assert.deepEqual(valuesOf(callLines([sample(1000, calls('A', 1)), sample(1000, calls('A', 2))])), {
    A: [1, 2],
  });
});

const seven = ['G', 'F', 'E', 'D', 'C', 'B', 'A'].map((method, index) => calls(method, index + 1));

test('the five most called methods have lines, in the order of their names', () => {
  assert.deepEqual(busiestMethods([sample(0, ...seven)]), ['A', 'B', 'C', 'D', 'E']);
  assert.deepEqual(busiestMethods([sample(0, calls('B', 1)), sample(1, calls('A', 1))]), ['A', 'B']);
});

test('the others have one together', () => {
  const lines = valuesOf(callLines([sample(1000, ...seven), sample(2000)]));
  assert.deepEqual(Object.keys(lines), ['A', 'B', 'C', 'D', 'E', 'others']);
  assert.deepEqual(lines.others, [3, 0]);
});

test('latencies: nothing where nothing was called', () => {
  const samples = [sample(1000, calls('A', 2, { medianMs: 5, worstMs: 9 })), sample(2000, calls('A', 0))];
  assert.deepEqual(valuesOf(medianLines(samples)), { A: [5, null] });
  assert.deepEqual(valuesOf(worstLines(samples)), { A: [9, null] });
});

test('latencies of the others: the worst of all, and the median weighed by calls', () => {
  const named = ['A', 'B', 'C', 'D', 'E'].map((method) => calls(method, 100));
  const samples = [
    sample(
      1000,
      ...named,
      calls('F', 9, { medianMs: 10, worstMs: 20 }),
      calls('G', 2, { medianMs: 1, worstMs: 500 }),
    ),
  ];
  assert.deepEqual(valuesOf(medianLines(samples)).others, [10]);
  assert.deepEqual(valuesOf(worstLines(samples)).others, [500]);
});

test('failures of all methods together', () => {
  const samples = [sample(1000, calls('A', 2, { failed: 1 }), calls('B', 2, { failed: 2 })), sample(3000)];
  assert.deepEqual(valuesOf(callLines(samples)), { A: [2, 0], B: [2, 0], failed: [3, 0] });
});

test('no line is drawn across gaps between samples', () => {
  const { times, lines } = standLines([sample(1000), sample(2000), sample(9000)], { bound: 'bound' });
  assert.deepEqual(times, [1, 2, 5.5, 9]);
  assert.deepEqual(lines, [{ label: 'bound', values: [3, 3, null, 3] }]);
});

test('without history there are no methods', () => {
  const { calls: _, ...bare } = sample(1000);
  assert.deepEqual(callLines([bare]), { times: [1], lines: [] });
});

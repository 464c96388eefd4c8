// Formatting of times.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAge, formatClock, formatLatency, formatSince } from './durations.ts';

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;

const cases: [what: string, got: string, expected: string][] = [
  ['age, of what the clocks place in the future', formatAge(-5 * S), '0s'],
  ['age, below a second', formatAge(999), '0s'],
  ['age in seconds', formatAge(59 * S), '59s'],
  ['age in minutes', formatAge(3 * M + 12 * S), '3m12s'],
  ['age in whole minutes', formatAge(3 * M), '3m00s'],
  ['age in hours', formatAge(5 * H + 4 * M + 59 * S), '5h04m'],
  ['age in days', formatAge(3 * D + 7 * H), '3d7h'],
  ['since, at the beginning', formatSince(0), '+0.000s'],
  ['since, to the millisecond', formatSince(12.4), '+0.012s'],
  ['since, long after', formatSince(3 * M + 12 * S + 5), '+3m12s'],
  ['latency below ten', formatLatency(0.42), '0.4 ms'],
  ['latency', formatLatency(12.4), '12 ms'],
  ['latency of nothing', formatLatency(0), '0 ms'],
  ['latency of a second', formatLatency(1_234), '1.2 s'],
  ['clock, where the reader is', formatClock(new Date(2026, 0, 1, 7, 4, 9).getTime()), '07:04:09'],
];
for (const [what, got, expected] of cases) {
  test(what, () => assert.equal(got, expected));
}

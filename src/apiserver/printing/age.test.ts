import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf, humanDuration } from './age.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const table: [durationMs: number, text: string][] = [
  [-2 * SECOND, '<invalid>'],
  [-1 * SECOND, '0s'],
  [0, '0s'],
  [119 * SECOND, '119s'],
  [120 * SECOND, '2m'],
  [125 * SECOND, '2m5s'],
  [10 * MINUTE - SECOND, '9m59s'],
  [10 * MINUTE + SECOND, '10m'],
  [180 * MINUTE - SECOND, '179m'],
  [180 * MINUTE, '3h'],
  [181 * MINUTE, '3h1m'],
  [8 * HOUR - MINUTE, '7h59m'],
  [8 * HOUR + MINUTE, '8h'],
  [48 * HOUR - MINUTE, '47h'],
  [48 * HOUR, '2d'],
  [49 * HOUR, '2d1h'],
  [192 * HOUR - HOUR, '7d23h'],
  [192 * HOUR + HOUR, '8d'],
  [2 * YEAR - DAY, '729d'],
  [2 * YEAR, '2y'],
  [2 * YEAR + DAY, '2y1d'],
  [8 * YEAR - DAY, '7y364d'],
  [8 * YEAR + DAY, '8y'],
];
for (const [durationMs, text] of table) {
  test(`${durationMs} ms is shown as ${text}`, () => assert.equal(humanDuration(durationMs), text));
}

test('an age is that of a timestamp', () => {
  const stamp = '2026-01-01T00:00:00Z';
  assert.equal(ageOf(stamp, Date.parse(stamp) + 5 * SECOND), '5s');
  for (const odd of [undefined, null, 5, 'soon']) assert.equal(ageOf(odd, 0), '<unknown>');
});

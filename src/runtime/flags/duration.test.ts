import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from './duration.ts';

const readings: { text: string; ms: number | undefined }[] = [
  { text: '15s', ms: 15_000 },
  { text: '1m30s', ms: 90_000 },
  { text: '100ms', ms: 100 },
  { text: '1.5h', ms: 5_400_000 },
  { text: '.5s', ms: 500 },
  { text: '1h0m0s', ms: 3_600_000 },
  { text: '-2s', ms: -2000 },
  { text: '+2s', ms: 2000 },
  { text: '250us', ms: 0.25 },
  { text: '250µs', ms: 0.25 },
  { text: '250μs', ms: 0.25 },
  { text: '1ns', ms: 0.000001 },
  { text: '0', ms: 0 },
  { text: '-0s', ms: 0 },
  { text: '2562047h', ms: 2562047 * 3_600_000 },
  { text: '', ms: undefined },
  { text: '15', ms: undefined },
  { text: '1d', ms: undefined },
  { text: '15 s', ms: undefined },
  { text: '1m 30s', ms: undefined },
  { text: 's', ms: undefined },
  { text: '.s', ms: undefined },
  { text: '1.2.3s', ms: undefined },
  { text: '--1s', ms: undefined },
  { text: '2562048h', ms: undefined },
];

for (const { text, ms } of readings) {
  test(`duration ${JSON.stringify(text)} reads as ${ms}`, () => assert.equal(parseDuration(text), ms));
}

const writings: [ms: number, text: string][] = [
  [0, '0s'],
  [0.000001, '1ns'],
  [0.25, '250µs'],
  [100, '100ms'],
  [1.5, '1.5ms'],
  [1500, '1.5s'],
  [15_000, '15s'],
  [90_000, '1m30s'],
  [600_000, '10m0s'],
  [3_600_000, '1h0m0s'],
  [-90_000, '-1m30s'],
];

for (const [ms, text] of writings) {
  test(`${ms} ms is written ${text}`, () => assert.equal(formatDuration(ms), text));
}

test('what is no number is no duration', () => {
  assert.throws(() => formatDuration(Number.NaN), RangeError);
});

test('any duration written and read again is the same', () => {
  const wholeMs = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
  const wholeNanoseconds = fc.integer({ min: -(10 ** 12), max: 10 ** 12 }).map((ns) => ns / 1e6);
  fc.assert(
    fc.property(fc.oneof(wholeMs, wholeNanoseconds), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
  );
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffDelayMs } from './backoff.ts';

const always = (value: number) => ({ next: () => value });

describe('backoffDelayMs', () => {
  const policy = { startMs: 1000, maxMs: 300_000 };
  for (const { failures, jitter, chance, expected } of [
    { failures: 0, jitter: 0, chance: 0.9, expected: 1000 },
    { failures: 1, jitter: 0, chance: 0.9, expected: 2000 },
    { failures: 8, jitter: 0, chance: 0.9, expected: 256_000 },
    { failures: 9, jitter: 0, chance: 0.9, expected: 300_000 },
    { failures: 1e9, jitter: 0, chance: 0.9, expected: 300_000 },
    { failures: 1, jitter: 0.5, chance: 0.5, expected: 2500 },
    { failures: 20, jitter: 0.5, chance: 0, expected: 300_000 },
  ]) {
    it(`${failures} failures, jitter ${jitter} at ${chance}: ${expected} ms`, () => {
      assert.equal(backoffDelayMs({ ...policy, jitter }, failures, always(chance)), expected);
    });
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { chooseSize, type RequestedRange, sizeFits } from './capacity.ts';

const limits = { defaultBytes: 100n, minBytes: 10n, maxBytes: 1000n, stepBytes: 10n };
const range = (requiredBytes: bigint, limitBytes = 0n): RequestedRange => ({ requiredBytes, limitBytes });

describe('sizes', () => {
  const cases: [string, RequestedRange | undefined, bigint | 'OUT_OF_RANGE'][] = [
    ['nothing asked', undefined, 100n],
    ['zero asked', range(0n), 100n],
    ['a limit below the default', range(0n, 50n), 50n],
    ['rounded up', range(41n), 50n],
    ['at least the smallest', range(1n), 10n],
    ['rounding would pass the limit', range(41n, 45n), 'OUT_OF_RANGE'],
    ['less than the smallest', range(1n, 5n), 'OUT_OF_RANGE'],
    ['more than the largest', range(1001n), 'OUT_OF_RANGE'],
    ['exactly the largest', range(1000n, 1000n), 1000n],
  ];
  for (const [name, asked, expected] of cases) {
    it(name, () => {
      if (expected === 'OUT_OF_RANGE')
        assert.throws(() => chooseSize(asked, limits), { code: 'OUT_OF_RANGE' });
      else assert.equal(chooseSize(asked, limits), expected);
    });
  }

  it('any size that is chosen fits what was asked and what can be made', () => {
    const amount = fc.bigInt({ min: 0n, max: 2000n });
    fc.assert(
      fc.property(amount, amount, (requiredBytes, extra) => {
        const asked = { requiredBytes, limitBytes: extra === 0n ? 0n : requiredBytes + extra };
        try {
          const size = chooseSize(asked, limits);
          assert.ok(sizeFits(size, asked));
          assert.ok(size >= limits.minBytes && size <= limits.maxBytes && size % limits.stepBytes === 0n);
        } catch (error) {
          assert.equal((error as { code: string }).code, 'OUT_OF_RANGE');
        }
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  isQuantity,
  parseQuantity,
  quantityFromBytes,
  quantityToBytes,
  subtractQuantities,
} from './quantity.ts';

const canonical: [string, string][] = [
  ['0', '0'],
  ['0Gi', '0'],
  ['1', '1'],
  ['+5', '5'],
  ['-5', '-5'],
  ['.5', '500m'],
  ['5.', '5'],
  ['1.5', '1500m'],
  ['1000m', '1'],
  ['1024Mi', '1Gi'],
  ['1.5Gi', '1536Mi'],
  ['512', '512'],
  ['1Ki', '1Ki'],
  ['0.5Ki', '512'],
  ['0.5Gi', '512Mi'],
  ['1000000', '1M'],
  ['1e3', '1e3'],
  ['1000e3', '1e6'],
  ['1E3', '1e3'],
  ['12E', '12E'],
  ['1e-3', '1e-3'],
  ['0.1n', '1n'],
  ['1.0000000001', '1000000001n'],
  ['8Ei', '9223372036854775807'],
  ['100Ki', '100Ki'],
  ['1.1Ki', '1126400m'],
];
for (const [text, expected] of canonical) {
  test(`the canonical form of ${text} is ${expected}`, () => assert.equal(canonicalQuantity(text), expected));
}

for (const text of ['', 'Gi', '1GiB', '1 Gi', '1KI', 'abc', '1..2', '--1', '1e', '1e9999999', '0x10', '１']) {
  test(`${JSON.stringify(text)} is not a quantity`, () => assert.equal(isQuantity(text), false));
}

test('quantities compare and add across families', () => {
  assert.equal(compareQuantities('1Gi', '1G'), 1);
  assert.equal(compareQuantities('1024Mi', '1Gi'), 0);
  assert.equal(compareQuantities('-1', '1m'), -1);
  assert.equal(formatQuantity(addQuantities('1Gi', '512Mi')), '1536Mi');
  assert.equal(formatQuantity(addQuantities('0', '1Gi')), '1Gi');
  assert.equal(formatQuantity(subtractQuantities('1Gi', '1Gi')), '0');
  assert.equal(quantityToBytes('1.5Ki'), 1536n);
  assert.equal(quantityToBytes('1m'), 1n);
  assert.equal(formatQuantity(quantityFromBytes(5n * 1024n ** 3n)), '5Gi');
});

const suffixes = ['', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-3'];
const quantities = fc
  .tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.constantFrom(...suffixes))
  .map(([number, suffix]) => `${number}${suffix}`);

test('canonical form keeps the amount and is its own canonical form', () => {
  fc.assert(
    fc.property(quantities, (text) => {
      const written = canonicalQuantity(text);
      assert.equal(parseQuantity(written).nano, parseQuantity(text).nano);
      assert.equal(canonicalQuantity(written), written);
    }),
  );
});

test('comparison agrees with subtraction, and addition commutes in amount', () => {
  fc.assert(
    fc.property(quantities, quantities, (a, b) => {
      const difference = subtractQuantities(a, b).nano;
      assert.equal(compareQuantities(a, b), difference < 0n ? -1 : difference > 0n ? 1 : 0);
      assert.equal(addQuantities(a, b).nano, addQuantities(b, a).nano);
    }),
  );
});

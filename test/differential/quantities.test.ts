import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isQuantity,
  parseQuantity,
  quantityToBytes,
  subtractQuantities,
} from '../../src/api/quantity.ts';
import { agree, recorded } from './recorded.ts';

interface Parsed {
  text: string;
  bad?: boolean;
  /** `String()` */
  shown?: string;
  /** `Value()`, where it is not negative and fits 64 bits. */
  value?: string;
}
type Pair = [a: string, b: string, compared: number, sum: string, difference: string];

const { parsed, pairs } = recorded<{ parsed: Parsed[]; pairs: Pair[] }>('quantities');

test('quantities are read, written and rounded as by resource.Quantity', () => {
  agree(parsed, {
    same({ text, bad = false, shown, value }) {
      if (!isQuantity(text)) return bad ? undefined : 'refused';
      if (bad) return 'accepted';
      const quantity = parseQuantity(text);
      if (formatQuantity(quantity) !== shown) return `written as ${formatQuantity(quantity)}`;
      if (value !== undefined && String(quantityToBytes(quantity)) !== value) {
        return `${quantityToBytes(quantity)} bytes`;
      }
      return undefined;
    },
    differences: [
      {
        row: 'a quantity without a digit, or with an exponent beyond 1000',
        applies: ({ text }) => !/[0-9]/.test(text) || /e[0-9]{4}/i.test(text),
      },
    ],
  });
});

test('quantities are compared, added and subtracted as by resource.Quantity', () => {
  agree(pairs, {
    same([a, b, compared, sum, difference]) {
      if (compareQuantities(a, b) !== compared) return `compared ${compareQuantities(a, b)}`;
      const ours = [formatQuantity(addQuantities(a, b)), formatQuantity(subtractQuantities(a, b))];
      return ours[0] === sum && ours[1] === difference ? undefined : ours.join(', ');
    },
  });
  assert(pairs.length > 500);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { sameJson } from './same-json.ts';

const rows: { name: string; left: unknown; right: unknown; same: boolean }[] = [
  { name: 'nothing and nothing', left: undefined, right: undefined, same: true },
  { name: 'nothing and an empty list', left: undefined, right: [], same: false },
  { name: 'an empty list and an empty map', left: [], right: {}, same: false },
  { name: 'another order of keys', left: { a: 1, b: 2 }, right: { b: 2, a: 1 }, same: true },
  { name: 'another order of a list', left: [1, 2], right: [2, 1], same: false },
  { name: 'a key instead of another', left: { a: 1 }, right: { b: 1 }, same: false },
  { name: 'a difference far inside', left: { a: [{ b: 'x' }] }, right: { a: [{ b: 'y' }] }, same: false },
  { name: 'a key that is undefined and another key', left: { a: undefined }, right: { b: 1 }, same: false },
  { name: 'a key that is undefined and no key', left: { a: undefined, b: 1 }, right: { b: 1 }, same: true },
  { name: 'a key that is undefined and null', left: { a: undefined }, right: { a: null }, same: false },
  { name: 'an inherited name as a key', left: { constructor: 1 }, right: {}, same: false },
  { name: 'null and an empty map', left: null, right: {}, same: false },
];

for (const { name, left, right, same } of rows) {
  test(name, () => {
    assert.equal(sameJson(left, right), same);
    assert.equal(sameJson(right, left), same);
  });
}

test('says of JSON what Node says', () => {
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
      const [a, b] = [plain(left), plain(right)];
      assert.equal(sameJson(a, b), isDeepStrictEqual(a, b));
      assert.equal(sameJson(a, plain(left)), true);
    }),
  );
});

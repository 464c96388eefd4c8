// Which rows are shown, in which order, and which are in the document.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf, filterOf, fitting, formatBytes, type SortValue, sortedBy, windowOf } from './rows.ts';

const filters: [filter: string, text: string, expected: boolean][] = [
  ['', 'ns/web-1', true],
  ['  ', 'ns/web-1', true],
  ['WEB', 'ns/web-1', true],
  ['web node-2', 'ns/web-1 fast Node-2', true],
  ['web node-3', 'ns/web-1 fast node-2', false],
  ['.*', 'ns/web-1', false],
];
for (const [filter, text, expected] of filters) {
  test(`filter ${JSON.stringify(filter)} on ${text}`, () => assert.equal(filterOf(filter)(text), expected));
}

const orders: { name: string; given: SortValue[]; isDescending?: boolean; then: SortValue[] }[] = [
  {
    name: 'names by the numbers in them',
    given: ['web-10', 'web-2', 'Web-1'],
    then: ['Web-1', 'web-2', 'web-10'],
  },
  { name: 'numbers', given: [10, 9, -1], then: [-1, 9, 10] },
  { name: 'descending', given: [1, 3, 2], isDescending: true, then: [3, 2, 1] },
  { name: 'what has no value last', given: [undefined, 2, 1], then: [1, 2, undefined] },
  {
    name: 'what has no value last, descending too',
    given: [undefined, '', 1, 2],
    isDescending: true,
    then: [2, 1, undefined, ''],
  },
];
for (const { name, given, isDescending = false, then } of orders) {
  test(`order: ${name}`, () =>
    assert.deepEqual(
      sortedBy(given, (value) => value, isDescending),
      then,
    ));
}

test('equal rows keep their order, either way', () => {
  const rows = ['b1', 'a1', 'b2', 'a2'];
  const letter = (row: string) => row.slice(0, 1);
  assert.deepEqual(sortedBy(rows, letter, false), ['a1', 'a2', 'b1', 'b2']);
  assert.deepEqual(sortedBy(rows, letter, true), ['b1', 'b2', 'a1', 'a2']);
});

const sizes: [string | undefined, number | undefined][] = [
  ['1Gi', 2 ** 30],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['500M', 5e8],
  ['1024', 1024],
  ['1e3', 1000],
  ['much', undefined],
  [undefined, undefined],
];
for (const [size, bytes] of sizes) test(`size ${size}`, () => assert.equal(bytesOf(size), bytes));

const windows: { name: string; given: [number, number, number]; first: number; end: number }[] = [
  { name: 'nothing', given: [0, 0, 20], first: 0, end: 0 },
  { name: 'all in sight', given: [10, 0, 20], first: 0, end: 10 },
  { name: 'the beginning of many', given: [5000, 0, 20], first: 0, end: 32 },
  { name: 'the middle of many', given: [5000, 1000, 20], first: 988, end: 1032 },
  { name: 'the end of many', given: [5000, 4980, 20], first: 4968, end: 5000 },
  { name: 'scrolled to where there is nothing any more', given: [100, 4980, 20], first: 68, end: 100 },
];
for (const { name, given, first, end } of windows) {
  test(`in the document: ${name}`, () => assert.deepEqual(windowOf(...given), { first, end }));
}

const columns = [
  { key: 'name', width: 200, rank: 0 },
  { key: 'class', width: 100, rank: 3 },
  { key: 'state', width: 100, rank: 0 },
  { key: 'size', width: 50, rank: 2 },
  { key: 'age', width: 50, rank: 1 },
];
const fits: [availablePx: number, keys: string][] = [
  [500, 'name class state size age'],
  [499, 'name state size age'],
  [399, 'name state age'],
  [340, 'name state'],
  [100, 'name state'],
];
for (const [availablePx, keys] of fits) {
  test(`columns that fit ${availablePx} px`, () =>
    assert.equal(
      fitting(columns, availablePx)
        .map(({ key }) => key)
        .join(' '),
      keys,
    ));
}

const bytes: [number, string][] = [
  [0, '0 B'],
  [512, '512 B'],
  [1536, '1.5 KiB'],
  [10 * 2 ** 30, '10 GiB'],
  [2 ** 60 * 2000, '2000 EiB'],
];
for (const [given, text] of bytes) test(`${given} bytes`, () => assert.equal(formatBytes(given), text));

// CEL's operators on values, as rows of expression and result.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelError } from './syntax.ts';
import {
  arithmetic,
  celSize,
  contains,
  element,
  field,
  iterated,
  number,
  sameValue,
  sum,
  text,
  truth,
} from './values.ts';

const pass = (): void => {};
const results: [string, unknown, unknown][] = [
  ['1 < 2', arithmetic('<', 1, 2), true],
  ['2 < 2', arithmetic('<', 2, 2), false],
  ['2 <= 2', arithmetic('<=', 2, 2), true],
  ['3 <= 2', arithmetic('<=', 3, 2), false],
  ['2 > 2', arithmetic('>', 2, 2), false],
  ['3 > 2', arithmetic('>', 3, 2), true],
  ['2 >= 2', arithmetic('>=', 2, 2), true],
  ['1 >= 2', arithmetic('>=', 1, 2), false],
  ['"a" < "b"', arithmetic('<', 'a', 'b'), true],
  ['"b" > "b"', arithmetic('>', 'b', 'b'), false],
  ['7 - 2', arithmetic('-', 7, 2), 5],
  ['7 * 2', arithmetic('*', 7, 2), 14],
  ['7 / 2', arithmetic('/', 7, 2), 3],
  ['-7 / 2', arithmetic('/', -7, 2), -3],
  ['7 % 2', arithmetic('%', 7, 2), 1],
  ['1 + 2', sum(1, 2), 3],
  ['"a" + "b"', sum('a', 'b'), 'ab'],
  ['[1] + [2]', sum([1], [2]), [1, 2]],
  ['true', truth(true), true],
  ['size("äö")', celSize('äö'), 2],
  ['size of a surrogate pair', celSize('😀'), 1],
  ['size([1, 2, 3])', celSize([1, 2, 3]), 3],
  ['size({"a": 1})', celSize({ a: 1 }), 1],
  ['{"a": 1}.a', field({ a: 1 }, 'a'), 1],
  ['[5, 6][0]', element([5, 6], 0), 5],
  ['[5, 6][1]', element([5, 6], 1), 6],
  ['{"a": 1}["a"]', element({ a: 1 }, 'a'), 1],
  ['2 in [1, 2]', contains([1, 2], 2, pass), true],
  ['3 in [1, 2]', contains([1, 2], 3, pass), false],
  ['{} in [{}]', contains([{}], {}, pass), true],
  ['"a" in {"a": 1}', contains({ a: 1 }, 'a', pass), true],
  ['"b" in {"a": 1}', contains({ a: 1 }, 'b', pass), false],
  ['"toString" in {}', contains({}, 'toString', pass), false],
  ['"a" in null', contains(null, 'a', pass), false],
  ['"a" in "abc"', contains('abc', 'a', pass), false],
  ['elements of a list', iterated([1]), [1]],
  ['keys of a map', iterated({ a: 1, b: 2 }), ['a', 'b']],
  ['[1, [2]] == [1, [2]]', sameValue([1, [2]], [1, [2]], pass), true],
  ['[1] == [1, 2]', sameValue([1], [1, 2], pass), false],
  ['[1, 2] == [1, 3]', sameValue([1, 2], [1, 3], pass), false],
  ['{"a": 1} == {"a": 1}', sameValue({ a: 1 }, { a: 1 }, pass), true],
  ['{"a": 1} == {"a": 2}', sameValue({ a: 1 }, { a: 2 }, pass), false],
  ['{"a": 1} == {"b": 1}', sameValue({ a: 1 }, { b: 1 }, pass), false],
  ['{"a": 1} == {"a": 1, "b": 1}', sameValue({ a: 1 }, { a: 1, b: 1 }, pass), false],
  ['[] == {"a": 1}', sameValue([], { a: 1 }, pass), false],
  ['{} == null', sameValue({}, null, pass), false],
  ['null == {}', sameValue(null, {}, pass), false],
  ['null == null', sameValue(null, null, pass), true],
  ['"1" == 1', sameValue('1', 1, pass), false],
];
for (const [name, found, expected] of results) {
  test(`CEL values: ${name}`, () => assert.deepEqual(found, expected));
}

const misuses: [string, () => unknown, RegExp][] = [
  ['1 < "a"', () => arithmetic('<', 1, 'a'), /no such overload: number < string/],
  ['true < false', () => arithmetic('<', true, false), /no such overload/],
  ['null >= null', () => arithmetic('>=', null, null), /no such overload/],
  ['1 / 0', () => arithmetic('/', 1, 0), /division by zero/],
  ['1 % 0', () => arithmetic('%', 1, 0), /division by zero/],
  ['"a" - 1', () => arithmetic('-', 'a', 1), /expected a number, found string/],
  ['"a" + 1', () => sum('a', 1), /expected a number/],
  ['1 + "a"', () => sum(1, 'a'), /expected a number/],
  ['[1] + 1', () => sum([1], 1), /expected a number/],
  ['1 + [1]', () => sum(1, [1]), /expected a number/],
  ['truth of 1', () => truth(1), /expected a truth value, found number/],
  ['number of "1"', () => number('1'), /expected a number/],
  ['text of 1', () => text(1), /expected text, found number/],
  ['{}.a', () => field({}, 'a'), /no such key: a/],
  ['{}.toString', () => field({}, 'toString'), /no such key/],
  ['null.a', () => field(null, 'a'), /no such key/],
  ['"abc".length', () => field('abc', 'length'), /no such key/],
  ['[1][1]', () => element([1], 1), /index out of bounds: 1/],
  ['[1][-1]', () => element([1], -1), /index out of bounds/],
  ['[1][0.5]', () => element([1], 0.5), /index out of bounds/],
  ['over 1', () => iterated(1), /cannot iterate over number/],
  ['over null', () => iterated(null), /cannot iterate/],
];
for (const [name, misuse, message] of misuses) {
  test(`CEL values: ${name} is an error`, () => {
    assert.throws(misuse, (error: unknown) => error instanceof CelError && message.test(error.message));
  });
}

test('each pair of compared values is counted', () => {
  let pairs = 0;
  sameValue({ a: [1, 2] }, { a: [1, 2] }, () => pairs++);
  assert.equal(pairs, 4);
});

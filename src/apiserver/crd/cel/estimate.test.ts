import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../../schema.ts';
import { compileCel } from './cel.ts';
import { estimateCost } from './estimate.ts';
import { shapeOf } from './shape.ts';

const list = (items: Schema, maxItems?: number): Schema => ({
  type: 'array',
  items,
  ...(maxItems && { maxItems }),
});
const map = (values: Schema, maxProperties?: number): Schema => ({
  type: 'object',
  additionalProperties: values,
  ...(maxProperties && { maxProperties }),
});
const number: Schema = { type: 'number' };
const text = (maxLength?: number): Schema => ({ type: 'string', ...(maxLength && { maxLength }) });

/** kube-apiserver's estimate for the same rule and schema. */
const cases: [string, Schema, number][] = [
  ['self.all(x, true)', list(number), 4718591],
  ['self.all(x, true)', list(number, 10), 32],
  ['self.all(x, true)', list(text()), 3145727],
  ['self.all(x, true)', list({ type: 'boolean' }), 1887437],
  ['self.all(x, true)', list(list(number)), 3145727],
  ['self.all(x, true)', map(number), 1348169],
  ['self.all(x, true)', map(text()), 1179647],
  ['has(self.x)', map(number), 0],
  ["self.contains('test')", text(), 314574],
  ["self.contains('test')", text(10), 5],
  ["self.startsWith('test')", text(), 2],
  ['size(self + "hello") > size("hello")', text(), 314578],
  ['self[1] == 0.0', list(number), 2],
  ['self[1] == self[1]', list(text()), 314577],
  ['self.all(x, self.all(y, true))', list(number, 10), 352],
  ['self.all(x, self.all(y, self.all(z, true)))', list(number, 10), 3552],
  ['self.matches("x")', text(), 314574],
  ['"".matches("(((((((((())))))))))[0-9]")', text(), 7],
  ['self.matches("")', text(), 1],
  ['self.all(x, x.contains(self[x]))', map(text()), 2752507],
  ['self[0] == 5', list({ 'x-kubernetes-int-or-string': true }), 3],
  ['self[0][0] == -1.0', list(list(number)), 3],
  ['self.all(x, x == 0.0)', list(number), 6291454],
];
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
});
const bool: Schema = { type: 'boolean' };
const LONG = `'${'a'.repeat(21)}'`;
/** By cel-go's rules: 1 for a variable, a field, an index and an operator, a tenth of the characters of a text that is read. */
const byRule: [string, Schema, number][] = [
  ['!self', bool, 2],
  ['-self < 0.0', number, 3],
  ['self && self || self', bool, 3],
  ['self - 1.0 > 0.0', number, 3],
  ['self + 1.0 > 0.0', number, 3],
  ['self < self', number, 3],
  ...['<', '<=', '>', '>=', '==', '!='].map((operator): [string, Schema, number] => [
    `self ${operator} self`,
    text(10),
    6,
  ]),
  // Only two texts are compared as texts; one of them is enough for a sum.
  [`dyn(self) < ${LONG}`, text(10), 3],
  [`${LONG} < dyn(self)`, text(10), 3],
  ["self + 'ab' == 'ab'", text(10), 7],
  ["'ab' + self == 'ab'", text(10), 7],
  ["'ab' + dyn(self) == 'ab'", text(10), 314576],
  ["dyn(self) + 'ab' == 'ab'", text(10), 314576],
  ['self + [1.0] == [1.0]', list(number, 10), 23],
  ['(self + self).all(x, true)', list(number, 10), 64],
  ['(self + dyn(self)).all(x, true)', list(number, 10), 9437219],
  ['(dyn(self) + self).all(x, true)', list(number, 10), 9437219],
  ["(['a'] + self).all(x, x == x)", list(text(5), 10), 90],
  ["(self + ['a']).all(x, x == x)", list(text(5), 10), 90],
  ["'a' in self", list(text(5), 10), 11],
  ["'a' in self", map(number, 10), 2],
  ["'a' in dyn(self)", map(number, 10), 3145730],
  ['self ? true : false', bool, 1],
  ["(self.size() > 1 ? self : 'a') == self", text(10), 9],
  ["(self.size() > 1 ? 'a' : self) == self", text(10), 9],
  ["self['a'] == 1.0", map(number, 10), 2],
  ['self[self.size() - 1] == 1.0', list(number, 10), 5],
  ['self.a == self.a', object({ a: text(10) }), 8],
  ['self.a == self.a', map(text(10)), 8],
  ['self.a == self.a', {}, 314577],
  ['has(self.a.b)', object({ a: object({ b: number }) }), 1],
  ["['a', self].all(x, x == x)", text(10), 30],
  ["[self, 'a'].all(x, x == x)", text(10), 30],
  ['self.exists(x, true)', list(number, 10), 42],
  ['self.exists_one(x, true)', list(number, 10), 23],
  ['self.filter(x, true).all(y, y == y)', list(text(5), 10), 213],
  [`self.map(x, ${LONG}).all(y, y == y)`, list(number, 10), 213],
  ['self.all(k, true)', object({ a: number, b: number }), 8],
  ['self.all(k, k == k)', map(text(), 10), 52],
  ['self.all(k, k == k)', object({ a: text() }), 7],
  ["self.split(',').all(x, x == x)", text(10), 370],
  ['self.trim().lowerAscii().upperAscii() == self', text(10), 18],
  // Sizes by the schema.
  ['self == self', { type: 'string', format: 'date-time' }, 6],
  ['self == self', { type: 'string', format: 'date' }, 4],
  ['self == self', { type: 'string', format: 'duration' }, 6],
  ['self == self', { type: 'string', format: 'byte', maxLength: 21 }, 5],
  ['self == self', { type: 'string', format: 'uuid', maxLength: 21 }, 11],
  ['self == self', { type: 'string', enum: ['a'.repeat(25), 'b'] }, 5],
  ['self == self', { type: 'string', enum: [] }, 314575],
  ['self == self', { 'x-kubernetes-int-or-string': true, maxLength: 5 }, 4],
  ['self.all(x, true)', list(object({ ab: number }, ['ab'])), 943718],
  ['self.all(x, true)', list(object({ ab: number })), 3145727],
  ['self.all(x, true)', list(object({ ab: { ...number, default: 1 } }, ['ab'])), 3145727],
  ['self.all(x, true)', list({ type: 'string', format: 'date' }), 725936],
  ['self.all(x, true)', list({ type: 'string', format: 'date-time' }), 428963],
  ['self.all(x, true)', list({ type: 'string', format: 'duration' }), 2359295],
  ['self.all(x, true)', { type: 'array' }, 4718591],
];
for (const [rule, schema, expected] of [...cases, ...byRule]) {
  test(`the estimate of ${rule} on ${JSON.stringify(schema)}`, () =>
    assert.equal(estimateCost(compileCel(rule).expression, shapeOf(schema)), expected));
}

test('the text of a number has no bound, as in cel-go; that of a value of unknown type has', () => {
  const cost = (schema: Schema) =>
    estimateCost(compileCel("'x' + string(self) == 'a'").expression, shapeOf(schema));
  assert.ok(cost(number) > 100_000_000);
  assert.ok(cost({ 'x-kubernetes-int-or-string': true }) < 1_000_000);
});

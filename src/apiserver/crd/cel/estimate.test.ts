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
for (const [rule, schema, expected] of cases) {
  test(`the estimate of ${rule} on ${JSON.stringify(schema)}`, () =>
    assert.equal(estimateCost(compileCel(rule).expression, shapeOf(schema)), expected));
}

test('the text of a number has no bound, as in cel-go; that of a value of unknown type has', () => {
  const cost = (schema: Schema) =>
    estimateCost(compileCel("'x' + string(self) == 'a'").expression, shapeOf(schema));
  assert.ok(cost(number) > 100_000_000);
  assert.ok(cost({ 'x-kubernetes-int-or-string': true }) < 1_000_000);
});

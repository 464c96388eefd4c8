import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema.ts';
import { setSchemaDefaults } from './schema-defaults.ts';

const n: Schema = { type: 'integer', default: 1 };
const withN: Schema = { type: 'object', properties: { n } };
const schema: Schema = {
  type: 'object',
  properties: {
    n,
    plain: { type: 'integer' },
    zero: { type: 'integer', default: 0 },
    nullable: { ...n, nullable: true },
    object: withN,
    filled: { ...withN, default: {} },
    list: { type: 'array', items: withN },
    map: { type: 'object', properties: { known: { type: 'object' } }, additionalProperties: withN },
    any: { type: 'object', additionalProperties: true },
    bare: { type: 'array' },
  },
};
const always = { n: 1, zero: 0, nullable: 1, filled: { n: 1 } };
const rows: [what: string, given: object, then: object][] = [
  ['absent fields', {}, always],
  ['what is given', { n: 2, zero: 3 }, { ...always, n: 2, zero: 3 }],
  ['null, where null is not allowed', { n: null }, always],
  ['null, where it is', { nullable: null }, { ...always, nullable: null }],
  ['null without a default', { plain: null }, { ...always, plain: null }],
  ['an object that is there', { object: {} }, { ...always, object: { n: 1 } }],
  ['a part of a default', { filled: { n: 5 } }, { ...always, filled: { n: 5 } }],
  ['elements', { list: [{}, { n: 2 }, null, 3] }, { ...always, list: [{ n: 1 }, { n: 2 }, null, 3] }],
  [
    'values of a map, but not its known fields',
    { map: { a: {}, b: { n: 2 }, known: {} } },
    { ...always, map: { a: { n: 1 }, b: { n: 2 }, known: {} } },
  ],
  ['what has no schema', { any: { a: {} }, bare: [{}] }, { ...always, any: { a: {} }, bare: [{}] }],
];
for (const [what, given, then] of rows) {
  test(`defaults of a schema: ${what}`, () => {
    const value = structuredClone(given);
    setSchemaDefaults(schema, value);
    assert.deepEqual(value, then);
  });
}

test('a default is copied: objects do not share it', () => {
  const first: { filled?: { n: number } } = {};
  setSchemaDefaults(schema, first);
  assert.ok(first.filled);
  first.filled.n = 7;
  const second: { filled?: { n: number } } = {};
  setSchemaDefaults(schema, second);
  assert.deepEqual(second.filled, { n: 1 });
  for (const value of [undefined, null, 'x', 5]) setSchemaDefaults(schema, value);
});

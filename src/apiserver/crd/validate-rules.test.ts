// Rules at their places in a schema, on new and on changed objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema.ts';
import { createRuleSet } from './validate-rules.ts';

type Rule = NonNullable<Schema['x-kubernetes-validations']>[number];
const int: Schema = { type: 'integer' };
const object = (properties: Record<string, Schema>, ...rules: Rule[]): Schema => ({
  type: 'object',
  properties,
  'x-kubernetes-validations': rules,
});
const positive: Schema = { ...int, 'x-kubernetes-validations': [{ rule: 'self > 0' }] };
const growing: Schema = { ...int, 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] };
const shown = (errors: { field: string; message: string }[]) =>
  errors.map(({ field, message }) => `${field}: ${message}`);

const places: [what: string, schema: Schema, value: unknown, fields: string[]][] = [
  ['the whole object', object({ a: int }, { rule: 'self.a > 0' }), { a: 0 }, ['']],
  ['a field', object({ a: positive, b: positive }), { a: 0, b: 1 }, ['a']],
  ['two fields', object({ a: positive, b: positive }), { a: 0, b: -1 }, ['a', 'b']],
  ['elements', object({ l: { type: 'array', items: positive } }), { l: [1, 0, 2, -1] }, ['l[1]', 'l[3]']],
  [
    'values of a map',
    object({ m: { type: 'object', additionalProperties: positive } }),
    { m: { a: 0, b: 1 } },
    ['m.a'],
  ],
  ['absent and null values', object({ a: positive, b: positive }), { a: null }, []],
  ['what no schema declares', object({ a: positive }), { z: 0 }, []],
  ['a list without a schema of elements', object({ a: positive, l: { type: 'array' } }), { l: [0] }, []],
  [
    'every rule of one place',
    { ...int, 'x-kubernetes-validations': [{ rule: 'self > 0' }, { rule: 'self > 1' }] },
    0,
    ['', ''],
  ],
  ['transitions: not on new objects', object({ a: growing }), { a: 0 }, []],
];
for (const [what, schema, value, fields] of places) {
  test(`rules apply to ${what}`, () => {
    const rules = createRuleSet(schema);
    assert.deepEqual(
      rules.validate(value).map(({ field }) => field),
      fields,
    );
    assert.equal(rules.isEmpty, false);
  });
}

const keyed: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k', 'l'],
  items: object({ k: int, l: int, v: growing }),
};
const changes: [what: string, schema: Schema, before: unknown, after: unknown, fields: string[]][] = [
  ['a field', object({ a: growing, b: growing }), { a: 2, b: 2 }, { a: 1, b: 3 }, ['a']],
  ['a new field', object({ a: growing }), {}, { a: 1 }, []],
  ['a field that is gone', object({ a: growing }), { a: 1 }, {}, []],
  ['a value of a map', { type: 'object', additionalProperties: growing }, { a: 2 }, { a: 1, b: 0 }, ['a']],
  [
    'an element, by all its keys',
    keyed,
    [
      { k: 1, l: 1, v: 5 },
      { k: 1, l: 2, v: 9 },
    ],
    [
      { k: 1, l: 2, v: 8 },
      { k: 1, l: 1, v: 6 },
      { k: 2, l: 1, v: 0 },
    ],
    ['[0].v'],
  ],
  ['an element of a list without keys', { type: 'array', items: growing }, [5], [1], []],
  ['a list that was none', keyed, { v: 5 }, [{ k: 1, l: 1, v: 1 }], []],
  ['rules about the new state alone: not again', object({ a: positive }), { a: 1 }, { a: 0 }, []],
];
for (const [what, schema, before, after, fields] of changes) {
  test(`a transition rule compares ${what}`, () =>
    assert.deepEqual(
      createRuleSet(schema)
        .validateUpdate(after, before)
        .map(({ field }) => field),
      fields,
    ));
}

const reports: [what: string, rule: Partial<Rule>, reported: string][] = [
  ['no message', {}, ': Invalid value: "object": failed rule: self.a > 0'],
  ['a message', { message: 'too small' }, ': Invalid value: "object": too small'],
  ['another field', { message: 'm', fieldPath: '.a' }, '.a: Invalid value: "object": m'],
  ['as forbidden', { message: 'm', reason: 'FieldValueForbidden' }, ': Forbidden: m'],
  ['as required', { message: 'm', reason: 'FieldValueRequired' }, ': Required value: m'],
  ['as a duplicate', { message: 'm', reason: 'FieldValueDuplicate' }, ': Duplicate value: "object"'],
  [
    'a composed message',
    { message: 'm', messageExpression: "'a is ' + string(self.a)" },
    ': Invalid value: "object": a is 0',
  ],
  [
    'a composed message of 5 KiB',
    { message: 'm', messageExpression: `'${'x'.repeat(5121)}'` },
    ': Invalid value: "object": m',
  ],
  [
    'a composed message that fails',
    { message: 'm', messageExpression: 'string(1 / self.a)' },
    ': Invalid value: "object": m',
  ],
];
for (const [what, more, reported] of reports) {
  test(`a broken rule is reported with ${what}`, () => {
    const rules = createRuleSet(object({ a: int }, { rule: 'self.a > 0', ...more }));
    assert.deepEqual(shown(rules.validate({ a: 0 })), [reported]);
    assert.deepEqual(rules.validate({ a: 1 }), []);
  });
}

test('a rule that fails is reported, and the others are evaluated', () => {
  const rules = createRuleSet(object({ a: int }, { rule: '1 / self.a > 0' }, { rule: 'self.a > 0' }));
  assert.deepEqual(shown(rules.validate({ a: 0 })), [
    ': Invalid value: "object": rule evaluation error: division by zero: 1 / self.a > 0',
    ': Invalid value: "object": failed rule: self.a > 0',
  ]);
});

test('values are shown by their type, scalars as they are', () => {
  const rule = [{ rule: 'false' }];
  const one = (schema: Schema, value: unknown) =>
    shown(createRuleSet({ ...schema, 'x-kubernetes-validations': rule }).validate(value));
  assert.deepEqual(one({ type: 'array', items: int }, []), [': Invalid value: "array": failed rule: false']);
  assert.deepEqual(one(int, 5), [': Invalid value: 5: failed rule: false']);
});

test('after a rule that costs too much no other is evaluated', () => {
  const list: Schema = { type: 'array', items: int };
  const costly = { rule: 'self.l.all(x, self.l.all(y, x <= y || x > y))' };
  const rules = createRuleSet(object({ l: list, z: positive }, costly, { rule: 'false' }));
  const found = shown(rules.validate({ l: Array.from({ length: 1_000 }, (_, index) => index), z: 0 }));
  assert.equal(found.length, 1);
  assert.match(
    found[0] ?? '',
    /no further validation rules will be run due to call cost exceeds limit for rule: self\.l/,
  );
});

test('a schema without rules has none, wherever they could be', () => {
  const isEmpty = (schema: Schema) => createRuleSet(schema).isEmpty;
  assert.equal(isEmpty(int), true);
  assert.equal(isEmpty({ ...int, 'x-kubernetes-validations': [] }), true);
  assert.equal(isEmpty(object({ a: int })), true);
  assert.equal(isEmpty({ type: 'array', items: int }), true);
  assert.equal(isEmpty({ type: 'object', additionalProperties: true }), true);
  assert.equal(isEmpty(object({ a: int, b: { type: 'array', items: positive } })), false);
  assert.equal(isEmpty({ type: 'object', additionalProperties: positive }), false);
  // Metadata is validated by the server itself.
  assert.equal(isEmpty(object({ metadata: positive })), true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema.ts';
import { formatProblem } from './formats.ts';
import { validateAgainstSchema } from './validate-schema.ts';

/** Values that a schema accepts, and those that it does not, with the field and how the message begins. */
const table: { name: string; schema: object; good: unknown[]; bad: [unknown, string][] }[] = [
  {
    name: 'a string',
    schema: { type: 'string' },
    good: ['', 'a'],
    bad: [
      [5, ': Invalid value: "integer":  in body must be of type string'],
      [null, ': Invalid value: "null"'],
    ],
  },
  {
    name: 'a string or null',
    schema: { type: 'string', nullable: true },
    good: [null, 'a'],
    bad: [[5, ': Invalid']],
  },
  {
    name: 'an integer',
    schema: { type: 'integer' },
    good: [0, -5],
    bad: [[0.5, ': Invalid value: "number"']],
  },
  { name: 'a number', schema: { type: 'number' }, good: [0, 0.5], bad: [['5', ': Invalid value: "string"']] },
  {
    name: 'a boolean',
    schema: { type: 'boolean' },
    good: [true, false],
    bad: [[0, ': Invalid value: "integer"']],
  },
  { name: 'a list', schema: { type: 'array' }, good: [[]], bad: [[{}, ': Invalid value: "object"']] },
  { name: 'an object', schema: { type: 'object' }, good: [{}], bad: [[[], ': Invalid value: "array"']] },
  { name: 'anything', schema: {}, good: [null, 5, 'a', [], {}], bad: [] },
  {
    name: 'an integer or a string',
    schema: { 'x-kubernetes-int-or-string': true },
    good: [5, '50%'],
    bad: [[0.5, ': Invalid value: "number":  in body must be of type integer,string']],
  },
  {
    name: 'one of some values',
    schema: { enum: ['a', 5, { b: 1 }] },
    good: ['a', 5, { b: 1 }],
    bad: [['5', ': Unsupported value: "5": supported values: "a", "5"']],
  },
  {
    name: 'a length',
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    good: ['ab', 'abc', '👍👍👍'],
    bad: [
      ['a', ': Invalid value: "a":  in body should be at least 2 chars long'],
      ['abcd', ': Too long: may not be more than 3 bytes'],
    ],
  },
  {
    name: 'a pattern',
    schema: { type: 'string', pattern: '^a+$' },
    good: ['a', 'aa'],
    bad: [['b', ': Invalid value: "b":  in body should match \'^a+$\'']],
  },
  {
    name: 'a format',
    schema: { type: 'string', format: 'ipv4' },
    good: ['10.0.0.1'],
    bad: [['10.0', ': Invalid value: "10.0":  in body must be of type ipv4: "10.0"']],
  },
  {
    name: 'limits',
    schema: { type: 'number', minimum: 1, maximum: 3 },
    good: [1, 3],
    bad: [
      [0.9, ': Invalid value: 0.9:  in body should be greater than or equal to 1'],
      [3.1, ': Invalid value: 3.1:  in body should be less than or equal to 3'],
    ],
  },
  {
    name: 'limits that are excluded',
    schema: { type: 'number', minimum: 1, maximum: 3, exclusiveMinimum: true, exclusiveMaximum: true },
    good: [1.1, 2.9],
    bad: [
      [1, ': Invalid value: 1:  in body should be greater than 1'],
      [3, ': Invalid value: 3:  in body should be less than 3'],
    ],
  },
  {
    name: 'multiples',
    schema: { type: 'integer', multipleOf: 5 },
    good: [0, 10],
    bad: [[7, ': Invalid value: 7:  in body should be a multiple of 5']],
  },
  {
    name: 'integers of 32 bits',
    schema: { type: 'integer', format: 'int32' },
    good: [2 ** 31 - 1, -(2 ** 31)],
    bad: [
      [2 ** 31, ': Invalid value: 2147483648:  in body must be of type int32'],
      [-(2 ** 31) - 1, ': Invalid value: -2147483649:  in body must be of type int32'],
    ],
  },
  {
    name: 'a number of items',
    schema: { type: 'array', minItems: 1, maxItems: 2 },
    good: [[1], [1, 2]],
    bad: [
      [[], ': Invalid value: 0:  in body should have at least 1 items'],
      [[1, 2, 3], ': Too many: 3: must have at most 2 items'],
    ],
  },
  {
    name: 'items of a type',
    schema: { type: 'array', items: { type: 'string' } },
    good: [['a', 'b']],
    bad: [[['a', 5], '[1]: Invalid value: "integer": [1] in body must be of type string']],
  },
  {
    name: 'a set',
    schema: { type: 'array', 'x-kubernetes-list-type': 'set' },
    good: [['a', 'b']],
    bad: [[['a', 'b', 'a'], '[2]: Duplicate value: "a"']],
  },
  {
    name: 'unique items',
    schema: { type: 'array', uniqueItems: true },
    good: [[1, 2]],
    bad: [[[1, 1], '[1]: Duplicate']],
  },
  {
    name: 'items that may repeat',
    schema: { type: 'array', 'x-kubernetes-list-type': 'atomic' },
    good: [[1, 1]],
    bad: [],
  },
  {
    name: 'a map of items by keys',
    schema: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'port'],
    },
    good: [
      [{ name: 'a', port: 1 }, { name: 'a', port: 2 }, { name: 'a' }],
      ['a', 'b'],
    ],
    bad: [
      [
        [
          { name: 'a', x: 1 },
          { name: 'a', x: 2 },
        ],
        '[1]: Duplicate value: {"name":"a"}',
      ],
    ],
  },
  {
    name: 'required fields',
    schema: { type: 'object', required: ['a', 'toString'] },
    good: [{ a: null, toString: 1 }],
    bad: [[{ toString: 1 }, 'a: Required value']],
  },
  {
    name: 'a number of fields',
    schema: { type: 'object', minProperties: 1, maxProperties: 2 },
    good: [{ a: 1 }, { a: 1, b: 2 }],
    bad: [
      [{}, ': Invalid value: 0:  in body should have at least 1 properties'],
      [{ a: 1, b: 2, c: 3 }, ': Too many: 3: must have at most 2 items'],
    ],
  },
  {
    name: 'fields of a type, and others of another',
    schema: {
      type: 'object',
      properties: { a: { type: 'string' } },
      additionalProperties: { type: 'integer' },
    },
    good: [{ a: 'x', b: 5 }],
    bad: [
      [{ a: 5 }, 'a: Invalid value: "integer": a in body must be of type string'],
      [{ toString: 'x' }, 'toString: Invalid value: "string"'],
    ],
  },
  {
    name: 'fields of a type, and any others',
    schema: { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'string' } } } } },
    good: [{ a: { b: 'x' }, c: 5 }],
    bad: [[{ a: { b: 5 } }, 'a.b: Invalid value: "integer": a.b in body']],
  },
  {
    name: 'all of some schemas',
    schema: { allOf: [{ minimum: 1 }, { maximum: 3 }] },
    good: [2],
    bad: [
      [0, ': Invalid value: 0'],
      [4, ': Invalid value: 4'],
    ],
  },
  {
    name: 'any of some schemas',
    schema: { anyOf: [{ type: 'string' }, { minimum: 3 }] },
    good: ['a', 3],
    bad: [[1, ': Invalid value: "": "<nil>" must validate at least one schema (anyOf)']],
  },
  {
    name: 'one of some schemas',
    schema: { oneOf: [{ minimum: 3 }, { maximum: 5 }] },
    good: [1, 9],
    bad: [
      [
        4,
        ': Invalid value: "": "<nil>" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
  },
  {
    name: 'one of some schemas, in a field',
    schema: { properties: { a: { oneOf: [{ type: 'string' }] } } },
    good: [{ a: 'x' }],
    bad: [
      [{ a: 1 }, 'a: Invalid value: "": "a" must validate one and only one schema (oneOf). Found none valid'],
    ],
  },
  {
    name: 'none of a schema',
    schema: { not: { type: 'string' } },
    good: [5],
    bad: [['a', ': Invalid value: "": "<nil>" must not validate the schema (not)']],
  },
];
for (const { name, schema, good, bad } of table) {
  test(`a schema of ${name}`, () => {
    for (const value of good) assert.deepEqual(validateAgainstSchema(schema as Schema, value), []);
    for (const [value, begins] of bad) {
      const [error, ...more] = validateAgainstSchema(schema as Schema, value);
      const text = `${error?.field}: ${error?.message}`;
      assert.ok(text.startsWith(begins), `${text}, not ${begins}`);
      assert.deepEqual(more, []);
    }
  });
}

test('an object with very many errors lists a hundred and says that there are more', () => {
  const errors = validateAgainstSchema(
    { type: 'array', items: { type: 'string' } } as Schema,
    Array.from({ length: 500 }, () => 5),
  );
  assert.equal(errors.length, 101);
  assert.match(errors.at(-1)?.message ?? '', /too many errors/);
});

test('an object whose validation costs too much is rejected', () => {
  const schema = {
    type: 'array',
    items: { enum: Array.from({ length: 2000 }, (_, index) => index) },
  } as Schema;
  const errors = validateAgainstSchema(
    schema,
    Array.from({ length: 3000 }, () => 0),
  );
  assert.deepEqual(
    errors.map(({ reason, field }) => [reason, field]),
    [['FieldValueForbidden', '']],
  );
});

const formats: Record<string, { good: string[]; bad: string[] }> = {
  byte: { good: ['', 'YQ=='], bad: ['YQ'] },
  date: { good: ['2026-12-31'], bad: ['2026-13-01', '2026-1-1'] },
  'date-time': {
    good: ['2026-01-01T23:59:60.5+02:00', '2026-01-01t00:00:00z'],
    bad: ['2026-01-01', '2026-01-01T24:00:00Z'],
  },
  duration: { good: ['1h30m', '-1.5s'], bad: ['', '5'] },
  email: { good: ['a@b'], bad: ['a', '@b', 'a b@c'] },
  hostname: { good: ['a', 'a.b-c', 'a'.repeat(253)], bad: ['', '-a', 'a'.repeat(254)] },
  ipv4: { good: ['10.0.0.1'], bad: ['::1'] },
  ipv6: { good: ['::1'], bad: ['10.0.0.1'] },
  cidr: { good: ['10.0.0.0/32', '::/128'], bad: ['10.0.0.0/33', '::/129', '10.0.0.0', 'a/8', '10.0.0.0/'] },
  mac: { good: ['00:1A:2b:3c:4d:5e'], bad: ['00:1A:2b'] },
  quantity: { good: ['1Gi'], bad: ['much'] },
  uri: { good: ['https://a.example/b'], bad: ['a'] },
  uuid: { good: ['00000000-0000-0000-0000-000000000000'], bad: ['0000'] },
  'no format that is known': { good: ['anything'], bad: [] },
};
for (const [format, { good, bad }] of Object.entries(formats)) {
  test(`the format ${format}`, () => {
    for (const text of good) assert.equal(formatProblem(format, text), false, text);
    for (const text of bad) assert.equal(formatProblem(format, text), true, text);
  });
}

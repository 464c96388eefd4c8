// CRDs and their objects that would keep the server busy: patterns, rules, schemas with many alternatives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AttackedServer, attackedServer, type ParsedAnswer } from './attacked-server.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = '/apis/attack.example.com/v1/namespaces/default/things';

function define({ asAdmin }: AttackedServer, spec: object): Promise<ParsedAnswer> {
  return asAdmin('POST', CRDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.attack.example.com' },
    spec: {
      group: 'attack.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
}

function make({ asAdmin }: AttackedServer, spec: unknown): Promise<ParsedAnswer> {
  const metadata = { generateName: 't-' };
  return asAdmin('POST', THINGS, { apiVersion: 'attack.example.com/v1', kind: 'Thing', metadata, spec });
}

const text = (more: object = {}): object => ({ type: 'string', ...more });
const object = (properties: object): object => ({ type: 'object', properties });

test('[DOOR-2] a pattern with nested repetitions is matched in linear time', {
  timeout: 60_000,
}, async (t) => {
  const door = await attackedServer(t);
  assert.equal((await define(door, object({ a: text({ pattern: '^(a+)+$' }) }))).code, 201);
  // Backtracking takes a second for 26 letters, twice that for each further one.
  const { code, message } = await make(door, { a: `${'a'.repeat(100_000)}!` });
  assert.equal(code, 422);
  assert.match(message, /should match '\^\(a\+\)\+\$'/);
  assert.equal((await make(door, { a: 'a'.repeat(100_000) })).code, 201);
});

test('[DOOR-2] patterns that RE2 does not have, or that are too large, are refused with the CRD', async (t) => {
  const door = await attackedServer(t);
  for (const [pattern, why] of [
    [
      '(?=a)b',
      /must be a valid regular expression, but isn't: .*invalid or unsupported Perl syntax: `\(\?=`/,
    ],
    ['(a)\\1', /invalid escape sequence: `\\1`/],
    ['a{1001}', /invalid repeat count/],
    ['((a{100}){100}){100}', /invalid repeat count/],
    ['a{1000}'.repeat(50), /pattern too large: .* the limit is 100000/],
    ['('.repeat(2_000) + ')'.repeat(2_000), /nests too deeply/],
  ] as const) {
    const { code, message } = await define(door, object({ a: text({ pattern }) }));
    assert.equal(code, 422, pattern.slice(0, 30));
    assert.match(message, why);
  }
});

test('[DOOR-2] patterns over long texts are refused by the limit on steps', async (t) => {
  const door = await attackedServer(t);
  await define(door, object({ a: text({ pattern: '[ab]*a[ab]{500}c' }) }));
  const { code, message } = await make(door, { a: 'ab'.repeat(50_000) });
  assert.equal(code, 422);
  assert.match(message, /exceeds the limit of 30000000 steps/);
});

test('[DOOR-2] a rule whose estimated cost is beyond the limit is refused with the CRD', async (t) => {
  const door = await attackedServer(t);
  const list = (more: object): object => ({ type: 'array', items: text({ maxLength: 10 }), ...more });
  const rule = [{ rule: 'self.all(x, self.all(y, x == y))' }];
  const unbounded = await define(door, object({ a: list({ 'x-kubernetes-validations': rule }) }));
  assert.equal(unbounded.code, 422);
  assert.match(unbounded.message, /estimated rule cost exceeds budget by factor of more than 100x/);
  const many = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `a${i}`,
      list({ maxItems: 1_000, 'x-kubernetes-validations': rule }),
    ]),
  );
  const together = await define(door, object(many));
  assert.equal(together.code, 422);
  assert.match(together.message, /estimated rule cost total for entire OpenAPIv3 schema exceeds budget/);
  const bounded = list({ maxItems: 100, 'x-kubernetes-validations': rule });
  assert.equal((await define(door, object({ a: bounded }))).code, 201);
});

test('[DOOR-2] a rule that costs more than its limit when it runs is cancelled, and says so', async (t) => {
  const door = await attackedServer(t);
  // The estimate of comparing structures is low; what it takes is counted when it happens.
  const spec = {
    type: 'object',
    properties: { a: { type: 'array', maxItems: 100_000, items: { type: 'integer' } } },
    'x-kubernetes-validations': [
      { rule: '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].all(x, self.a == self.a)' },
    ],
  };
  assert.equal((await define(door, spec)).code, 201);
  assert.equal((await make(door, { a: [1, 2, 3] })).code, 201);
  const { code, message } = await make(door, { a: Array.from({ length: 100_000 }, () => 1) });
  assert.equal(code, 422);
  assert.match(message, /actual cost limit exceeded.* call cost exceeds limit for rule/);
});

test('[DOOR-2] rules that together cost more than the budget of an object are cancelled', async (t) => {
  const door = await attackedServer(t);
  const element = {
    type: 'array',
    maxItems: 40_000,
    items: { type: 'integer' },
    'x-kubernetes-validations': [{ rule: `[${Array.from({ length: 20 }, () => 0)}].all(x, self == self)` }],
  };
  const spec = object({ lists: { type: 'array', maxItems: 20, items: element } });
  assert.equal((await define(door, spec)).code, 201);
  const lists = Array.from({ length: 20 }, () => Array.from({ length: 40_000 }, () => 1));
  const { code, message } = await make(door, { lists });
  assert.equal(code, 422);
  assert.match(message, /running out of cost budget/);
});

test('[DOOR-2] rules that nest too deeply or are too long are refused', async (t) => {
  const door = await attackedServer(t);
  for (const [rule, why] of [
    [`${'('.repeat(5_000)}true${')'.repeat(5_000)}`, /expression recursion limit exceeded: 250/],
    [`${'!'.repeat(5_000)}true`, /expression recursion limit exceeded: 250/],
    [`1${' + 1'.repeat(5_000)} == 1`, /expression recursion limit exceeded: 250/],
    [`self${'.a'.repeat(5_000)} == 1`, /expression recursion limit exceeded: 250/],
    [`true${' '.repeat(100_000)}`, /expression code point size exceeds limit/],
  ] as const) {
    const { code, message } = await define(door, {
      type: 'object',
      'x-kubernetes-validations': [{ rule }],
    });
    assert.equal(code, 422, rule.slice(0, 20));
    assert.match(message, why);
  }
});

test('[DOOR-2] a schema of many alternatives is bounded in the work it makes', async (t) => {
  const door = await attackedServer(t);
  const anyOf = Array.from({ length: 2_000 }, (_, i) => ({ minimum: 2_000 - i }));
  await define(door, object({ a: { type: 'array', items: { type: 'integer', anyOf } } }));
  const { code, message } = await make(door, { a: Array.from({ length: 100_000 }, () => 1) });
  assert.equal(code, 422);
  assert.match(message, /exceeds the limit of 5000000 steps/);
});

test('[DOOR-2] an object with endless errors lists the first hundred', async (t) => {
  const door = await attackedServer(t);
  await define(door, object({ a: { type: 'object', additionalProperties: { type: 'integer' } } }));
  const key = 'k'.repeat(1_000);
  const a = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`${i}${key}`, 'x'.repeat(1_000)]));
  const { code, message, body } = await make(door, { a });
  assert.equal(code, 422);
  assert.equal(body.details.causes.length, 101);
  assert.match(message, /too many errors: only the first 100 are listed/);
  assert.ok(message.length < 200_000, `${message.length} characters`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LooseMap } from '../kinds/loose.ts';
import type { Schema } from '../schema.ts';
import { Checks } from '../validation/checks.ts';
import { checkRuleTypes } from './check-rule-types.ts';
import { createRuleSet } from './validate-rules.ts';

const text = { type: 'string', maxLength: 10 };
const properties = {
  s: text,
  n: { type: 'integer' },
  d: { type: 'number' },
  b: { type: 'boolean' },
  t: { type: 'string', format: 'date-time' },
  y: { type: 'string', format: 'byte' },
  l: { type: 'array', items: text },
  m: { type: 'object', additionalProperties: { type: 'integer' } },
  o: { type: 'object', properties: { x: text } },
  o2: { type: 'object', properties: { x: text } },
  raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  either: { 'x-kubernetes-int-or-string': true },
  'x-y': text,
  namespace: text,
  'a.b/c__d': { type: 'integer' },
};

function problems(rule: LooseMap, more: LooseMap = {}): string[] {
  const checks = new Checks();
  const spec = { type: 'object', properties, 'x-kubernetes-validations': [rule], ...more };
  checkRuleTypes(checks, 's', { type: 'object', properties: { spec } });
  const at = 's.properties[spec].x-kubernetes-validations[0].';
  return checks.errors.map(({ field, message }) =>
    `${field.replace(at, '')}: ${message}`.replace(/Invalid value: ".*?": /, ''),
  );
}

// kube-apiserver 1.36 accepts these.
const accepted = [
  "self.s == 'a'",
  'self.n < 1.5 && self.n > self.d',
  'self.d / 2.0 > 0.4',
  "self.l.all(x, x == 'a')",
  "'a' in self.l && 'k' in self.m && self.m.k == 1 && self.m['k'] == 1",
  "self.l[0] == 'x'",
  'self.o == oldSelf.o && self.o != null',
  'self.o == dyn(self.o2)',
  'has(self.o.x) && !has(self.m.k)',
  "self.either == 5 || self.either == 'a'",
  "string(self.n) == '1' && int(self.s) > 0 && double(self.s) > 0.0",
  'self.t < self.t',
  "self.x__dash__y == 'a' && self.__namespace__ == 'a'",
  'self.a__dot__b__slash__c__underscores__d > 1',
  '(self.b ? self.n : 2) > 1 && self.b > false',
  'self.l + self.l == self.l && [] == self.l',
  'self.m.all(k, self.m[k] > 1)',
  'self.l.map(x, x.size()).exists(y, y > 1)',
  "self.s.split(',').size() > 1 && self.s.matches(r'^\\d+$')",
  'self.d > 1e3',
];
for (const rule of accepted) {
  test(`accepted: ${rule}`, () => assert.deepEqual(problems({ rule }), []));
}

// The messages are kube-apiserver's, with `object` for the random name that it gives to the type.
const rejected: [rule: string, at: number, problem: string][] = [
  ['self.s == 5', 8, "found no matching overload for '_==_' applied to '(string, int)'"],
  ['self.foo > 1', 5, "undefined field 'foo'"],
  ['self.n + self.d > 1.0', 8, "found no matching overload for '_+_' applied to '(int, double)'"],
  ['self.n == 1.0', 8, "found no matching overload for '_==_' applied to '(int, double)'"],
  ['self.b && self.n', 15, "expected type 'bool' but found 'int'"],
  ['self.l.all(x, x > 1)', 17, "found no matching overload for '_>_' applied to '(string, int)'"],
  ['self.l.exists(x, x.size())', 24, "expected type 'bool' but found 'int'"],
  ['1 in self.l', 3, "found no matching overload for '@in' applied to '(int, list(string))'"],
  ["self.l['a'] == 'x'", 7, "found no matching overload for '_[_]' applied to '(list(string), string)'"],
  ['self.o == self.o2', 8, "found no matching overload for '_==_' applied to '(object, object)'"],
  ["self.n.startsWith('a')", 18, "found no matching overload for 'startsWith' applied to 'int.(string)'"],
  ['size(self.o) > 0', 5, "found no matching overload for 'size' applied to '(object)'"],
  ['self.raw.foo == 1', 9, "undefined field 'foo'"],
  ['has(self.any)', 4, "undefined field 'any'"],
  ["[1, 'a'].size() > 0", 5, "expected type 'int' but found 'string'"],
  ["self.t == 'x'", 8, "found no matching overload for '_==_' applied to '(timestamp, string)'"],
  ['self.y == self.s', 8, "found no matching overload for '_==_' applied to '(bytes, string)'"],
  ['self.s == null', 8, "found no matching overload for '_==_' applied to '(string, null)'"],
  ['!self.n', 1, "found no matching overload for '!_' applied to '(int)'"],
  ['-self.s == 1', 1, "found no matching overload for '-_' applied to '(string)'"],
  ['self.b ? self.n : self.s', 8, "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
  ['unknown > 1', 1, "undeclared reference to 'unknown' (in container '')"],
  [
    "self.s.all(c, c == 'a')",
    5,
    "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
  ],
  ["self.l + 'a' == self.l", 8, "found no matching overload for '_+_' applied to '(list(string), string)'"],
  ['self.d % 2.0 == 1.0', 8, "found no matching overload for '_%_' applied to '(double, double)'"],
  ['self.s.foo == 1', 7, "type 'string' does not support field selection"],
  ["self.metadata.name == 'a'", 5, "undefined field 'metadata'"],
];
for (const [rule, at, problem] of rejected) {
  test(`rejected: ${rule}`, () => {
    const where = `ERROR: <input>:1:${at}: ${problem}\n | ${rule}\n | ${'.'.repeat(at - 1)}^`;
    assert.deepEqual(problems({ rule }), [`rule: compilation failed: ${where}`]);
  });
}

test('a rule that is no boolean is rejected, one on several lines points to its line', () => {
  for (const rule of ['self.n', "'a'", 'dyn(self.b)']) {
    assert.deepEqual(problems({ rule }), ['rule: cel expression must evaluate to a bool']);
  }
  assert.match(
    String(problems({ rule: 'self.b\n&& self.q' })),
    /<input>:2:8: undefined field 'q'\n \| && self.q\n \| \.{7}\^$/,
  );
});

test('metadata can be read at the root and in embedded resources', () => {
  const rule = { rule: "self.metadata.name == 'a' && self.kind == 'b'" };
  assert.deepEqual(problems(rule, { 'x-kubernetes-embedded-resource': true }), []);
  const checks = new Checks();
  checkRuleTypes(checks, 's', { type: 'object', 'x-kubernetes-validations': [rule] });
  assert.deepEqual(checks.errors, []);
});

const places: [what: string, around: (inner: LooseMap) => LooseMap, field: string][] = [
  ['the root', (inner) => inner, 's'],
  ['a property', (inner) => ({ type: 'object', properties: { a: inner } }), 's.properties[a]'],
  ['the elements of a list', (items) => ({ type: 'array', items }), 's.items'],
  [
    'the values of a map',
    (inner) => ({ type: 'object', additionalProperties: inner }),
    's.additionalProperties',
  ],
  [
    'a list below a property',
    (items) => ({ type: 'object', properties: { a: { type: 'array', items } } }),
    's.properties[a].items',
  ],
];
for (const [what, around, field] of places) {
  test(`the rules of ${what} are checked on its own type, and only the root has metadata`, () => {
    const wrongAt = (...rules: string[]) => {
      const checks = new Checks();
      const validations = rules.map((rule) => ({ rule }));
      checkRuleTypes(checks, 's', around({ type: 'object', 'x-kubernetes-validations': validations }));
      return checks.errors.map((each) => each.field);
    };
    const at = (index: number) => `${field}.x-kubernetes-validations[${index}].rule`;
    assert.deepEqual(wrongAt('self.q', 'true'), [at(0)]);
    assert.deepEqual(wrongAt('true', "self.metadata.name == 'a'"), field === 's' ? [] : [at(1)]);
  });
}

test('a messageExpression is a string', () => {
  const found = (messageExpression: string) => problems({ rule: 'self.b', messageExpression });
  assert.deepEqual(found("'s is ' + self.s"), []);
  assert.deepEqual(found('self.n'), ['messageExpression: messageExpression must evaluate to a string']);
  assert.match(
    String(found("'n is ' + self.n")),
    /^messageExpression: messageExpression compilation failed: ERROR: .*'_\+_'/,
  );
  assert.deepEqual(found("'%s'.format([self.s])"), [], 'the rule is enforced without it');
  assert.match(String(found("'a' +")), /^messageExpression: messageExpression compilation failed/);
});

test('a broken rule is reported with its messageExpression, or with its message where that fails', () => {
  const reported = (messageExpression: string): string | undefined =>
    createRuleSet({
      type: 'object',
      properties,
      'x-kubernetes-validations': [{ rule: 'self.n > 5', message: 'plain', messageExpression }],
    } as object as Schema).validate({ n: 1, s: 'ab' })[0]?.message;
  assert.equal(reported("'s is ' + self.s"), 'Invalid value: "object": s is ab');
  for (const useless of ["' '", "'a\\nb'", 'self.o.x', "'%s'.format([self.s])"]) {
    assert.equal(reported(useless), 'Invalid value: "object": plain', useless);
  }
});

test('numbers of type double are divided as such, those of type integer as integers', () => {
  const passes = (rule: string) =>
    createRuleSet({
      type: 'object',
      properties,
      'x-kubernetes-validations': [{ rule }],
    } as object as Schema).validate({ n: 5, d: 1 }).length === 0;
  assert.ok(passes('self.d / 2.0 == 0.5'));
  assert.ok(passes('self.n / 2 == 2'));
});

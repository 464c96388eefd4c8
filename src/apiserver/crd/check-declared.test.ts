// Rules that only a new or changed definition has to keep, as tables of schema and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Checks } from '../validation/checks.ts';
import { startAs, texts } from '../validation/testing/rows.ts';
import { checkDeclared, checkVersionParts } from './check-declared.ts';

type Body = Record<string, unknown>;
const object = (properties: Body, more: Body = {}): Body => ({ type: 'object', properties, ...more });
const text = { type: 'string' };
const list = (items: Body, more: Body): Body => ({ type: 'array', items, ...more });
const keyed = (properties: Body, more: Body = {}): Body =>
  list(object(properties, more), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] });
const EMBEDDED = { 'x-kubernetes-embedded-resource': true };
const rule = (more: Body): Body => ({
  'x-kubernetes-validations': [{ rule: 'true', ...more }],
});

const schemas: [string, Body, string[]][] = [
  ['a plain schema', object({ a: text }), []],
  ['a good default', object({ a: { ...text, default: 'x' } }), []],
  ['a default of another type', object({ a: { ...text, default: 1 } }), ['s.properties[a].default: ']],
  ['a null default', object({ a: { ...text, default: null } }), ['s.properties[a].default: ']],
  ['a null default of a nullable field', object({ a: { ...text, nullable: true, default: null } }), []],
  [
    'a default with a wrong field',
    object({ a: object({ b: text }, { default: { b: 1 } }) }),
    ['s.properties[a].default.b: '],
  ],
  [
    'a default with a wrong element',
    object({ a: list(text, { default: [1] }) }),
    ['s.properties[a].default[0]: '],
  ],
  ['an embedded resource', object({ a: text }, EMBEDDED), []],
  [
    'an embedded resource without fields',
    { type: 'object', ...EMBEDDED },
    ['s.properties: Required value: must not be empty'],
  ],
  [
    'an embedded resource without fields that is open',
    { type: 'object', ...EMBEDDED, 'x-kubernetes-preserve-unknown-fields': true },
    [],
  ],
  [
    'anyOf with a type',
    { ...object({}), anyOf: [{ minimum: 1 }, text] },
    ['s.anyOf[1].type: Forbidden: must be empty to be structural'],
  ],
  [
    'allOf and oneOf with a type',
    { ...object({}), allOf: [text], oneOf: [text] },
    ['s.allOf[0].type: ', 's.oneOf[0].type: '],
  ],
  ['anyOf of a number or text', object({ a: { 'x-kubernetes-int-or-string': true, anyOf: [text] } }), []],
  [
    'allOf of a number or text',
    object({ a: { 'x-kubernetes-int-or-string': true, allOf: [text] } }),
    ['s.properties[a].allOf[0].type: '],
  ],
  [
    'a list type of no list',
    object({ a: { ...text, 'x-kubernetes-list-type': 'atomic' } }),
    ['s.properties[a].type: Invalid value: "string": must be array'],
  ],
  ['a list type of a list', object({ a: list(text, { 'x-kubernetes-list-type': 'atomic' }) }), []],
  [
    'a map type of no map',
    object({ a: { ...text, 'x-kubernetes-map-type': 'atomic' } }),
    ['s.properties[a].type: Invalid value: "string": must be object'],
  ],
  ['a map type of a map', object({ a: object({}, { 'x-kubernetes-map-type': 'atomic' }) }), []],
  ['a set of text', object({ a: list(text, { 'x-kubernetes-list-type': 'set' }) }), []],
  [
    'a set of objects',
    object({ a: list(object({}), { 'x-kubernetes-list-type': 'set' }) }),
    ['s.properties[a].items.x-kubernetes-map-type: Invalid value: "": must be atomic'],
  ],
  [
    'a set of atomic objects',
    object({
      a: list(object({}, { 'x-kubernetes-map-type': 'atomic' }), { 'x-kubernetes-list-type': 'set' }),
    }),
    [],
  ],
  ['a list by a required key', object({ a: keyed({ k: text }, { required: ['k'] }) }), []],
  ['a list by a key with a default', object({ a: keyed({ k: { ...text, default: 'x' } }) }), []],
  [
    'a list by an optional key',
    object({ a: keyed({ k: text }) }),
    ['s.properties[a].items.properties[k].default: Required value'],
  ],
  [
    'a list by a key that is an object',
    object({ a: keyed({ k: object({}) }) }),
    ['s.properties[a].items.properties[k].type: Invalid value: "object": must be a scalar type'],
  ],
  ['a list by an undeclared key', object({ a: keyed({ other: text }) }), []],
  ['a rule with a reason', { ...object({}), ...rule({ reason: 'FieldValueInvalid' }) }, []],
  [
    'a rule with an unknown reason',
    { ...object({}), ...rule({ reason: 'Because' }) },
    ['s.x-kubernetes-validations[0].reason: Unsupported value: "Because"'],
  ],
  [
    'a rule with two lines',
    { ...object({}), ...rule({ message: 'a\nb' }) },
    ['s.x-kubernetes-validations[0].message: Invalid value'],
  ],
  ['a rule about a field', { ...object({ a: text }), ...rule({ fieldPath: '.a' }) }, []],
  [
    'a rule about no field',
    { ...object({ a: text }), ...rule({ fieldPath: '.b' }) },
    ['s.x-kubernetes-validations[0].fieldPath: Invalid value'],
  ],
  ['names in the metadata', object({ metadata: object({ name: text, generateName: text }) }), []],
  [
    'labels in the metadata',
    object({ metadata: object({ name: text, labels: object({}) }) }),
    ['s.properties[metadata]: Forbidden'],
  ],
  [
    'a field named metadata further down',
    object({ spec: object({ metadata: object({ labels: object({}) }) }) }),
    [],
  ],
  [
    'an error in the elements of a list',
    object({ a: list({ ...text, default: 1 }, {}) }),
    ['s.properties[a].items.default: '],
  ],
  [
    'an error in the values of a map',
    object({ a: { type: 'object', additionalProperties: { ...text, default: 1 } } }),
    ['s.properties[a].additionalProperties.default: '],
  ],
];
for (const [name, schema, errors] of schemas) {
  test(`a declared schema: ${name}`, () => {
    const checks = new Checks();
    checkDeclared(checks, 's', schema);
    startAs(texts(checks.errors), errors);
  });
}

const schema = object({
  spec: object({
    size: text,
    ready: { type: 'boolean' },
    n: { type: 'integer' },
    deep: object({}),
    rest: { type: 'object', additionalProperties: text },
  }),
});
const paths: [string, boolean][] = [
  ['.spec.size', true],
  ['.spec.none', false],
  ['.spec.rest.any', true],
  ["['spec'].size", true],
  ['spec.size', false],
  ['.', false],
  ['', false],
];
for (const [path, expected] of paths) {
  test(`the path ${JSON.stringify(path)} ${expected ? 'refers' : 'does not refer'} to a field`, () => {
    const checks = new Checks();
    checkDeclared(checks, 's', { ...schema, ...rule({ fieldPath: path }) });
    assert.equal(checks.errors.length === 0, expected);
  });
}

const selected = (...given: (string | undefined)[]): Body => ({
  selectableFields: given.map((jsonPath) => ({ jsonPath })),
});
const scaled = (specReplicasPath: string, statusReplicasPath: string): Body => ({
  subresources: { scale: { specReplicasPath, statusReplicasPath } },
});
const versions: [string, Body, string[]][] = [
  ['nothing', {}, []],
  ['a warning of a deprecated version', { deprecated: true, deprecationWarning: 'soon' }, []],
  [
    'a warning of a current version',
    { deprecationWarning: 'soon' },
    ['v.deprecationWarning: Invalid value: "soon"'],
  ],
  ['a scale', scaled('.spec.n', '.status.n'), []],
  [
    'a scale elsewhere',
    scaled('.status.n', '.spec.n'),
    [
      'v.subresources.scale.specReplicasPath: Invalid value',
      'v.subresources.scale.statusReplicasPath: Invalid value',
    ],
  ],
  ['an empty scale', scaled('', ''), []],
  ['selectable fields', selected('.spec.size', '.spec.ready', '.spec.n'), []],
  [
    'a selectable field twice',
    selected('.spec.size', '.spec.size'),
    ['v.selectableFields[1].jsonPath: Duplicate value'],
  ],
  [
    'a selectable field without path',
    selected(undefined),
    ['v.selectableFields[0].jsonPath: Required value'],
  ],
  [
    'an undeclared selectable field',
    selected('.spec.none'),
    ['v.selectableFields[0].jsonPath: Invalid value: ".spec.none": is an invalid path'],
  ],
  [
    'a selectable field of the metadata',
    selected('.metadata.name'),
    ['v.selectableFields[0].jsonPath: Invalid value'],
  ],
  [
    'a selectable object',
    selected('.spec.deep'),
    ['v.selectableFields[0].jsonPath: Invalid value: ".spec.deep": must point to a field'],
  ],
];
for (const [name, version, errors] of versions) {
  test(`parts of a version: ${name}`, () => {
    const checks = new Checks();
    checkVersionParts(checks, 'v', version, schema);
    startAs(texts(checks.errors), errors);
  });
}

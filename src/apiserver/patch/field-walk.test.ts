// Values with their schemas, as rows: what is owned, what changed, what merging and removing leave.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from '../schema.ts';
import { formatFields, parseFields } from './field-set.ts';
import { type FieldSet, FieldSets } from './field-sets.ts';
import { compareFields, fieldsOf, keyDefault, mergeApplied, removeFields } from './field-walk.ts';
import type { Json } from './json.ts';

const sets = new FieldSets();
const keyed = (...keys: string[]): Schema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  items: { type: 'object', properties: { name: {}, v: {}, port: {}, protocol: {}, zone: { default: 'z' } } },
});
const schema: Schema = {
  type: 'object',
  properties: {
    x: {},
    map: { type: 'object', additionalProperties: {} },
    whole: { type: 'object', 'x-kubernetes-map-type': 'atomic' },
    set: { type: 'array', 'x-kubernetes-list-type': 'set' },
    list: keyed('name'),
    ports: keyed('port', 'protocol'),
    zoned: keyed('name', 'zone'),
    plain: { type: 'array' },
  },
};
const a = { '.': {}, 'f:name': {} };

const owned: [what: string, value: Json, fields: object][] = [
  ['declared fields and entries of maps', { x: 1, map: { k: 1 } }, { 'f:x': {}, 'f:map': { 'f:k': {} } }],
  ['an empty map', { map: {} }, { 'f:map': {} }],
  ['an atomic map', { whole: { k: 1 } }, { 'f:whole': {} }],
  ['a list without a type', { plain: [1] }, { 'f:plain': {} }],
  ['a set', { set: ['p', 1] }, { 'f:set': { 'v:"p"': {}, 'v:1': {} } }],
  ['a set with duplicates', { set: ['p', 'p'] }, { 'f:set': { 'v:"p"': {} } }],
  ['a keyed list', { list: [{ name: 'a' }] }, { 'f:list': { 'k:{"name":"a"}': a } }],
  ['a keyed list without elements', { list: [], x: 1 }, { 'f:x': {} }],
  ['a keyed list with duplicates', { list: [{ name: 'a' }, { name: 'a' }] }, { 'f:list': {} }],
  ['an element without its key', { list: [{ v: 1 }] }, { 'f:list': {} }],
  ['an element that is no map', { list: ['a'] }, { 'f:list': {} }],
  ['a key of a number', { list: [{ name: 7 }] }, { 'f:list': { 'k:{"name":7}': { '.': {}, 'f:name': {} } } }],
  [
    'two keys, of which one has a default',
    { ports: [{ port: 1 }, { port: 1, protocol: 'UDP' }] },
    {
      'f:ports': {
        'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} },
        'k:{"port":1,"protocol":"UDP"}': { '.': {}, 'f:port': {}, 'f:protocol': {} },
      },
    },
  ],
  [
    "a key with the schema's default",
    { zoned: [{ name: 'a' }] },
    { 'f:zoned': { 'k:{"name":"a","zone":"z"}': a } },
  ],
  ['what no schema declares', { q: { k: 1 } }, { 'f:q': { '.': {}, 'f:k': {} } }],
];
for (const [what, value, fields] of owned) {
  test(`an applier owns ${what}`, () =>
    assert.deepEqual(formatFields(fieldsOf(value, schema, sets)), fields));
}

test('a key that is left out has the default of the schema, or that of built-in types', () => {
  const { items } = keyed();
  assert.deepEqual(
    ['zone', 'protocol', 'name'].map((key) => keyDefault(items, key)),
    ['z', 'TCP', undefined],
  );
  assert.equal(keyDefault(undefined, 'protocol'), 'TCP');
  assert.equal(keyDefault(undefined, 'toString'), undefined);
});

const compared: [what: string, before: Json, after: Json, changed: object | undefined, removed?: object][] = [
  ['nothing', { x: 1 }, { x: 1 }, undefined],
  ['a field', { x: 1 }, { x: 2 }, { 'f:x': {} }],
  ['a field less', { x: 1 }, {}, undefined, { 'f:x': {} }],
  ['a map', {}, { map: { k: 1 } }, { 'f:map': { '.': {}, 'f:k': {} } }],
  ['a map less', { map: { k: 1 } }, {}, undefined, { 'f:map': { '.': {}, 'f:k': {} } }],
  ['one entry of two', { map: { k: 1, l: 1 } }, { map: { k: 1, l: 2 } }, { 'f:map': { 'f:l': {} } }],
  ['null that becomes a map', { map: null }, { map: { k: 1 } }, { 'f:map': { 'f:k': {} } }],
  ['a map that becomes null', { map: { k: 1 } }, { map: null }, undefined, { 'f:map': { 'f:k': {} } }],
  ['null that becomes a set', { set: null }, { set: ['p'] }, { 'f:set': { 'v:"p"': {} } }],
  ['a set that becomes null', { set: ['p'] }, { set: null }, undefined, { 'f:set': { 'v:"p"': {} } }],
  ['null that becomes an empty map', { map: null }, { map: {} }, { 'f:map': {} }],
  ['null that becomes a number', { x: null }, { x: 1 }, { 'f:x': {} }],
  ['an atomic map', { whole: { k: 1 } }, { whole: { k: 2 } }, { 'f:whole': {} }],
  ['an equal atomic map', { whole: { k: 1 } }, { whole: { k: 1 } }, undefined],
  ['an equal list', { plain: [1, 2] }, { plain: [1, 2] }, undefined],
  ['a list of the same elements', { plain: [1, 2] }, { plain: [2, 1] }, { 'f:plain': {} }],
  ['a set in another order', { set: ['p', 'q'] }, { set: ['q', 'p'] }, undefined],
  ['a set', { set: ['p'] }, { set: ['q'] }, { 'f:set': { 'v:"q"': {} } }, { 'f:set': { 'v:"p"': {} } }],
  ['a set with a duplicate more', { set: ['p'] }, { set: ['p', 'p'] }, undefined],
  ['a map instead of a set', { set: ['p'] }, { set: { k: 1 } }, { 'f:set': {} }],
  [
    'an element that moved',
    { list: [{ name: 'a', v: 1 }, { name: 'b' }] },
    { list: [{ name: 'b' }, { name: 'a', v: 2 }] },
    { 'f:list': { 'k:{"name":"a"}': { 'f:v': {} } } },
  ],
  [
    'an element for another',
    { list: [{ name: 'a' }, { name: 'c' }] },
    { list: [{ name: 'b' }, { name: 'c' }] },
    { 'f:list': { 'k:{"name":"b"}': a } },
    { 'f:list': { 'k:{"name":"a"}': a } },
  ],
  [
    'a list with duplicates',
    { list: [{ name: 'a' }] },
    { list: [{ name: 'a' }, { name: 'a' }] },
    { 'f:list': {} },
  ],
];
for (const [what, before, after, changed, removed] of compared) {
  test(`a write changes ${what}`, () => {
    const found = compareFields(before, after, schema, sets);
    const shown = (set: FieldSet | undefined) => set && formatFields(set);
    assert.deepEqual([shown(found?.changed), shown(found?.removed)], [changed, removed]);
  });
}

const named = (...names: string[]) => ({ list: names.map((name) => ({ name })) });
const merged: [what: string, live: Json, applied: Json, then: Json][] = [
  ['fields', { x: 1, map: { k: 1 } }, { map: { l: 2 } }, { x: 1, map: { k: 1, l: 2 } }],
  ['a changed field', { x: 1 }, { x: 2 }, { x: 2 }],
  ['null for a map: it stays', { map: { k: 1 } }, { map: null }, { map: { k: 1 } }],
  ['null for an empty map', { map: {} }, { map: null }, { map: null }],
  ['null for a number', { x: 1 }, { x: null }, { x: null }],
  ['null for an atomic map', { whole: { k: 1 } }, { whole: null }, { whole: null }],
  ['null for nothing', {}, { map: null }, { map: null }],
  ['a map for a set', { set: ['p'] }, { set: { k: 1 } }, { set: { k: 1 } }],
  ['a set for a map', { map: { k: 1 } }, { map: ['p'] }, { map: ['p'] }],
  ['an atomic map', { whole: { k: 1 } }, { whole: { l: 1 } }, { whole: { l: 1 } }],
  ['a list without a type', { plain: [1, 2] }, { plain: [3] }, { plain: [3] }],
  ['a set', { set: ['p', 'q'] }, { set: ['r', 'q'] }, { set: ['p', 'r', 'q'] }],
  [
    'an element',
    { list: [{ name: 'a', v: 1 }] },
    { list: [{ name: 'a', port: 2 }] },
    { list: [{ name: 'a', v: 1, port: 2 }] },
  ],
  [
    'one of two equal elements: both are replaced',
    {
      list: [
        { name: 'a', v: 1 },
        { name: 'a', v: 2 },
        { name: 'b', v: 3 },
      ],
    },
    { list: [{ name: 'a', port: 1 }, { name: 'b' }] },
    {
      list: [
        { name: 'a', port: 1 },
        { name: 'b', v: 3 },
      ],
    },
  ],
  ['a new element before an old one', named('a'), named('n', 'a'), named('n', 'a')],
  ['a new element after an old one', named('a'), named('a', 'n'), named('a', 'n')],
  ['elements that are only live', named('x', 'a', 'y'), named('n', 'a'), named('x', 'n', 'a', 'y')],
  ['another order', named('a', 'b', 'c', 'd'), named('d', 'b'), named('a', 'c', 'd', 'b')],
  ['the reverse order', named('a', 'b', 'c'), named('c', 'b', 'a'), named('c', 'b', 'a')],
];
for (const [what, live, applied, then] of merged) {
  test(`merging ${what}`, () => {
    const before = structuredClone(live);
    assert.deepEqual(mergeApplied(live, applied, schema, sets), then);
    assert.deepEqual(live, before);
  });
}

const removals: [
  what: string,
  value: Json,
  gone: object,
  kept: object | undefined,
  left: Json | undefined,
][] = [
  ['a field', { x: 1, plain: [1] }, { 'f:x': {} }, undefined, { plain: [1] }],
  ['the only field', { x: 1 }, { 'f:x': {} }, undefined, undefined],
  ['a field that another keeps', { x: 1 }, { 'f:x': {} }, { 'f:x': {} }, { x: 1 }],
  ['a field, where another keeps another', { x: 1, map: {} }, { 'f:x': {} }, { 'f:map': {} }, { map: {} }],
  ['the last entry of a map', { x: 1, map: { k: 1 } }, { 'f:map': { 'f:k': {} } }, undefined, { x: 1 }],
  ['one entry of two', { map: { k: 1, l: 1 } }, { 'f:map': { 'f:k': {} } }, undefined, { map: { l: 1 } }],
  [
    'the last entry of a map that another keeps',
    { x: 1, map: { k: 1 } },
    { 'f:map': { 'f:k': {} } },
    { 'f:map': { '.': {} } },
    { x: 1, map: {} },
  ],
  ['a whole map', { x: 1, map: { k: 1, l: 1 } }, { 'f:map': { '.': {}, 'f:k': {} } }, undefined, { x: 1 }],
  [
    'a map of which another keeps an entry',
    { x: 1, map: { k: 1, l: 1 } },
    { 'f:map': { '.': {}, 'f:k': {} } },
    { 'f:map': { 'f:l': {} } },
    { x: 1, map: { l: 1 } },
  ],
  ['entries of a map that is a number now', { x: 1 }, { 'f:x': { 'f:k': {} } }, undefined, { x: 1 }],
  [
    'entries of an atomic map',
    { whole: { k: 1 } },
    { 'f:whole': { 'f:k': {} } },
    undefined,
    { whole: { k: 1 } },
  ],
  ['an atomic map', { x: 1, whole: { k: 1 } }, { 'f:whole': {} }, undefined, { x: 1 }],
  [
    'an atomic map of which another kept entries before',
    { x: 1, whole: { k: 1 } },
    { 'f:whole': {} },
    { 'f:whole': { 'f:k': {} } },
    { x: 1 },
  ],
  ['entries of an empty map', { x: 1, map: {} }, { 'f:map': { 'f:k': {} } }, undefined, { x: 1, map: {} }],
  ['a value of a set', { set: ['p', 'q'] }, { 'f:set': { 'v:"p"': {} } }, undefined, { set: ['q'] }],
  ['the last value of a set', { x: 1, set: ['p'] }, { 'f:set': { 'v:"p"': {} } }, undefined, { x: 1 }],
  [
    'an element',
    { list: [{ name: 'a', v: 1 }, { name: 'b' }] },
    { 'f:list': { 'k:{"name":"a"}': { ...a, 'f:v': {} } } },
    undefined,
    { list: [{ name: 'b' }] },
  ],
  [
    'a field of an element',
    { list: [{ name: 'a', v: 1 }] },
    { 'f:list': { 'k:{"name":"a"}': { 'f:v': {} } } },
    undefined,
    { list: [{ name: 'a' }] },
  ],
];
for (const [what, value, gone, kept, left] of removals) {
  test(`removing ${what}`, () => {
    const before = structuredClone(value);
    const keptSet = kept && parseFields(kept, sets);
    assert.deepEqual(removeFields(value, schema, parseFields(gone, sets), keptSet), left);
    assert.deepEqual(value, before);
  });
}

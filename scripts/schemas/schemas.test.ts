import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definitionNameOf } from '../../src/apiserver/builtin-schema/builtin-schema.ts';
import { builtinKinds } from '../../src/apiserver/kinds/index.ts';
import type { Schema } from '../../src/apiserver/schema.ts';
import { ATOMIC_TYPES, GRANULAR_FIELDS, KEYED_LISTS } from './merge-rules.ts';
import { parseDeclarations } from './parse-declarations.ts';

/** Every named type that the built-in kinds reach, by its short name. */
function reachable(): Map<string, Schema> {
  const types = new Map<string, Schema>();
  const visit = (schema: Schema): void => {
    const name = definitionNameOf(schema)?.split('.').at(-1);
    if (name !== undefined) {
      if (types.has(name)) return;
      types.set(name, schema);
    }
    for (const each of Object.values(schema.properties ?? {})) visit(each);
    if (schema.items) visit(schema.items);
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties);
  };
  for (const kind of builtinKinds) visit(kind.schema());
  return types;
}

test('every rule about merging names a field that exists, with keys that exist', () => {
  const types = reachable();
  for (const [path, keys] of Object.entries(KEYED_LISTS)) {
    const [type = '', field = ''] = path.split('.');
    const list = types.get(type)?.properties?.[field];
    assert.equal(list?.type, 'array', path);
    for (const key of keys) assert.ok(list?.items?.properties?.[key], `${path} by ${key}`);
  }
  for (const path of GRANULAR_FIELDS) {
    const [type = '', field = ''] = path.split('.');
    assert.equal(types.get(type)?.properties?.[field]?.['x-kubernetes-map-type'], undefined, path);
  }
  for (const type of ATOMIC_TYPES) {
    const schema = types.get(type);
    if (schema) assert.equal(schema['x-kubernetes-map-type'], 'atomic', type);
  }
});

test('declarations: comments, maps, optional and read-only fields, merging', () => {
  const first = parseDeclarations(`import { X, Y } from "../meta/v1";
/** A is one. */
export interface A {
    /**
     * b is
     * long: {
     */
    readonly b?: string;
    c: Array<X>;
    /** d maps. */
    d?: {
        [name: string]: Y;
    };
}
export type T = string;
`);
  const both = parseDeclarations('export interface A {\n    "x-e"?: boolean;\n}\n', first);
  const type = both.types.get('A');
  assert.equal(type?.description, 'A is one.');
  assert.deepEqual(
    [...(type?.fields.values() ?? [])],
    [
      { name: 'b', optional: true, type: 'string', description: 'b is\nlong: {' },
      { name: 'c', optional: false, type: 'Array<X>', description: '' },
      { name: 'd', optional: true, type: 'Record<Y>', description: 'd maps.' },
      { name: 'x-e', optional: true, type: 'boolean', description: '' },
    ],
  );
  assert.equal(both.imports.get('Y'), '../meta/v1');
  assert.equal(both.types.get('T')?.alias, 'string');
});

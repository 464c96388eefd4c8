import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinKinds } from '../kinds/index.ts';
import type { Schema } from '../schema.ts';
import { builtinSchema, definitionNameOf, fieldDescriptionOf } from './builtin-schema.ts';
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

test('every built-in kind has a schema with apiVersion, kind, metadata and descriptions', () => {
  for (const kind of builtinKinds) {
    const { properties = {}, description } = kind.schema();
    assert.ok(properties.apiVersion && properties.kind && properties.metadata, kind.kind);
    assert.ok(description, kind.kind);
    for (const subresource of kind.subresources) {
      if (subresource === 'status') assert.ok(properties.status, `${kind.kind} status`);
    }
  }
});

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

test('recursive and opaque types do not end the walk', () => {
  const props = builtinSchema('apiextensions/v1', 'JSONSchemaProps');
  assert.equal(props.properties?.not, props);
  assert.equal(props.properties?.['x-kubernetes-int-or-string']?.type, 'boolean');
  assert.equal(builtinSchema('meta/v1', 'FieldsV1')['x-kubernetes-preserve-unknown-fields'], true);
  assert.throws(() => builtinSchema('core/v1', 'Nothing'), /no type Nothing/);
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

test('a field of a named type has the description of the field', () => {
  const description = fieldDescriptionOf(builtinSchema('core/v1', 'Pod'), 'spec');
  assert.match(description ?? '', /desired behavior of the pod/);
});

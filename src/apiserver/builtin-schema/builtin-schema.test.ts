import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtinKinds } from '../kinds/index.ts';
import { builtinSchema, fieldDescriptionOf } from './builtin-schema.ts';

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

test('recursive and opaque types are handled', () => {
  const props = builtinSchema('apiextensions/v1', 'JSONSchemaProps');
  assert.equal(props.properties?.not, props);
  assert.equal(props.properties?.['x-kubernetes-int-or-string']?.type, 'boolean');
  assert.equal(builtinSchema('meta/v1', 'FieldsV1')['x-kubernetes-preserve-unknown-fields'], true);
  assert.throws(() => builtinSchema('core/v1', 'Nothing'), /no type core\/v1\.Nothing/);
});

test('a field of a named type has the description of the field', () => {
  const description = fieldDescriptionOf(builtinSchema('core/v1', 'Pod'), 'spec');
  assert.match(description ?? '', /desired behavior of the pod/);
});

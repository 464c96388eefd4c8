// Checks an applied configuration against its kind's schema before it is merged: unknown fields, wrong types, and list
// elements that are given twice or without their keys cannot be owned. kube-apiserver answers these with 500.

import type { KubeObject } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import { builtinSchema, zeroOf } from '../builtin-schema/builtin-schema.ts';
import type { Kind } from '../kind.ts';
import type { Schema } from '../schema.ts';
import { keyDefault, propertySchema } from './field-walk.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** The first problem, with its path, or undefined. */
export function problemOfApplied(applied: KubeObject, kind: Kind): string | undefined {
  const schema = kind.schema();
  const { apiVersion: _version, kind: _kind, metadata, ...sections } = applied as unknown as JsonObject;
  return (
    problemOf(metadata as Json, builtinSchema('meta/v1', 'ObjectMeta'), '.metadata') ??
    problemOfFields(sections, schema, '')
  );
}

function problemOf(value: Json, schema: Schema | undefined, path: string): string | undefined {
  if (value === null || schema === undefined) return undefined;
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'quantity') {
    return typeof value === 'object' ? expected('any scalar', value, path) : undefined;
  }
  if (schema['x-kubernetes-embedded-resource'] && isJsonObject(value)) {
    const { apiVersion: _version, kind: _kind, metadata: _metadata, ...sections } = value;
    return problemOfFields(sections, schema, path);
  }
  switch (schema.type) {
    case 'object':
      return isJsonObject(value) ? problemOfFields(value, schema, path) : expected('map', value, path);
    case 'array':
      return Array.isArray(value) ? problemOfList(value, schema, path) : expected('list', value, path);
    case 'string':
      return typeof value === 'string' ? undefined : expected('string', value, path);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : expected('boolean', value, path);
    case 'integer':
    case 'number':
      return typeof value === 'number' ? undefined : expected('numeric (int or float)', value, path);
    default:
      return undefined;
  }
}

const expected = (type: string, value: Json, path: string): string =>
  `${path}: expected ${type}, got ${JSON.stringify(value)?.slice(0, 100)}`;

function problemOfFields(fields: JsonObject, schema: Schema, path: string): string | undefined {
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true;
  for (const [key, value] of Object.entries(fields)) {
    const property = propertySchema(schema, key);
    if (property === undefined) {
      const isUntyped = schema.properties === undefined && schema.additionalProperties === undefined;
      if (isOpen || (isUntyped && schema.type !== 'object')) continue;
      return `${path}.${key}: field not declared in schema`;
    }
    const problem = problemOf(value, property, `${path}.${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOfList(list: readonly Json[], schema: Schema, path: string): string | undefined {
  const seen = new Set<string>();
  const type = schema['x-kubernetes-list-type'];
  for (const [index, item] of list.entries()) {
    const at = `${path}[${index}]`;
    if (type === 'map' || type === 'set') {
      const key = type === 'set' ? item : keyOf(item, schema);
      if (key === undefined || key === null) return `${at}: element has no value, or lacks one of its keys`;
      const text = JSON.stringify(key);
      if (seen.has(text)) return `${path}: duplicate entries for key ${text}`;
      seen.add(text);
    }
    const problem = problemOf(item, schema.items, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Keys with a default may be left out; in built-in types that is every key that is never omitted. */
function keyOf(item: Json, schema: Schema): Json | undefined {
  if (!isJsonObject(item)) return undefined;
  const zero = zeroOf(schema.items ?? {}) as JsonObject;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const values = keys.map(
    (name) => getOwn(item, name) ?? keyDefault(schema.items, name) ?? getOwn(zero, name) ?? null,
  );
  return values.every((value) => value !== null) ? values : undefined;
}

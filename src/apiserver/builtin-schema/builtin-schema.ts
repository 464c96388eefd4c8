// The schemas of Kubernetes' built-in kinds, from generated/schemas.json, which scripts/generate-schemas.ts writes.
// Schemas of named types are shared nodes (recursive ones refer to themselves). The names, for OpenAPI, and the
// descriptions of fields of these types are kept separately, and so is what becomes of their empty values. The file is read when the first schema is requested.

import { readFileSync } from 'node:fs';
import { getOwn } from '../../api/own-property.ts';
import type { Schema } from '../schema.ts';

/** Where Kubernetes' OpenAPI documents have the types of a module, when not under `io.k8s.api`. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['meta/v1', 'io.k8s.apimachinery.pkg.apis.meta.v1.'],
  ['api/resource', 'io.k8s.apimachinery.pkg.api.resource.'],
  ['apiextensions/v1', 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.'],
  ['runtime', 'io.k8s.apimachinery.pkg.runtime.'],
]);

/** As written: a field of a named type is a `$ref` with a description of its own. */
let written: Readonly<Record<string, Schema>> | undefined;
const schemas = new Map<string, Schema>();
const names = new WeakMap<Schema, string>();
const empties = new WeakMap<Schema, EmptyValues>();
const zeros = new WeakMap<Schema, Readonly<Record<string, unknown>>>();
const fieldDescriptions = new WeakMap<Schema, ReadonlyMap<string, string>>();

/** How a Go type encodes empty values. */
export interface EmptyValues {
  /** Left out where they are empty. */
  readonly omits: ReadonlySet<string>;
  /** There even in an empty object. A structure is `{}` here: it has such fields of its own. */
  readonly always: readonly (readonly [field: string, value: unknown])[];
}

/** For example `builtinSchema('core/v1', 'Pod')`. Throws when the type does not exist. */
export function builtinSchema(module: string, type: string): Schema {
  return named(`${module}.${type}`);
}

function named(name: string): Schema {
  const known = schemas.get(name);
  if (known) return known;
  written ??= JSON.parse(
    readFileSync(new URL('generated/schemas.json', import.meta.url), 'utf8'),
  ) as typeof written;
  const text = getOwn(written, name);
  if (text === undefined) throw new Error(`no type ${name} is in the generated schemas`);
  const schema: Schema = {};
  schemas.set(name, schema);
  const dot = name.lastIndexOf('.');
  const module = name.slice(0, dot);
  const prefix = PREFIXES.get(module) ?? `io.k8s.api.${module.replace('/', '.')}.`;
  names.set(schema, `${prefix}${name.slice(dot + 1)}`);
  return fill(schema, text);
}

function resolved(text: Schema): Schema {
  return text.$ref === undefined ? fill({}, text) : named(text.$ref);
}

function fill(schema: Schema, text: Schema): Schema {
  const { properties, items, additionalProperties, omits, always, ...rest } = text;
  Object.assign(schema, rest);
  if (omits || always) empties.set(schema, { omits: new Set(omits), always: Object.entries(always ?? {}) });
  if (items) schema.items = resolved(items);
  if (additionalProperties !== undefined) {
    schema.additionalProperties =
      typeof additionalProperties === 'object' ? resolved(additionalProperties) : additionalProperties;
  }
  if (properties) {
    const entries = Object.entries(properties);
    const ofNamed = entries.filter(([, { $ref }]) => $ref !== undefined);
    fieldDescriptions.set(
      schema,
      new Map(ofNamed.map(([field, { description = '' }]) => [field, description])),
    );
    schema.properties = Object.fromEntries(entries.map(([field, each]) => [field, resolved(each)]));
  }
  return schema;
}

/** Undefined for a type of a CRD, or one without such fields. */
export function emptyValuesOf(schema: Schema): EmptyValues | undefined {
  return empties.get(schema);
}

/** The encoding of an empty object of this type. Shared, not to be changed. */
export function zeroOf(schema: Schema): Readonly<Record<string, unknown>> {
  let zero = zeros.get(schema);
  if (zero === undefined) {
    const fields = emptyValuesOf(schema)?.always ?? [];
    zero = Object.fromEntries(fields.map(([field, value]) => [field, zeroField(schema, field, value)]));
    zeros.set(schema, zero);
  }
  return zero;
}

function zeroField(schema: Schema, field: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return zeroOf(getOwn(schema.properties, field) ?? {});
}

/** The OpenAPI name of a named type, such as `io.k8s.api.core.v1.Pod`. */
export function definitionNameOf(schema: Schema): string | undefined {
  return names.get(schema);
}

/** The description of a field whose type has a name (and so a description) of its own. */
export function fieldDescriptionOf(schema: Schema, field: string): string | undefined {
  return fieldDescriptions.get(schema)?.get(field) ?? getOwn(schema.properties, field)?.description;
}

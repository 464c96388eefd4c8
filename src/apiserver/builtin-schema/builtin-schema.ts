// The schemas of Kubernetes' own kinds, built on first use from the declarations of the `kubernetes-types` package.
// Schemas of named types are shared nodes (recursive ones point back at themselves); their names, for OpenAPI, and
// the descriptions of fields that hold them, are kept beside. Nothing is read until a schema is asked for.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { getOwn } from '../../api/own-property.ts';
import type { Schema } from '../schema.ts';
import { ADDITIONS } from './additions.ts';
import { ATOMIC_TYPES, applyMergeRules, GRANULAR_FIELDS, RETAIN_KEYS_TYPES } from './merge-rules.ts';
import { type Declarations, parseDeclarations, type TypeDeclaration } from './parse-declarations.ts';

const PREFIXES: Record<string, string> = {
  'meta/v1': 'io.k8s.apimachinery.pkg.apis.meta.v1.',
  'api/resource': 'io.k8s.apimachinery.pkg.api.resource.',
  'apiextensions/v1': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.',
  runtime: 'io.k8s.apimachinery.pkg.runtime.',
};
/** Types that hold arbitrary JSON. */
const OPAQUE = new Set(['FieldsV1', 'RawExtension', 'JSON', 'Patch']);

const cache: {
  root?: string;
  modules: Map<string, Declarations>;
  schemas: Map<string, Schema>;
} = { modules: new Map(), schemas: new Map() };
const names = new WeakMap<Schema, string>();
const fieldDescriptions = new WeakMap<Schema, Record<string, string>>();

/** For example `builtinSchema('core/v1', 'Pod')`. Throws when there is no such type. */
export function builtinSchema(module: string, type: string): Schema {
  const key = `${module}.${type}`;
  const known = cache.schemas.get(key);
  if (known) return known;
  const declaration = declarationsOf(module).types.get(type);
  if (!declaration) throw new Error(`no type ${type} is declared in ${module}`);
  const schema: Schema = {};
  cache.schemas.set(key, schema);
  names.set(schema, definitionName(module, type));
  fill(schema, module, declaration);
  return schema;
}

/** The name in OpenAPI documents, such as `io.k8s.api.core.v1.Pod`, when the schema is a type with a name. */
export function definitionNameOf(schema: Schema): string | undefined {
  return names.get(schema);
}

/** What the declaration says of a field whose type has a name (and so a description) of its own. */
export function fieldDescriptionOf(schema: Schema, field: string): string | undefined {
  return getOwn(fieldDescriptions.get(schema), field) ?? getOwn(schema.properties, field)?.description;
}

function definitionName(module: string, type: string): string {
  return `${PREFIXES[module] ?? `io.k8s.api.${module.replace('/', '.')}.`}${type}`;
}

function declarationsOf(module: string): Declarations {
  const known = cache.modules.get(module);
  if (known) return known;
  cache.root ??= dirname(createRequire(import.meta.url).resolve('kubernetes-types/package.json'));
  const added = ADDITIONS[module];
  const declarations = module === 'policy/v1beta1' ? undefined : parseDeclarations(read(cache.root, module));
  const all = added ? parseDeclarations(added, declarations) : declarations;
  if (!all) throw new Error(`no declarations for ${module}`);
  cache.modules.set(module, all);
  return all;
}

function read(root: string, module: string): string {
  return readFileSync(join(root, `${module}.d.ts`), 'utf8');
}

function fill(schema: Schema, module: string, { name, description, fields, alias }: TypeDeclaration): void {
  if (description) schema.description = description;
  if (alias !== undefined) {
    fillAlias(schema, name);
    return;
  }
  if (OPAQUE.has(name)) {
    if (name !== 'JSON') schema.type = 'object';
    schema['x-kubernetes-preserve-unknown-fields'] = true;
    return;
  }
  schema.type = 'object';
  if (ATOMIC_TYPES.has(name)) schema['x-kubernetes-map-type'] = 'atomic';
  if (RETAIN_KEYS_TYPES.has(name)) schema['x-kubernetes-patch-strategy'] = 'retainKeys';
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  const descriptions: Record<string, string> = {};
  schema.properties = properties;
  fieldDescriptions.set(schema, descriptions);
  for (const field of [...fields.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const property = GRANULAR_FIELDS.has(`${name}.${field.name}`)
      ? granular(typeSchema(field.type, module))
      : typeSchema(field.type, module);
    if (names.has(property)) descriptions[field.name] = field.description;
    else {
      property.description = field.description;
      applyMergeRules(name, field.name, property);
    }
    properties[field.name] = property;
    if (!field.optional) required.push(field.name);
  }
  if (required.length > 0) schema.required = required;
}

function granular(schema: Schema): Schema {
  const { 'x-kubernetes-map-type': _atomic, ...rest } = schema;
  return rest;
}

function fillAlias(schema: Schema, name: string): void {
  if (name === 'Quantity') Object.assign(schema, { type: 'string', format: 'quantity' });
  else if (name === 'Time' || name === 'MicroTime')
    Object.assign(schema, { type: 'string', format: 'date-time' });
  else schema['x-kubernetes-preserve-unknown-fields'] = true;
}

function typeSchema(text: string, module: string): Schema {
  if (text === 'string' || text.startsWith('"')) return { type: 'string' };
  if (text === 'number') return { type: 'integer', format: 'int64' };
  if (text === 'boolean') return { type: 'boolean' };
  if (text === 'number | string') return { 'x-kubernetes-int-or-string': true };
  const wrapped = /^(Array|Record)<(.+)>$/.exec(text);
  if (wrapped) {
    const [, container, inner = ''] = wrapped;
    const element = typeSchema(inner, module);
    return container === 'Array'
      ? { type: 'array', items: element }
      : { type: 'object', additionalProperties: element };
  }
  const imported = declarationsOf(module).imports.get(text);
  return builtinSchema(imported ? posix.join(posix.dirname(module), imported) : module, text);
}

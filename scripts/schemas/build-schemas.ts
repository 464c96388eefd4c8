// Builds the schemas of Kubernetes' own kinds from the declarations of the `kubernetes-types` package, the types that
// it lacks (additions.ts) and the rules that declarations cannot express (merge-rules.ts). Pure, except that it reads
// the package.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import type { Schema } from '../../src/apiserver/schema.ts';
import { ADDITIONS } from './additions.ts';
import emptyValues from './empty-values.json' with { type: 'json' };
import {
  ATOMIC_TYPES,
  applyMergeRules,
  GRANULAR_FIELDS,
  REQUIRED,
  RETAIN_KEYS_TYPES,
} from './merge-rules.ts';
import { type Declarations, parseDeclarations, type TypeDeclaration } from './parse-declarations.ts';

/** Types that hold arbitrary JSON. */
const OPAQUE = new Set(['FieldsV1', 'RawExtension', 'JSON', 'Patch']);
const root = dirname(createRequire(import.meta.url).resolve('kubernetes-types/package.json'));

/** By `module.Type`, such as `core/v1.Pod`, with the types that they refer to. A field of a named type is a `$ref`. */
export function buildSchemas(roots: readonly string[]): Map<string, Schema> {
  const schemas = new Map<string, Schema>();
  const modules = new Map<string, Declarations>();
  const declarationsOf = (module: string): Declarations => {
    let declarations = modules.get(module);
    if (declarations === undefined) {
      declarations = readDeclarations(module);
      modules.set(module, declarations);
    }
    return declarations;
  };
  const refer = (module: string, type: string): Schema => {
    const name = `${module}.${type}`;
    if (!schemas.has(name)) {
      const declaration = declarationsOf(module).types.get(type);
      if (!declaration) throw new Error(`no type ${type} is declared in ${module}`);
      const schema: Schema = {};
      schemas.set(name, schema);
      Object.assign(
        schema,
        describe(declaration, (text) => typeSchema(text, module)),
        emptyValuesOf(name),
      );
    }
    return { $ref: name };
  };
  const typeSchema = (text: string, module: string): Schema => {
    if (text === 'string' || text.startsWith('"')) return { type: 'string' };
    if (text === 'number') return { type: 'integer', format: 'int64' };
    if (text === 'boolean') return { type: 'boolean' };
    if (text === 'number | string') return { 'x-kubernetes-int-or-string': true };
    const [, container, inner = ''] = /^(Array|Record)<(.+)>$/.exec(text) ?? [];
    if (container === 'Array') return { type: 'array', items: typeSchema(inner, module) };
    if (container === 'Record') return { type: 'object', additionalProperties: typeSchema(inner, module) };
    const imported = declarationsOf(module).imports.get(text);
    return refer(imported ? posix.join(posix.dirname(module), imported) : module, text);
  };
  /** A field whose type is one leaf everywhere else gets a copy that is not. */
  const granular = (schema: Schema): Schema => {
    const { 'x-kubernetes-map-type': _atomic, ...rest } = schemas.get(schema.$ref ?? '') ?? schema;
    return rest;
  };
  const describe = (
    { name, description, fields, alias }: TypeDeclaration,
    schemaOf: (text: string) => Schema,
  ): Schema => {
    const schema: Schema = description ? { description } : {};
    if (alias !== undefined) return { ...schema, ...aliasSchema(name) };
    if (OPAQUE.has(name)) {
      return { ...schema, ...(name !== 'JSON' && { type: 'object' }), ...ANYTHING };
    }
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const field of [...fields.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const written = schemaOf(field.type);
      const property = GRANULAR_FIELDS.has(`${name}.${field.name}`) ? granular(written) : written;
      property.description = field.description;
      if (property.$ref === undefined) applyMergeRules(name, field.name, property);
      properties[field.name] = property;
      if (REQUIRED.get(`${name}.${field.name}`) ?? !field.optional) required.push(field.name);
    }
    return {
      ...schema,
      type: 'object',
      ...(ATOMIC_TYPES.has(name) && { 'x-kubernetes-map-type': 'atomic' }),
      ...(RETAIN_KEYS_TYPES.has(name) && { 'x-kubernetes-patch-strategy': 'retainKeys' }),
      properties,
      ...(required.length > 0 && { required }),
    };
  };
  for (const name of roots)
    refer(name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1));
  return schemas;
}

/**
 * What becomes of empty values in Kubernetes' Go types, by type: `omits` are the fields that are left out where they are
 * empty (not pointers, tagged omitempty), `always` those that are there even in an empty object, with that value.
 */
const EMPTY_VALUES = emptyValues as Readonly<Record<string, { omits?: string; always?: object }>>;

function emptyValuesOf(name: string): Pick<Schema, 'omits' | 'always'> {
  const { omits, always } = EMPTY_VALUES[name] ?? {};
  return {
    ...(omits && { omits: omits.split(' ') }),
    ...(always && { always: always as Record<string, unknown> }),
  };
}

const ANYTHING = { 'x-kubernetes-preserve-unknown-fields': true };

function aliasSchema(name: string): Schema {
  if (name === 'Quantity') return { type: 'string', format: 'quantity' };
  if (name === 'Time' || name === 'MicroTime') return { type: 'string', format: 'date-time' };
  return ANYTHING;
}

function readDeclarations(module: string): Declarations {
  const added = ADDITIONS[module];
  // A group that Kubernetes has removed, and the package with it.
  const declared =
    module === 'policy/v1beta1'
      ? undefined
      : parseDeclarations(readFileSync(join(root, `${module}.d.ts`), 'utf8'));
  const all = added ? parseDeclarations(added, declared) : declared;
  if (!all) throw new Error(`no declarations for ${module}`);
  return all;
}

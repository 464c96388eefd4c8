// Converts schemas to OpenAPI definitions: named types become references, and "number or string" is expressed as each
// OpenAPI version does. Collects all referenced definitions.

import { definitionNameOf, fieldDescriptionOf } from '../builtin-schema/builtin-schema.ts';
import type { Schema } from '../schema.ts';

export type OpenApiVersion = 'v2' | 'v3';

export interface Definitions {
  readonly version: OpenApiVersion;
  readonly byName: Map<string, object>;
}

const PREFIX: Readonly<Record<OpenApiVersion, string>> = {
  v2: '#/definitions/',
  v3: '#/components/schemas/',
};

export function refTo(name: string, { version }: Definitions): { $ref: string } {
  return { $ref: PREFIX[version] + name };
}

/** Adds the schema as a definition, with everything it references. */
export function defineSchema(name: string, schema: Schema, into: Definitions, extra: object = {}): void {
  if (into.byName.has(name)) return;
  const definition = {};
  into.byName.set(name, definition);
  Object.assign(definition, body(schema, into), extra);
}

function body(schema: Schema, into: Definitions): Record<string, unknown> {
  if (schema.format === 'quantity') return quantity(schema, into.version);
  if (schema['x-kubernetes-int-or-string']) return intOrString(schema, into.version);
  const {
    properties,
    items,
    additionalProperties,
    allOf,
    anyOf,
    oneOf,
    not,
    default: preset,
    nullable,
    ...plain
  } = schema;
  const result: Record<string, unknown> = { ...plain };
  if (into.version === 'v3') Object.assign(result, combinations({ allOf, anyOf, oneOf, not }, into));
  if (into.version === 'v3' && nullable !== undefined) result.nullable = nullable;
  if (preset !== undefined) result.default = preset;
  if (properties) {
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([field, each]) => [
        field,
        property(each, into, fieldDescriptionOf(schema, field)),
      ]),
    );
  }
  if (items) result.items = property(items, into);
  if (typeof additionalProperties === 'object')
    result.additionalProperties = property(additionalProperties, into);
  else if (additionalProperties !== undefined && into.version === 'v3')
    result.additionalProperties = additionalProperties;
  return result;
}

interface Combinations {
  allOf: Schema[] | undefined;
  anyOf: Schema[] | undefined;
  oneOf: Schema[] | undefined;
  not: Schema | undefined;
}

function combinations(parts: Combinations, into: Definitions): object {
  const result: Record<string, unknown> = {};
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
    const list = parts[key];
    if (list) result[key] = list.map((each) => body(each, into));
  }
  if (parts.not) result.not = body(parts.not, into);
  return result;
}

function property(schema: Schema, into: Definitions, description?: string): object {
  const name = definitionNameOf(schema);
  if (name === undefined) return body(schema, into);
  defineSchema(name, schema, into);
  const reference = refTo(name, into);
  if (!description) return reference;
  return into.version === 'v2' ? { description, ...reference } : { description, allOf: [reference] };
}

function quantity({ description }: Schema, version: OpenApiVersion): Record<string, unknown> {
  if (version === 'v2') return { description, type: 'string' };
  return { description, oneOf: [{ type: 'string' }, { type: 'number' }] };
}

function intOrString({ description }: Schema, version: OpenApiVersion): Record<string, unknown> {
  if (version === 'v2') return { description, type: 'string', format: 'int-or-string' };
  return {
    description,
    oneOf: [{ type: 'integer' }, { type: 'string' }],
    format: 'int-or-string',
    'x-kubernetes-int-or-string': true,
  };
}

// Decodes an object by its kind's schema: removes (and reports) unknown fields, gives nulls and empty values the form
// that Kubernetes' Go types have, converts quantities to canonical form, and rejects values of a wrong type. Custom kinds keep wrong types for
// schema validation, which reports all of them with their paths.

import type { KubeObject } from '../../api/object.ts';
import { getOwn, setOwn } from '../../api/own-property.ts';
import { canonicalQuantity, QuantityError } from '../../api/quantity.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { builtinSchema, definitionNameOf, emptyValuesOf, zeroOf } from '../builtin-schema/builtin-schema.ts';
import type { Kind } from '../kind.ts';
import { copyJson } from '../patch/json.ts';
import type { Schema } from '../schema.ts';
import { fieldPath } from './checks.ts';

interface Walk {
  readonly kind: Pick<Kind, 'kind' | 'version'>;
  readonly unknown: string[];
  /** Nulls and empty values dropped, types enforced, quantities canonical: as decoding into Go structures does. */
  readonly decodes: boolean;
}

/**
 * Returns the paths of unknown fields, such as `spec.containers[0].foo`, and removes them from the object, in place.
 * Throws a KubeError BadRequest when a field of a built-in kind has a value that cannot be decoded. Parts that are
 * identical objects at their place in `known`, a stored object, are skipped: they were decoded before.
 */
export function pruneUnknownFields(object: KubeObject, kind: Kind, known?: KubeObject): string[] {
  const schema = kind.schema();
  const walk: Walk = {
    kind,
    unknown: [],
    decodes: definitionNameOf(schema) !== undefined,
  };
  visitObject(object as unknown as Record<string, unknown>, schema, '', walk, known);
  return walk.unknown;
}

/** Maximum number of unknown fields named for one object; all are removed. */
const MAX_UNKNOWN = 100;

const OBJECT_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

function visitObject(
  object: Record<string, unknown>,
  schema: Schema,
  path: string,
  walk: Walk,
  known?: unknown,
): void {
  const { properties, additionalProperties } = schema;
  const read = typeof known === 'object' ? (known as Record<string, unknown> | null) : undefined;
  const empties = walk.decodes ? emptyValuesOf(schema) : undefined;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (typeof value === 'object' && value !== null && value === getOwn(read, key)) continue;
    const property =
      properties && Object.hasOwn(properties, key)
        ? properties[key]
        : typeof additionalProperties === 'object'
          ? additionalProperties
          : undefined;
    if (property) {
      if (isPlain(value, property)) {
        if ((value === '' || value === false) && empties?.omits.has(key)) delete object[key];
        continue;
      }
      if (value === null && walk.decodes) {
        // Go leaves the field of a structure as it is; an entry of a map gets its type's empty value.
        if (properties === undefined) setOwn(object, key, emptyOf(property));
        else delete object[key];
        continue;
      }
      if (value === null && !property.nullable) {
        // A null that the schema of a custom kind does not allow means that the field is absent.
        delete object[key];
        continue;
      }
      visit(object, key, property, fieldPath(path, key), walk, getOwn(read, key));
      if (empties?.omits.has(key) && isEmpty(object[key])) delete object[key];
    } else if (OBJECT_FIELDS.has(key) && (path === '' || schema['x-kubernetes-embedded-resource'] === true)) {
      if (key === 'metadata') visitMetadata(object, key, fieldPath(path, key), walk, getOwn(read, key));
    } else if (!schema['x-kubernetes-preserve-unknown-fields'] && additionalProperties !== true) {
      if (walk.unknown.length < MAX_UNKNOWN) walk.unknown.push(fieldPath(path, key));
      delete object[key];
    }
  }
  if (empties === undefined) return;
  for (const [field, zero] of empties.always) {
    const value = getOwn(object, field);
    // A list or map without elements is encoded as if it had not been given.
    if (zero === null && typeof value === 'object' && isEmpty(value)) setOwn(object, field, null);
    if (value === undefined) setOwn(object, field, copyJson(getOwn(zeroOf(schema), field)));
  }
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === 0 || value === '' || value === false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

/** Most values: a string or boolean where one is expected. */
function isPlain(value: unknown, { type, format }: Schema): boolean {
  return typeof value === type && format === undefined && type !== 'object';
}

/** Metadata is decoded like a built-in type, in custom objects too. */
function visitMetadata(
  holder: Record<string, unknown>,
  key: string,
  field: string,
  walk: Walk,
  known?: unknown,
): void {
  const decoding = walk.decodes ? walk : { ...walk, decodes: true };
  visit(holder, key, builtinSchema('meta/v1', 'ObjectMeta'), field, decoding, known);
}

function visit(
  holder: Record<string, unknown> | unknown[],
  key: string | number,
  schema: Schema,
  path: string,
  walk: Walk,
  known?: unknown,
): void {
  const given = Array.isArray(holder) ? holder[key as number] : getOwn(holder, key as string);
  if (given === null || given === undefined) return;
  // A patch can move a part of the stored object, which is shared and frozen, to another place.
  const value = Object.isFrozen(given) ? unshared(given) : given;
  if (value !== given) setOwn(holder as Record<string, unknown>, String(key), value);
  if (!walk.decodes && definitionNameOf(schema)?.endsWith('.ObjectMeta')) {
    visitMetadata(holder as Record<string, unknown>, key as string, path, walk);
    return;
  }
  if (walk.decodes) {
    const decoded = decodeScalar(value, schema, path, walk);
    if (decoded !== value) setOwn(holder as Record<string, unknown>, String(key), decoded);
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items) {
      const list = Array.isArray(known) ? known : undefined;
      for (let index = 0; index < value.length; index++) {
        const each: unknown = value[index];
        if (isPlain(each, items) || (typeof each === 'object' && each !== null && each === list?.[index]))
          continue;
        if (each === null && walk.decodes) value[index] = emptyOf(items);
        visit(value, index, items, `${path}[${index}]`, walk, list?.[index]);
      }
    }
  } else if (typeof value === 'object') {
    const described =
      schema.properties ?? schema.additionalProperties ?? schema['x-kubernetes-embedded-resource'];
    if (
      described !== undefined ||
      (schema.type === 'object' && !schema['x-kubernetes-preserve-unknown-fields'])
    ) {
      visitObject(value as Record<string, unknown>, schema, path, walk, known);
    }
  }
}

function unshared(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  return typeof value === 'object' ? { ...value } : value;
}

/** The result of Go's decoder for a null in a list. */
function emptyOf({ type }: Schema): unknown {
  if (type === 'string') return '';
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return 0;
  return type === 'array' ? [] : {};
}

function decodeScalar(value: unknown, schema: Schema, path: string, walk: Walk): unknown {
  if (schema.format === 'quantity') {
    if (typeof value !== 'string' && typeof value !== 'number')
      throw undecodable(value, 'resource.Quantity', path, walk);
    try {
      return canonicalQuantity(value);
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      throw cannotBeHandled(error.message, walk);
    }
  }
  if (schema['x-kubernetes-int-or-string']) {
    if (typeof value !== 'string' && !Number.isInteger(value))
      throw undecodable(value, 'intstr.IntOrString', path, walk);
    return value;
  }
  if (schema.format === 'date-time' && typeof value === 'string') {
    const isMicro = definitionNameOf(schema)?.endsWith('.MicroTime') ?? false;
    if (!isTime(value) || (isMicro && !MICROSECONDS.test(value))) {
      const layout = `2006-01-02T15:04:05${isMicro ? '.000000' : ''}Z07:00`;
      throw cannotBeHandled(`parsing time ${JSON.stringify(value)} as "${layout}": cannot parse it`, walk);
    }
  }
  // The value is never shown: it may be a secret.
  if (schema.format === 'byte' && typeof value === 'string' && !BASE64.test(value)) {
    throw cannotBeHandled(`illegal base64 data in ${path}`, walk);
  }
  const expected = schema.type;
  if (expected === undefined || isOfType(value, expected)) return value;
  throw undecodable(value, GO_TYPES[expected], path, walk);
}

/** The format that components write; the last days of a month need a calendar. */
const USUAL_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;

const MICROSECONDS = /\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function isTime(text: string): boolean {
  return USUAL_TIME.test(text) || !Number.isNaN(Date.parse(text));
}

const GO_TYPES = {
  object: 'map[string]interface {}',
  array: '[]interface {}',
  string: 'string',
  integer: 'int64',
  number: 'float64',
  boolean: 'bool',
} as const;

function isOfType(value: unknown, type: NonNullable<Schema['type']>): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function undecodable(value: unknown, goType: string, path: string, walk: Walk): KubeError {
  const given = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return cannotBeHandled(
    `json: cannot unmarshal ${given} into Go struct field ${walk.kind.kind}.${path} of type ${goType}`,
    walk,
  );
}

function cannotBeHandled(problem: string, { kind }: Walk): KubeError {
  const message = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${problem}`;
  return new KubeError({ reason: 'BadRequest', code: 400, message });
}

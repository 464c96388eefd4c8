// The CEL types of values that a schema declares. What a schema does not declare has no type: rules cannot reach it.

import type { Schema } from '../../schema.ts';

export type CelType =
  | {
      readonly kind:
        | 'bool'
        | 'bytes'
        | 'double'
        | 'duration'
        | 'dyn'
        | 'int'
        | 'null'
        | 'string'
        | 'timestamp';
    }
  | { readonly kind: 'list' | 'map'; readonly element: CelType }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, CelType> };

export const DYN: CelType = { kind: 'dyn' };
export const STRING: CelType = { kind: 'string' };
export const BOOL: CelType = { kind: 'bool' };
export const INT: CelType = { kind: 'int' };

/** Undefined for a value of unknown type. `isRoot`: the schema of a whole object. */
export function typeOf(schema: Schema, isRoot = false): CelType | undefined {
  if (schema['x-kubernetes-int-or-string']) return DYN;
  switch (schema.type) {
    case 'array': {
      const element = schema.items && typeOf(schema.items);
      return element && { kind: 'list', element };
    }
    case 'object': {
      if (typeof schema.additionalProperties !== 'object') return objectType(schema, isRoot);
      const element = typeOf(schema.additionalProperties);
      return element && { kind: 'map', element };
    }
    case 'string':
      return { kind: FORMATS.get(schema.format ?? '') ?? 'string' };
    case 'boolean':
      return BOOL;
    case 'integer':
      return INT;
    case 'number':
      return { kind: 'double' };
    default:
      return undefined;
  }
}

const FORMATS: ReadonlyMap<string, 'bytes' | 'duration' | 'timestamp'> = new Map([
  ['byte', 'bytes'],
  ['date', 'timestamp'],
  ['date-time', 'timestamp'],
  ['duration', 'duration'],
]);

/** The parts of any object that rules can read, whether its schema declares them or not. */
const METADATA: CelType = {
  kind: 'object',
  fields: new Map([
    ['name', STRING],
    ['generateName', STRING],
  ]),
};

function objectType(schema: Schema, isRoot: boolean): CelType {
  const fields = new Map<string, CelType>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const type = typeOf(property);
    if (type) fields.set(name, type);
  }
  if (isRoot || schema['x-kubernetes-embedded-resource']) {
    fields.set('apiVersion', STRING).set('kind', STRING).set('metadata', METADATA);
  }
  return { kind: 'object', fields };
}

/** As cel-go writes it. Objects have no name here: kube-apiserver's is a random one. */
export function nameOf(type: CelType): string {
  if (type.kind === 'list') return `list(${nameOf(type.element)})`;
  if (type.kind === 'map') return `map(string, ${nameOf(type.element)})`;
  return type.kind;
}

/** The type of which both are, `dyn` being any; undefined where there is none. */
export function common(left: CelType, right: CelType): CelType | undefined {
  if (left.kind === 'dyn') return right;
  if (right.kind === 'dyn') return left;
  if (left.kind === 'null') return NULLABLE.has(right.kind) ? right : undefined;
  if (right.kind === 'null') return NULLABLE.has(left.kind) ? left : undefined;
  if (left.kind !== right.kind) return undefined;
  if ('element' in left && 'element' in right) {
    const element = common(left.element, right.element);
    return element && { kind: left.kind, element };
  }
  // Two values of one rule are objects of one type only where they come from the same place of the schema.
  if ('fields' in left && 'fields' in right) return left.fields === right.fields ? left : undefined;
  return left;
}

const NULLABLE: ReadonlySet<string> = new Set(['null', 'object', 'timestamp', 'duration']);

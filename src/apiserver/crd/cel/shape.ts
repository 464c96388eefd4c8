// The maximum and minimum sizes of values that a schema allows, for cost estimates. A value without a bound of its own
// is bounded by the largest request. The figures are kube-apiserver's.

import { asText } from '../../../api/as-text.ts';
import type { Schema } from '../../schema.ts';

/** kube-apiserver's limit of a request body. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

export interface Shape {
  /** `any`: unknown. */
  readonly kind: 'list' | 'map' | 'object' | 'string' | 'scalar' | 'any';
  /** Maximum number of elements or characters. Scalars and objects count as 0. */
  readonly size: number;
  /** Minimum size as JSON. */
  readonly minBytes: number;
  readonly element?: Shape;
  readonly fields?: ReadonlyMap<string, Shape>;
}

export const SCALAR: Shape = { kind: 'scalar', size: 0, minBytes: 1 };
export const ANY: Shape = { kind: 'any', size: MAX_REQUEST_BYTES, minBytes: 1 };
/** Keys of maps; their length is part of the bound of the map. */
export const MAP_KEY: Shape = { kind: 'string', size: 0, minBytes: 2 };

export const stringShape = (size: number, minBytes = 2): Shape => ({ kind: 'string', size, minBytes });

export function shapeOf(schema: Schema): Shape {
  const { maxLength, items, additionalProperties } = schema;
  if (schema['x-kubernetes-int-or-string']) {
    return { ...ANY, size: maxLength === undefined ? MAX_REQUEST_BYTES - 2 : 4 * maxLength };
  }
  switch (schema.type) {
    case 'array': {
      const element = items ? shapeOf(items) : ANY;
      const size = schema.maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (element.minBytes + 1));
      return { kind: 'list', size, minBytes: 2, element };
    }
    case 'object': {
      if (typeof additionalProperties !== 'object') return objectShape(schema);
      const element = shapeOf(additionalProperties);
      // A key with its quotes, a colon and a comma take at least six bytes.
      const size = schema.maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (element.minBytes + 6));
      return { kind: 'map', size, minBytes: 2, element };
    }
    case 'string':
      return textShape(schema);
    case 'boolean':
      return { ...SCALAR, minBytes: 4 };
    case 'integer':
    case 'number':
      return SCALAR;
    default:
      return ANY;
  }
}

function objectShape({ properties = {}, required = [] }: Schema): Shape {
  let minBytes = 2;
  const fields = new Map<string, Shape>();
  for (const [name, property] of Object.entries(properties)) {
    const shape = shapeOf(property);
    fields.set(name, shape);
    // The server fills in defaults.
    if (required.includes(name) && property.default === undefined)
      minBytes += name.length + shape.minBytes + 4;
  }
  return { kind: 'object', size: 0, minBytes, fields };
}

/** Sizes of formats, including quotes. */
const FORMATS = new Map([
  ['duration', stringShape(32, 3)],
  ['date', stringShape(12, 12)],
  ['date-time', stringShape(32, 21)],
]);

function textShape({ format = '', maxLength, enum: values }: Schema): Shape {
  const ofFormat = FORMATS.get(format);
  if (ofFormat) return ofFormat;
  // A character takes up to four bytes.
  if (maxLength !== undefined) return stringShape(format === 'byte' ? maxLength : 4 * maxLength);
  if (values?.length) return stringShape(Math.max(...values.map((each) => asText(each).length)));
  return stringShape(MAX_REQUEST_BYTES - 2);
}

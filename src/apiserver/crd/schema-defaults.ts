// Applies the defaults that a structural schema declares, at every depth.

import { setOwn } from '../../api/own-property.ts';
import { copyJson } from '../patch/json.ts';
import type { Schema } from '../schema.ts';

/** In place. A default applies where the field is absent, or null while the schema does not allow null. */
export function setSchemaDefaults(schema: Schema, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items) for (const element of value) setSchemaDefaults(schema.items, element);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const object = value as Record<string, unknown>;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const absent = !Object.hasOwn(object, key) || (object[key] === null && !property.nullable);
    if (absent && property.default !== undefined) setOwn(object, key, copyJson(property.default));
    if (Object.hasOwn(object, key)) setSchemaDefaults(property, object[key]);
  }
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== 'object') return;
  for (const [key, element] of Object.entries(object)) {
    if (schema.properties && Object.hasOwn(schema.properties, key)) continue;
    setSchemaDefaults(additionalProperties, element);
  }
}

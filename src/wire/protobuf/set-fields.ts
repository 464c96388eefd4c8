// The fields of a message that are set, with their values, for code that handles any message.

import type { DescField, DescMessage, Message } from './descriptor.ts';

export interface FieldValue {
  readonly field: DescField;
  readonly value: unknown;
}

/** Without fields that are absent, have their default, or are another case of a oneof. */
export function setFields(schema: DescMessage, message: Message): FieldValue[] {
  const values = message as Message & Readonly<Record<string, unknown>>;
  const set: FieldValue[] = [];
  for (const field of schema.fields) {
    if (field.oneof !== undefined) {
      const chosen = values[field.oneof] as { case?: string; value?: unknown } | undefined;
      if (chosen?.case === field.localName) set.push({ field, value: chosen.value });
      continue;
    }
    const value = values[field.localName];
    if (!isUnset(field, value)) set.push({ field, value });
  }
  return set;
}

function isUnset({ kind, isRepeated }: DescField, value: unknown): boolean {
  if (value === undefined) return true;
  if (isRepeated) return (value as unknown[]).length === 0;
  if (kind === 'map') return Object.keys(value as object).length === 0;
  // A wrapper that is present is set, also when its value is the default.
  if (kind === 'wrapper' || kind === 'message') return false;
  return value === '' || value === 0 || value === 0n || value === false;
}

// The JSON mapping of proto3: messages to plain JSON values and back. Names are lowerCamelCase, 64-bit integers are strings,
// enums are names, a Timestamp is RFC 3339, fields with their default are left out.

import { emptyMessage } from './create.ts';
import type { DescField, DescMessage, Message } from './descriptor.ts';
import { type FieldValue, setFields } from './set-fields.ts';
import { type Timestamp, TimestampSchema, timestampFromText, timestampText } from './well-known.ts';

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };
export type JsonObject = { readonly [name: string]: JsonValue };

/** Changes what is written. `path` names the field from the outermost message on: `volumeCapability.mount`. */
export interface JsonOptions {
  /** Default: lowerCamelCase, as the mapping has it. */
  nameOf?(field: DescField): string;
  /** Called for each field that is set; undefined leaves it out. Default: what `write` returns. */
  field?(field: DescField, write: () => JsonValue, path: string): JsonValue | undefined;
  /** Called for each entry of a map and each string. Default: as it is. */
  text?(value: string, place: { path: string; key?: string }): string;
}

const localNameOf = (field: DescField): string => field.localName;

export function toJson(schema: DescMessage, message: Message, options: JsonOptions = {}): JsonObject {
  return writeMessage(schema, message, options, '') as JsonObject;
}

function writeMessage(schema: DescMessage, message: Message, options: JsonOptions, outer: string): JsonValue {
  if (schema === TimestampSchema) return timestampText(message as Timestamp);
  const { nameOf = localNameOf, field: change } = options;
  const written: Record<string, JsonValue> = {};
  for (const set of setFields(schema, message)) {
    const { field } = set;
    const path = outer === '' ? field.localName : `${outer}.${field.localName}`;
    const value = change
      ? change(field, () => writeField(set, options, path), path)
      : writeField(set, options, path);
    if (value !== undefined) written[nameOf(field)] = value;
  }
  return written;
}

function writeField({ field, value }: FieldValue, options: JsonOptions, path: string): JsonValue {
  if (field.kind === 'map') {
    if (!options.text) return { ...(value as Record<string, string>) };
    const { text } = options;
    const entries = Object.entries(value as Record<string, string>);
    return Object.fromEntries(entries.map(([key, item]) => [key, text(item, { path, key })]));
  }
  if (field.isRepeated) return (value as unknown[]).map((item) => writeItem(field, item, options, path));
  return writeItem(field, value, options, path);
}

function writeItem(field: DescField, value: unknown, options: JsonOptions, path: string): JsonValue {
  const { kind, message, enumNames } = field;
  if (kind === 'message' && message) return writeMessage(message, value as Message, options, path);
  if (kind === 'enum') return enumNames?.get(value as number) ?? (value as number);
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' && options.text ? options.text(value, { path }) : (value as JsonValue);
}

/**
 * Accepts lowerCamelCase and the names of the .proto file. Fields that the schema does not have are skipped: they are of a
 * newer version of the interface. Throws on a value that is not of its field's type, with the path to it.
 */
export function fromJson(schema: DescMessage, json: unknown, path: string = schema.typeName): Message {
  if (schema === TimestampSchema) {
    const timestamp = typeof json === 'string' ? timestampFromText(json) : undefined;
    return timestamp ?? wrong(path, 'a time such as 2026-01-02T03:04:05Z', json);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return wrong(path, 'an object', json);
  const given = json as Readonly<Record<string, unknown>>;
  const message = emptyMessage(schema);
  for (const field of schema.fields) {
    const name = Object.hasOwn(given, field.localName) ? field.localName : field.name;
    if (!Object.hasOwn(given, name)) continue;
    const value = given[name];
    if (value === null) continue;
    const read = readField(field, value, `${path}.${name}`);
    if (field.oneof === undefined) message[field.localName] = read;
    else message[field.oneof] = { case: field.localName, value: read };
  }
  return message;
}

function readField(field: DescField, value: unknown, path: string): unknown {
  if (field.kind === 'map') {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return wrong(path, 'an object', value);
    const entries = Object.entries(value);
    for (const [key, item] of entries)
      if (typeof item !== 'string') wrong(`${path}[${key}]`, 'a string', item);
    return Object.fromEntries(entries);
  }
  if (!field.isRepeated) return readItem(field, value, path);
  if (!Array.isArray(value)) return wrong(path, 'a list', value);
  return value.map((item, index) => readItem(field, item, `${path}[${index}]`));
}

function readItem(field: DescField, value: unknown, path: string): unknown {
  const { kind, message, enumNames } = field;
  switch (kind) {
    case 'message':
      return message ? fromJson(message, value, path) : undefined;
    case 'wrapper': {
      const inner = message?.fields[0];
      return inner ? readItem(inner, value, path) : undefined;
    }
    case 'enum': {
      if (typeof value === 'number') return value;
      for (const [number, name] of enumNames ?? []) if (name === value) return number;
      return wrong(path, 'a name of its enum', value);
    }
    case 'int64':
      if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
      return typeof value === 'string' && /^-?\d{1,19}$/.test(value)
        ? BigInt(value)
        : wrong(path, 'an integer', value);
    case 'int32': {
      const number = typeof value === 'string' && value !== '' ? Number(value) : value;
      return Number.isInteger(number) ? number : wrong(path, 'an integer', value);
    }
    case 'bool':
      return typeof value === 'boolean' ? value : wrong(path, 'true or false', value);
    default:
      return typeof value === 'string' ? value : wrong(path, 'a string', value);
  }
}

function wrong(path: string, expected: string, value: unknown): never {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  throw new TypeError(`${path} is ${kind}, and not ${expected}`);
}

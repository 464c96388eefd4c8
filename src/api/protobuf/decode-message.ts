// Turns one Kubernetes protobuf message into the object its JSON would have been, by the generated table of messages.

import { type Field, type Message, messageOf } from './message-table.ts';
import { WireError, WireReader } from './wire-reader.ts';

type Json = Record<string, unknown>;

/** Far beyond any real object; below what recursion can walk. */
const MAX_DEPTH = 100;
const WIRE_TYPES: Readonly<Record<string, number>> = { int: 0, bool: 0, double: 1 };

export function decodeMessage(name: string, bytes: Uint8Array, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new WireError(`nested deeper than ${MAX_DEPTH} levels`);
  return decodeFields(name, messageOf(name), bytes, depth);
}

/** Reads past fields that are not in `message`. */
export function decodeFields(name: string, message: Message, bytes: Uint8Array, depth = 0): unknown {
  const reader = new WireReader(bytes);
  const object: Json = {};
  while (!reader.isAtEnd) {
    const { field: number, wireType } = reader.tag();
    const field = message.fields.get(number);
    if (!field) {
      reader.skip(wireType);
      continue;
    }
    const expected = field.shape === 'map' ? 2 : (WIRE_TYPES[field.type] ?? 2);
    if (wireType !== expected) throw new WireError(`${name}.${field.json} has wire type ${wireType}`);
    readField(object, field, reader, depth);
  }
  return message.isList ? (object.items ?? []) : object;
}

function readField(object: Json, field: Field, reader: WireReader, depth: number): void {
  const { json, type, shape, isInline, keepsEmpty } = field;
  if (shape === 'map') {
    const [key, value] = readEntry(type, reader.bytes(), depth);
    object[json] = { ...(object[json] as Json | undefined), [key]: value };
    return;
  }
  const value = readValue(type, reader, depth);
  if (shape === 'list') {
    const list = (object[json] as unknown[] | undefined) ?? [];
    list.push(value);
    object[json] = list;
  } else if (isInline) {
    Object.assign(object, value);
  } else if (value !== null && (keepsEmpty || (value !== '' && value !== 0 && value !== false))) {
    object[json] = value;
  }
}

function readEntry(type: string, bytes: Uint8Array, depth: number): [string, unknown] {
  const reader = new WireReader(bytes);
  let key = '';
  let value: unknown = type === 'string' ? '' : {};
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 2) key = reader.string();
    else if (field === 2 && wireType === (WIRE_TYPES[type] ?? 2)) value = readValue(type, reader, depth);
    else reader.skip(wireType);
  }
  // No Kubernetes key is called so, and code that copies properties must never meet it.
  if (key === '__proto__') throw new WireError('unknown field "__proto__"');
  return [key, value];
}

function readValue(type: string, reader: WireReader, depth: number): unknown {
  switch (type) {
    case 'string':
      return reader.string();
    case 'int':
      return Number(reader.varint());
    case 'bool':
      return reader.varint() !== 0n;
    case 'double':
      return reader.double();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'Quantity':
      return firstOf(reader.bytes(), (inner) => inner.string()) ?? '0';
    case 'Time':
      return timeOf(reader.bytes(), 0);
    case 'MicroTime':
      return timeOf(reader.bytes(), 6);
    case 'Raw':
      return rawOf(reader.bytes());
    case 'IntOrString':
      return intOrStringOf(reader.bytes());
    default:
      return decodeMessage(type, reader.bytes(), depth + 1);
  }
}

/** The value of field 1, the only one of such a message. */
function firstOf<T>(bytes: Uint8Array, read: (reader: WireReader) => T): T | undefined {
  const reader = new WireReader(bytes);
  let value: T | undefined;
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 2) value = read(reader);
    else reader.skip(wireType);
  }
  return value;
}

function numbersOf(bytes: Uint8Array): Map<number, bigint | Uint8Array> {
  const reader = new WireReader(bytes);
  const fields = new Map<number, bigint | Uint8Array>();
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (wireType === 0) fields.set(field, reader.varint());
    else if (wireType === 2) fields.set(field, reader.bytes());
    else reader.skip(wireType);
  }
  return fields;
}

/** Null for the zero time, which is written empty. */
function timeOf(bytes: Uint8Array, decimals: 0 | 6): string | null {
  if (bytes.length === 0) return null;
  const fields = numbersOf(bytes);
  const seconds = Number(fields.get(1) ?? 0n);
  const micros = Math.floor(Number(fields.get(2) ?? 0n) / 1000);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('a time is out of range');
  const whole = date.toISOString().slice(0, 19);
  return decimals === 0 ? `${whole}Z` : `${whole}.${String(micros).padStart(6, '0')}Z`;
}

function rawOf(bytes: Uint8Array): unknown {
  const text = firstOf(bytes, (inner) => inner.string());
  if (!text) return null;
  try {
    return JSON.parse(text, (key, value) => {
      if (key === '__proto__') throw new WireError('unknown field "__proto__"');
      return value;
    });
  } catch (error) {
    throw error instanceof WireError ? error : new WireError('an embedded document is not JSON');
  }
}

function intOrStringOf(bytes: Uint8Array): number | string {
  const fields = numbersOf(bytes);
  const text = fields.get(3);
  if (fields.get(1) === 1n) return text instanceof Uint8Array ? Buffer.from(text).toString('utf8') : '';
  const number = fields.get(2);
  return typeof number === 'bigint' ? Number(number) : 0;
}

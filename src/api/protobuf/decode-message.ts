// Turns one Kubernetes protobuf message into the object its JSON would have been, by the generated table of messages.

import { WireError, WireReader } from '../../wire/protobuf/wire-reader.ts';
import { setOwn } from '../own-property.ts';
import { type Field, type Message, messageOf } from './message-table.ts';

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
    object[json] ??= {};
    readEntry(object[json] as Json, type, reader.bytes(), depth);
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

function readEntry(map: Json, type: string, bytes: Uint8Array, depth: number): void {
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
  setOwn(map, key, value);
}

function readValue(type: string, reader: WireReader, depth: number): unknown {
  switch (type) {
    case 'string':
      return reader.string();
    case 'int':
      return reader.int();
    case 'bool':
      return reader.int() !== 0;
    case 'double':
      return reader.double();
    case 'bytes':
      return reader.bytes().toString('base64');
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

/** Null for the zero time, which is written empty. */
function timeOf(bytes: Uint8Array, decimals: 0 | 6): string | null {
  if (bytes.length === 0) return null;
  const reader = new WireReader(bytes);
  let seconds = 0;
  let nanos = 0;
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 0) seconds = reader.int();
    else if (field === 2 && wireType === 0) nanos = reader.int();
    else reader.skip(wireType);
  }
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('a time is out of range');
  const whole = date.toISOString().slice(0, 19);
  const micros = Math.floor(nanos / 1000);
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
  const reader = new WireReader(bytes);
  let isText = false;
  let number = 0;
  let text = '';
  while (!reader.isAtEnd) {
    const { field, wireType } = reader.tag();
    if (field === 1 && wireType === 0) isText = reader.int() === 1;
    else if (field === 2 && wireType === 0) number = reader.int();
    else if (field === 3 && wireType === 2) text = reader.string();
    else reader.skip(wireType);
  }
  return isText ? text : number;
}

// Decodes a Kubernetes protobuf message into the object that its JSON would be, by the table of messages.

import { MAX_DEPTH, WireError, WireReader } from '../../wire/protobuf/wire-reader.ts';
import { WireType } from '../../wire/protobuf/wire-type.ts';
import { setOwn } from '../own-property.ts';
import { type Field, type Message, messageOf } from './message-table.ts';

type Json = Record<string, unknown>;

const WIRE_TYPES: Readonly<Record<string, number>> = {
  int: WireType.VARINT,
  bool: WireType.VARINT,
  double: WireType.FIXED64,
};
const wireTypeOf = (type: string): number => WIRE_TYPES[type] ?? WireType.LENGTH;

export function decodeMessage(name: string, bytes: Uint8Array): unknown {
  return decodeFields(name, messageOf(name), new WireReader(bytes));
}

/** Reads the message that the reader has entered. Skips fields that are not in `message`. */
export function decodeFields(name: string, message: Message, reader: WireReader, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new WireError(`nested deeper than ${MAX_DEPTH} levels`);
  const object: Json = {};
  while (!reader.isAtEnd) {
    const tag = reader.tag();
    const wireType = tag % 8;
    const field = message.fields.get((tag - wireType) / 8);
    if (!field) {
      reader.skip(tag);
      continue;
    }
    const expected = field.shape === 'map' ? WireType.LENGTH : wireTypeOf(field.type);
    if (wireType !== expected) throw new WireError(`${name}.${field.json} has wire type ${wireType}`);
    readField(object, field, reader, depth);
  }
  if (message.isChoice) return chosen(message, object);
  return message.isList ? (object.items ?? []) : object;
}

function chosen({ fields }: Message, object: Json): unknown {
  let value: unknown = null;
  let highest = 0;
  for (const { number, json } of fields.values()) {
    if (number > highest && Object.hasOwn(object, json)) {
      value = object[json];
      highest = number;
    }
  }
  return value;
}

function readField(object: Json, field: Field, reader: WireReader, depth: number): void {
  const { json, type, shape, isInline, keepsEmpty } = field;
  if (shape === 'map') {
    object[json] ??= {};
    readEntry(object[json] as Json, type, reader, depth);
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

function readEntry(map: Json, type: string, reader: WireReader, depth: number): void {
  let key = '';
  let value: unknown = type === 'string' ? '' : {};
  const valueTag = tagOf(2, wireTypeOf(type));
  eachField(reader, (tag) => {
    if (tag === tagOf(1, WireType.LENGTH)) key = reader.string();
    else if (tag === valueTag) value = readValue(type, reader, depth);
    else reader.skip(tag);
  });
  // No Kubernetes key has this name; it must not reach code that copies properties.
  if (key === '__proto__') throw new WireError('unknown field "__proto__"');
  setOwn(map, key, value);
}

const tagOf = (field: number, wireType: number): number => field * 8 + wireType;

/** Enters the message that comes next, and leaves it after its last field. `read` must go past each field's value. */
function eachField(reader: WireReader, read: (tag: number) => void): void {
  const outerEnd = reader.enter();
  while (!reader.isAtEnd) read(reader.tag());
  reader.leave(outerEnd);
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
      return firstString(reader) ?? '0';
    case 'Time':
      return readTime(reader, 0);
    case 'MicroTime':
      return readTime(reader, 6);
    case 'Raw':
      return readRaw(reader);
    case 'IntOrString':
      return readIntOrString(reader);
    default: {
      const outerEnd = reader.enter();
      const value = decodeFields(type, messageOf(type), reader, depth + 1);
      reader.leave(outerEnd);
      return value;
    }
  }
}

/** The text of field 1, the only one of such a message. */
function firstString(reader: WireReader): string | undefined {
  let value: string | undefined;
  eachField(reader, (tag) => {
    if (tag === tagOf(1, WireType.LENGTH)) value = reader.string();
    else reader.skip(tag);
  });
  return value;
}

/** Null for the zero time, which is written empty. */
function readTime(reader: WireReader, decimals: 0 | 6): string | null {
  let isEmpty = true;
  let seconds = 0;
  let nanos = 0;
  eachField(reader, (tag) => {
    isEmpty = false;
    if (tag === tagOf(1, WireType.VARINT)) seconds = reader.int();
    else if (tag === tagOf(2, WireType.VARINT)) nanos = reader.int();
    else reader.skip(tag);
  });
  if (isEmpty) return null;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError('a time is out of range');
  const whole = date.toISOString().slice(0, 19);
  const micros = Math.floor(nanos / 1000);
  return decimals === 0 ? `${whole}Z` : `${whole}.${String(micros).padStart(6, '0')}Z`;
}

function readRaw(reader: WireReader): unknown {
  const text = firstString(reader);
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

function readIntOrString(reader: WireReader): number | string {
  let isText = false;
  let number = 0;
  let text = '';
  eachField(reader, (tag) => {
    if (tag === tagOf(1, WireType.VARINT)) isText = reader.int() === 1;
    else if (tag === tagOf(2, WireType.VARINT)) number = reader.int();
    else if (tag === tagOf(3, WireType.LENGTH)) text = reader.string();
    else reader.skip(tag);
  });
  return isText ? text : number;
}

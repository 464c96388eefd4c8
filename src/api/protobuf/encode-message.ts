// Encodes an object as its Kubernetes protobuf message, by the table of messages. The result is a binary string (one character
// per byte): most text is ASCII, which then needs no conversion, and concatenating strings is nearly free.

import { WireError } from '../../wire/protobuf/wire-reader.ts';
import { messageOf } from './message-table.ts';

/** Throws a WireError for values that the message cannot hold, unknown fields among them. */
export type Write = (value: unknown) => string;

type Json = Readonly<Record<string, unknown>>;

const writers = new Map<string, Write>();

/** The body of a message, without tag and length. */
export function messageWriter(name: string): Write {
  const known = writers.get(name);
  if (known) return known;
  // Messages can be recursive: a reference to one under construction is resolved later.
  writers.set(name, (value) => messageWriter(name)(value));
  const writer = makeWriter(name);
  writers.set(name, writer);
  return writer;
}

function makeWriter(name: string): Write {
  const { fields, isList, isChoice } = messageOf(name);
  if (isChoice) {
    // Only in CustomResourceDefinitions, which Berth sends as JSON.
    return () => {
      throw new WireError(`${name} is not written`);
    };
  }
  const byKey = new Map<string, Write>();
  const inlined: { number: number; keys: ReadonlySet<string>; write: Write }[] = [];
  for (const { number, json, type, shape, isInline } of fields.values()) {
    if (isInline) {
      const keys = new Set([...messageOf(type).fields.values()].map((field) => field.json));
      inlined.push({ number, keys, write: messageWriter(type) });
      continue;
    }
    const one = fieldWriter(number, type);
    byKey.set(json, shape === 'list' ? listOf(one) : shape === 'map' ? mapOf(number, type) : one);
  }
  const write = (value: unknown): string => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new WireError(`${name} is not an object`);
    }
    let bytes = '';
    let folded: Record<string, unknown>[] | undefined;
    for (const key in value) {
      const inner = (value as Json)[key];
      if (inner === undefined || inner === null) continue;
      const writeField = byKey.get(key);
      if (writeField !== undefined) {
        bytes += writeField(inner);
        continue;
      }
      const at = inlined.findIndex(({ keys }) => keys.has(key));
      if (at < 0) throw new WireError(`${name} has no field ${key}`);
      folded ??= [];
      folded[at] ??= {};
      (folded[at] as Record<string, unknown>)[key] = inner;
    }
    folded?.forEach((object, at) => {
      const { number, write: writeInner } = inlined[at] as (typeof inlined)[number];
      bytes += tagged(number, writeInner(object));
    });
    return bytes;
  };
  return isList ? (value) => write({ items: value }) : write;
}

/** One value with its tag. */
function fieldWriter(number: number, type: string): Write {
  const plainTag = varint(number * 8);
  if (type === 'int') return (value) => plainTag + varint(wholeNumber(value));
  if (type === 'bool') return (value) => plainTag + varint(ofType('boolean', value) ? 1 : 0);
  const write = valueWriter(type);
  const tag = varint(number * 8 + 2);
  return (value) => {
    const bytes = write(value);
    return tag + varint(bytes.length) + bytes;
  };
}

function valueWriter(type: string): Write {
  switch (type) {
    case 'string':
      return (value) => utf8(ofType('string', value));
    case 'Quantity':
      return (value) => tagged(1, utf8(typeof value === 'number' ? String(value) : ofType('string', value)));
    case 'Time':
    case 'MicroTime':
      return time;
    case 'double':
    case 'bytes':
    case 'Raw':
    case 'IntOrString':
      // No object that is sent in protobuf has one.
      return () => {
        throw new WireError(`${type} is not written`);
      };
    default:
      return messageWriter(type);
  }
}

function listOf(write: Write): Write {
  return (value) => {
    if (!Array.isArray(value)) throw new WireError('a list was expected');
    let bytes = '';
    for (const one of value) bytes += write(one);
    return bytes;
  };
}

function mapOf(number: number, type: string): Write {
  const writeValue = fieldWriter(2, type);
  return (value) => {
    if (typeof value !== 'object') throw new WireError('a map was expected');
    let bytes = '';
    for (const key in value as Json) {
      bytes += tagged(number, tagged(1, utf8(key)) + writeValue((value as Json)[key]));
    }
    return bytes;
  };
}

/** A field that holds these bytes. */
export function tagged(number: number, bytes: string): string {
  return varint(number * 8 + 2) + varint(bytes.length) + bytes;
}

/** Not negative. */
export function varint(value: number): string {
  let rest = value;
  let bytes = '';
  while (rest > 0x7f) {
    bytes += String.fromCharCode((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return bytes + String.fromCharCode(rest);
}

function wholeNumber(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new WireError('a whole number that is not negative was expected');
}

function ofType(type: 'string', value: unknown): string;
function ofType(type: 'boolean', value: unknown): boolean;
function ofType(type: 'string' | 'boolean', value: unknown): unknown {
  if (typeof value === type) return value;
  throw new WireError(`a ${type} was expected`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const NOT_ASCII = /[^\x00-\x7f]/;

export function utf8(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?Z$/;

function time(value: unknown): string {
  const parts = typeof value === 'string' ? RFC3339.exec(value) : null;
  const ms = parts ? Date.parse(parts[0]) : Number.NaN;
  if (!(ms >= 0)) throw new WireError('a time was expected');
  const nanos = Number((parts?.[1] ?? '').padEnd(9, '0'));
  const seconds = `\x08${varint(Math.floor(ms / 1000))}`;
  return nanos === 0 ? seconds : `${seconds}\x10${varint(nanos)}`;
}

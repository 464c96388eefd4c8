// Encodes messages by the table of their fields.

import type { DescField, DescMessage, Message } from './descriptor.ts';
import { WireError } from './wire-reader.ts';
import { WireType } from './wire-type.ts';

type Values = Readonly<Record<string, unknown>>;

/** Leaves `headroom` bytes free at the start. Throws a WireError that names a field whose value has the wrong type. */
export function toBinary(schema: DescMessage, message: Message, headroom = 0): Buffer {
  const writer = new Writer(headroom);
  writer.message(schema, message as Message & Values);
  return writer.finish();
}

class Writer {
  #bytes: Buffer = Buffer.allocUnsafe(256);
  #at: number;

  constructor(headroom: number) {
    this.#at = headroom;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  message(schema: DescMessage, message: Values): void {
    for (const field of schema.fields) {
      if (field.oneof !== undefined) {
        const chosen = message[field.oneof] as { case?: string; value?: unknown } | undefined;
        if (chosen?.case === field.localName) this.#value(field, chosen.value, schema);
        continue;
      }
      const value = message[field.localName];
      if (field.isRepeated) for (const item of value as unknown[]) this.#value(field, item, schema);
      else if (field.kind === 'map') this.#map(field, value as Readonly<Record<string, string>>, schema);
      else if (!isUnset(field, value)) this.#value(field, value, schema);
    }
  }

  #map(field: DescField, entries: Readonly<Record<string, string>>, schema: DescMessage): void {
    for (const key of Object.keys(entries)) {
      const value = entries[key];
      if (typeof value !== 'string') throw wrongType(schema, field, value);
      this.#tag(field.number, WireType.LENGTH);
      const start = this.#beginNested();
      this.#tag(1, WireType.LENGTH);
      this.#string(key);
      this.#tag(2, WireType.LENGTH);
      this.#string(value);
      this.#endNested(start);
    }
  }

  #value(field: DescField, value: unknown, schema: DescMessage): void {
    const { number, kind } = field;
    if (kind === 'string' && typeof value === 'string') {
      this.#tag(number, WireType.LENGTH);
      this.#string(value);
    } else if (kind === 'bool' && typeof value === 'boolean') {
      this.#tag(number, WireType.VARINT);
      this.#varint(value ? 1 : 0);
    } else if (kind === 'int64' && typeof value === 'bigint' && value === BigInt.asIntN(64, value)) {
      this.#tag(number, WireType.VARINT);
      this.#integer(value);
    } else if ((kind === 'int32' || kind === 'enum') && value === ((value as number) | 0)) {
      this.#tag(number, WireType.VARINT);
      if (value >= 0) this.#varint(value);
      else this.#integer(BigInt(value));
    } else if (kind === 'message' && field.message && typeof value === 'object') {
      this.#nested(number, field.message, value as Values);
    } else if (kind === 'wrapper' && field.message) this.#nested(number, field.message, { value });
    else throw wrongType(schema, field, value);
  }

  #nested(number: number, schema: DescMessage, message: Values): void {
    this.#tag(number, WireType.LENGTH);
    const start = this.#beginNested();
    this.message(schema, message);
    this.#endNested(start);
  }

  /** Reserves one byte for the length, which most fit in; a longer length moves what was written after it. */
  #beginNested(): number {
    this.#reserve(1);
    return ++this.#at;
  }

  #endNested(start: number): void {
    const length = this.#at - start;
    let extra = 0;
    for (let rest = length >>> 7; rest > 0; rest >>>= 7) extra++;
    if (extra > 0) {
      this.#reserve(extra);
      this.#bytes.copyWithin(start + extra, start, this.#at);
    }
    this.#at = start - 1;
    this.#varint(length);
    this.#at += length;
  }

  #string(text: string): void {
    const most = text.length * 3;
    const length = most < 0x80 ? -1 : Buffer.byteLength(text);
    this.#reserve(length < 0 ? most + 1 : length + 5);
    if (length >= 0) {
      this.#varint(length);
      this.#at += this.#bytes.write(text, this.#at);
    } else {
      const written = this.#bytes.write(text, this.#at + 1);
      this.#bytes[this.#at] = written;
      this.#at += 1 + written;
    }
  }

  #tag(number: number, wireType: number): void {
    this.#varint(number * 8 + wireType);
  }

  #integer(value: bigint): void {
    if (value >= 0n && value <= Number.MAX_SAFE_INTEGER) {
      this.#varint(Number(value));
      return;
    }
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    for (; rest >= 0x80n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#at++] = Number(rest);
  }

  #varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** A wrapper tells a default from an absent value. */
function isUnset({ kind }: DescField, value: unknown): boolean {
  if (value === undefined || kind === 'wrapper') return value === undefined;
  return value === '' || value === 0n || value === false || value === 0;
}

/** Without the value, which may be a secret. */
function wrongType(schema: DescMessage, { name, kind }: DescField, value: unknown): WireError {
  return new WireError(`${name} of ${schema.typeName} cannot be ${typeof value}, it is ${kind}`);
}

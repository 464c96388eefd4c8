// Bytes to messages, by the table of their fields. Fields that are not in it, from a newer interface, are skipped.

import { emptyMessage } from './create.ts';
import type { DescField, DescMessage, Message, MessageShape } from './descriptor.ts';
import { WireError } from './wire-reader.ts';
import { WireType } from './wire-type.ts';

/** Far beyond any message of the interface; below what recursion can walk. */
const MAX_DEPTH = 100;

/** Shares no memory with `bytes`. Throws a WireError. */
export function fromBinary<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return new Reader(buffer).message(schema, buffer.length, undefined, 0) as never;
}

type Values = Record<string, unknown>;

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Into `known`, if a part of it came before: the parts of a message add up. */
  message(schema: DescMessage, end: number, known: (Message & Values) | undefined, depth: number): Message {
    if (depth > MAX_DEPTH) throw new WireError(`nested deeper than ${MAX_DEPTH} levels`);
    const message = known ?? emptyMessage(schema);
    const { byNumber } = schema;
    while (this.#at < end) {
      const tag = this.#varint();
      const wireType = tag % 8;
      const field = byNumber[(tag - wireType) / 8];
      if (tag < 8) throw new WireError('a field has no number');
      if (field === undefined || !fits(field, wireType)) this.#skip(wireType, tag - wireType, 0);
      else if (wireType === WireType.LENGTH) this.#lengthField(message, field, end, depth);
      else this.#set(message, field, this.#scalar(field.kind));
    }
    if (this.#at > end) throw new WireError('a field is longer than its message');
    return message;
  }

  #lengthField(message: Values, field: DescField, outerEnd: number, depth: number): void {
    const length = this.#varint();
    const end = this.#at + length;
    if (end > outerEnd) throw new WireError(`${field.name} is cut short`);
    const { localName, oneof } = field;
    if (field.kind === 'string') this.#set(message, field, this.#string(end));
    else if (field.kind === 'map') this.#entry(message[localName] as Record<string, string>, end);
    else if (field.kind === 'message' || field.kind === 'wrapper') {
      const schema = field.message as DescMessage;
      const before = oneof === undefined ? message[localName] : chosenValue(message[oneof], localName);
      const known = field.isRepeated || field.kind === 'wrapper' ? undefined : before;
      const value = this.message(schema, end, known as (Message & Values) | undefined, depth + 1);
      this.#set(message, field, field.kind === 'wrapper' ? (value as Message & Values).value : value);
    } else {
      // Numbers of a list, packed.
      while (this.#at < end) this.#set(message, field, this.#scalar(field.kind));
      if (this.#at > end) throw new WireError(`${field.name} is cut short`);
    }
  }

  #entry(map: Record<string, string>, end: number): void {
    let key = '';
    let value = '';
    while (this.#at < end) {
      const tag = this.#varint();
      const isText = tag === 10 || tag === 18;
      if (!isText) {
        this.#skip(tag % 8, tag - (tag % 8), 0);
        continue;
      }
      const length = this.#varint();
      if (this.#at + length > end) throw new WireError('an entry is cut short');
      const text = this.#string(this.#at + length);
      if (tag === 10) key = text;
      else value = text;
    }
    if (this.#at > end) throw new WireError('an entry is cut short');
    if (key !== '__proto__') map[key] = value;
    // Plain assignment would set something else.
    else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #set(message: Values, { localName, oneof, isRepeated }: DescField, value: unknown): void {
    if (oneof !== undefined) message[oneof] = { case: localName, value };
    else if (isRepeated) (message[localName] as unknown[]).push(value);
    else message[localName] = value;
  }

  #scalar(kind: DescField['kind']): unknown {
    const { low, high } = this.#varint64();
    if (kind === 'bool') return low !== 0 || high !== 0;
    if (kind !== 'int64') return low | 0;
    return high === 0 ? BigInt(low) : BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));
  }

  #string(end: number): string {
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return text;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new WireError('the message is cut short');
    return byte;
  }

  /** Of a tag or a length: both fit in 32 bits. */
  #varint(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 28; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new WireError('a number is too large');
  }

  #varint64(): { low: number; high: number } {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return { low: low >>> 0, high: high >>> 0 };
    }
    throw new WireError('a number is too long');
  }

  #skip(wireType: number, group: number, depth: number): void {
    if (wireType === WireType.VARINT) this.#varint64();
    else if (wireType === WireType.FIXED64) this.#at += 8;
    else if (wireType === WireType.FIXED32) this.#at += 4;
    else if (wireType === WireType.LENGTH) {
      const length = this.#varint();
      this.#at += length;
    } else if (wireType === WireType.START_GROUP && depth < MAX_DEPTH) this.#skipGroup(group, depth);
    else throw new WireError(`wire type ${wireType} is out of place`);
    if (this.#at > this.#bytes.length) throw new WireError('the message is cut short');
  }

  #skipGroup(group: number, depth: number): void {
    for (;;) {
      const tag = this.#varint();
      const wireType = tag % 8;
      if (wireType !== WireType.END_GROUP) this.#skip(wireType, tag - wireType, depth + 1);
      else if (tag - wireType === group) return;
      else throw new WireError('a group ends that has not begun');
    }
  }
}

function chosenValue(oneof: unknown, name: string): unknown {
  const chosen = oneof as { case?: string; value?: unknown };
  return chosen.case === name ? chosen.value : undefined;
}

function fits({ kind, isRepeated }: DescField, wireType: number): boolean {
  const isNumber = kind === 'bool' || kind === 'int32' || kind === 'int64' || kind === 'enum';
  if (!isNumber) return wireType === WireType.LENGTH;
  return wireType === WireType.VARINT || (isRepeated && wireType === WireType.LENGTH);
}

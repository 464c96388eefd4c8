// Reads the protobuf wire format: tags, varints, lengths. Every read stays within the message that was entered. Throws a
// WireError on anything that is cut short or malformed.

import { WireType } from './wire-type.ts';

/** Bytes that are no message, or a value that fits in none. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Far beyond any message; below what recursion can walk. */
export const MAX_DEPTH = 100;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export class WireReader {
  readonly #bytes: Buffer;
  #at: number;
  /** Of the innermost message that was entered. */
  #end: number;

  constructor(bytes: Uint8Array, start = 0) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = this.#bytes.length;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Reads a length and enters the message of that length. Returns what `leave` needs. */
  enter(): number {
    const outerEnd = this.#end;
    const length = this.#count();
    if (this.#at + length > outerEnd) throw new WireError('a field is cut short');
    this.#end = this.#at + length;
    return outerEnd;
  }

  /** Goes past what is left of the message that was entered. */
  leave(outerEnd: number): void {
    this.#at = this.#end;
    this.#end = outerEnd;
  }

  /** A field's number times 8, plus its wire type. */
  tag(): number {
    const tag = this.#count();
    if (tag < 8) throw new WireError('a field has no number');
    return tag;
  }

  /** 64 bits, two's complement, as protobuf's int32 and int64 are. */
  int(): number {
    const { low, high } = this.varint();
    if (high === 0) return low;
    return high < 2 ** 21 ? high * 2 ** 32 + low : Number(signed(low, high));
  }

  int64(): bigint {
    const { low, high } = this.varint();
    return high === 0 ? BigInt(low) : signed(low, high);
  }

  /** Two halves of 32 bits, without sign. */
  varint(): { low: number; high: number } {
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

  /** A length and that many bytes, not copied. */
  bytes(): Buffer {
    const start = this.#past(this.#count());
    return this.#bytes.subarray(start, this.#at);
  }

  string(): string {
    const start = this.#past(this.#count());
    const end = this.#at;
    // Almost all are ASCII, which needs no decoder.
    for (let at = start; at < end; at++) {
      if ((this.#bytes[at] as number) > 0x7f) return decodeUtf8(this.#bytes.subarray(start, end));
    }
    return this.#bytes.toString('latin1', start, end);
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#past(8));
  }

  /** Goes past the value after a tag: a field that a newer peer knows and we do not. */
  skip(tag: number, depth = 0): void {
    const wireType = tag % 8;
    if (wireType === WireType.VARINT) this.varint();
    else if (wireType === WireType.FIXED64) this.#past(8);
    else if (wireType === WireType.LENGTH) this.#past(this.#count());
    else if (wireType === WireType.FIXED32) this.#past(4);
    else if (wireType === WireType.START_GROUP && depth < MAX_DEPTH) this.#skipGroup(tag, depth);
    else throw new WireError(`wire type ${wireType} is out of place`);
  }

  #skipGroup(group: number, depth: number): void {
    const end = group - WireType.START_GROUP + WireType.END_GROUP;
    for (;;) {
      const tag = this.tag();
      if (tag === end) return;
      this.skip(tag, depth + 1);
    }
  }

  /** A tag or a length: both fit in 32 bits. */
  #count(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 28; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new WireError('a number is too large');
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new WireError('a number is cut short');
    return this.#bytes[this.#at++] as number;
  }

  /** Where the bytes it goes past begin. */
  #past(length: number): number {
    const start = this.#at;
    if (start + length > this.#end) throw new WireError('a field is cut short');
    this.#at = start + length;
    return start;
  }
}

const signed = (low: number, high: number): bigint => BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low));

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new WireError('a string is not valid UTF-8');
  }
}

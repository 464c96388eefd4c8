// Reads the protobuf wire format: tags, varints, lengths. Throws a WireError on anything that is cut short or malformed.

/** Bytes that are no message, or a value that fits in none. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** 64 bits, two's complement, as protobuf's int32 and int64 are. */
  int(): number {
    let value = 0;
    for (let at = this.#at, factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = this.#bytes[at++];
      if (byte === undefined) throw new WireError('a number is cut short');
      value += (byte & 0x7f) * factor;
      if (byte >= 0x80) continue;
      this.#at = at;
      return value;
    }
    return Number(this.#longInt());
  }

  #longInt(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new WireError('a number is cut short');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new WireError('a number is too long');
  }

  tag(): { field: number; wireType: number } {
    const tag = this.#count();
    if (tag < 8) throw new WireError('a field has no number');
    return { field: Math.floor(tag / 8), wireType: tag % 8 };
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

  /** What a newer client knows and we do not. */
  skip(wireType: number): void {
    if (wireType === 0) this.int();
    else if (wireType === 1) this.#past(8);
    else if (wireType === 2) this.#past(this.#count());
    else if (wireType === 5) this.#past(4);
    else throw new WireError(`wire type ${wireType} is not in use`);
  }

  /** A tag or a length: small enough for a number, which is many times faster than 64 bits. */
  #count(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new WireError('a number is cut short');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new WireError('a number is too long');
  }

  /** Where what it goes past begins. */
  #past(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new WireError('a field is cut short');
    this.#at = start + length;
    return start;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new WireError('a string is not valid UTF-8');
  }
}

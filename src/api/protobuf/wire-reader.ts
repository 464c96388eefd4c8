// Reads the protobuf wire format: tags, varints, lengths. Throws a WireError on anything that is cut short or malformed.

/** Bytes that are no message, or a value that fits in none. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** 64 bits, two's complement, as protobuf's int32 and int64 are. */
  varint(): bigint {
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
  bytes(): Uint8Array {
    return this.#take(this.#count());
  }

  string(): string {
    try {
      return utf8.decode(this.bytes());
    } catch (error) {
      if (error instanceof WireError) throw error;
      throw new WireError('a string is not valid UTF-8');
    }
  }

  double(): number {
    const bytes = this.#take(8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
  }

  /** What a newer client knows and we do not. */
  skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 1) this.#take(8);
    else if (wireType === 2) this.bytes();
    else if (wireType === 5) this.#take(4);
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

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw new WireError('a field is cut short');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

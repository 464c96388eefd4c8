// Reads header blocks (HPACK, RFC 7541). One decoder a connection: a block depends on all before it, so that the blocks of
// refused calls are read as well.

import { fieldBytes, type HeaderField, HeaderTable } from './header-table.ts';
import { decodeHuffman } from './huffman.ts';
import { isWellFormed } from './message-rules.ts';

/** The two ends no longer agree on what was said: the connection cannot go on. */
export class HeaderBlockError extends Error {
  override readonly name = 'HeaderBlockError';
}

export interface HeaderBlock {
  /** Name, value, name, value, in the order in which they came. */
  readonly fields: readonly string[];
  /** Some were left out: all together they are longer than allowed. */
  readonly isTooLong: boolean;
  /** A name or a value has characters that it must not have. */
  readonly isMalformed: boolean;
}

/** Numbers in headers are sizes and positions; more than this is nonsense. */
const MAX_INTEGER = 2 ** 24;

export class HeaderDecoder {
  readonly #table: HeaderTable;
  readonly #maxTableBytes: number;
  readonly #maxListBytes: number;
  /** Entries of the table that are malformed: whether one is, is looked at once, when it is spelled out. */
  #malformed: WeakSet<HeaderField> | undefined;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(limits: { maxTableBytes: number; maxListBytes: number }) {
    this.#table = new HeaderTable(limits.maxTableBytes);
    this.#maxTableBytes = limits.maxTableBytes;
    this.#maxListBytes = limits.maxListBytes;
  }

  decode(block: Buffer): HeaderBlock {
    this.#block = block;
    this.#at = 0;
    const fields: string[] = [];
    let bytes = 0;
    let isMalformed = false;
    while (this.#at < block.length) {
      const first = block[this.#at] as number;
      if (first >= 0x20 && first < 0x40) {
        this.#resize(fields.length > 0);
        continue;
      }
      const field = first >= 0x80 ? this.#entry(this.#integer(7)) : this.#literal(first >= 0x40);
      if (this.#malformed?.has(field)) isMalformed = true;
      bytes += fieldBytes(field.name, field.value);
      if (bytes <= this.#maxListBytes) fields.push(field.name, field.value);
    }
    return { fields, isTooLong: bytes > this.#maxListBytes, isMalformed };
  }

  #resize(isLate: boolean): void {
    const maxBytes = this.#integer(5);
    if (isLate) throw new HeaderBlockError('the dynamic table is resized within a header block');
    if (maxBytes > this.#maxTableBytes) throw new HeaderBlockError('the table is made larger than allowed');
    this.#table.resize(maxBytes);
  }

  #entry(index: number): HeaderField {
    const entry = this.#table.at(index);
    if (entry === undefined) throw new HeaderBlockError(`there is no header with index ${index}`);
    return entry;
  }

  #literal(isKept: boolean): HeaderField {
    const index = this.#integer(isKept ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    const field = { name, value: this.#string() };
    if (isKept) this.#table.add(field);
    if (!isWellFormed(field.name, field.value)) {
      this.#malformed ??= new WeakSet();
      this.#malformed.add(field);
    }
    return field;
  }

  #string(): string {
    const isHuffman = (this.#byte() & 0x80) !== 0;
    const length = this.#integer(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new HeaderBlockError('a text is cut short');
    const text = isHuffman
      ? decodeHuffman(this.#block.subarray(this.#at, end))
      : this.#block.toString('latin1', this.#at, end);
    if (text === undefined) throw new HeaderBlockError('a text is not in the Huffman code');
    this.#at = end;
    return text;
  }

  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    this.#at++;
    if (value < mask) return value;
    for (let shift = 0; value < MAX_INTEGER && shift <= 21; shift += 7) {
      const byte = this.#byte();
      this.#at++;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new HeaderBlockError('a number is too large');
  }

  #byte(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new HeaderBlockError('the block is cut short');
    return byte;
  }
}

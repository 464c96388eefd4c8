// Reads header blocks (RFC 7541). One for each connection: what a block says depends on all before it, so every block is
// read, also of a call that is refused.

import { fieldBytes, HeaderTable } from './header-table.ts';
import { decodeHuffman } from './huffman.ts';

/** The two ends no longer agree on what was said: the connection cannot go on. */
export class HeaderBlockError extends Error {
  override readonly name = 'HeaderBlockError';
}

export interface HeaderBlock {
  /** Name, value, name, value, in the order in which they came. */
  readonly fields: readonly string[];
  /** Some were left out: all together they are longer than allowed. */
  readonly isTooLong: boolean;
}

/** Numbers in headers are sizes and positions; more than this is nonsense. */
const MAX_INTEGER = 2 ** 24;

export class HeaderDecoder {
  readonly #table: HeaderTable;
  readonly #maxTableBytes: number;
  readonly #maxListBytes: number;
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
    while (this.#at < block.length) {
      const first = block[this.#at] as number;
      let name: string;
      let value: string;
      if (first >= 0x80) ({ name, value } = this.#entry(this.#integer(7)));
      else if (first >= 0x40) {
        [name, value] = this.#literal(6);
        this.#table.add({ name, value });
      } else if (first >= 0x20) {
        this.#resize(fields.length > 0);
        continue;
      } else [name, value] = this.#literal(4);
      bytes += fieldBytes(name, value);
      if (bytes <= this.#maxListBytes) fields.push(name, value);
    }
    return { fields, isTooLong: bytes > this.#maxListBytes };
  }

  #resize(isLate: boolean): void {
    const maxBytes = this.#integer(5);
    if (isLate) throw new HeaderBlockError('the table is resized in the middle of a block');
    if (maxBytes > this.#maxTableBytes) throw new HeaderBlockError('the table is made larger than allowed');
    this.#table.resize(maxBytes);
  }

  #entry(index: number): { name: string; value: string } {
    const entry = this.#table.at(index);
    if (entry === undefined) throw new HeaderBlockError(`there is no header number ${index}`);
    return entry;
  }

  #literal(prefixBits: number): [name: string, value: string] {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    return [name, this.#string()];
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

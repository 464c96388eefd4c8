// Writes header blocks (HPACK, RFC 7541). Fields that every call has are literal once a connection, and one byte of index
// from then on; fields of one call alone are literal and not indexed. Nothing is Huffman-coded.

import { type HeaderField, HeaderTable, staticIndex } from './header-table.ts';

/** The default of the protocol; a peer that allows more is not asked for it. */
const MAX_TABLE_BYTES = 4096;

export class HeaderEncoder {
  readonly #table = new HeaderTable(MAX_TABLE_BYTES);
  /** Position in the dynamic table; negative: index in the static table. */
  readonly #positions = new Map<HeaderField, number>();
  #maxBytes = MAX_TABLE_BYTES;
  /** Size updates for the start of the next block: the smallest size since the last block, and the present one. */
  #resizes: number[] = [];
  #block = Buffer.allocUnsafe(256);
  #length = 0;

  /** The peer's limit. */
  resize(peerMaxBytes: number): void {
    const maxBytes = Math.min(peerMaxBytes, MAX_TABLE_BYTES);
    if (maxBytes === this.#maxBytes) return;
    this.#maxBytes = maxBytes;
    this.#table.resize(maxBytes);
    this.#resizes = [Math.min(maxBytes, ...this.#resizes), maxBytes];
  }

  /** `known` are remembered by identity. */
  encode(known: readonly HeaderField[], once: readonly HeaderField[] = []): Buffer {
    this.#length = 0;
    for (const bytes of new Set(this.#resizes)) this.#integer(0x20, 5, bytes);
    this.#resizes = [];
    for (const field of known) this.#known(field);
    for (const { name, value } of once) {
      this.#integer(0, 4, 0);
      this.#string(name);
      this.#string(value);
    }
    return Buffer.from(this.#block.subarray(0, this.#length));
  }

  #known(field: HeaderField): void {
    const position = this.#positions.get(field);
    const index =
      position === undefined ? undefined : position < 0 ? -position : this.#table.indexOf(position);
    if (index !== undefined) {
      this.#integer(0x80, 7, index);
      return;
    }
    const fixed = staticIndex(field);
    if (fixed.whole > 0) {
      this.#positions.set(field, -fixed.whole);
      this.#integer(0x80, 7, fixed.whole);
      return;
    }
    this.#integer(0x40, 6, fixed.name);
    if (fixed.name === 0) this.#string(field.name);
    this.#string(field.value);
    const added = this.#table.add(field);
    if (added >= 0) this.#positions.set(field, added);
    else this.#positions.delete(field);
  }

  #string(text: string): void {
    this.#integer(0, 7, text.length);
    this.#reserve(text.length);
    this.#length += this.#block.write(text, this.#length, 'latin1');
  }

  #integer(pattern: number, prefixBits: number, value: number): void {
    this.#reserve(6);
    const mask = (1 << prefixBits) - 1;
    if (value < mask) {
      this.#block[this.#length++] = pattern | value;
      return;
    }
    this.#block[this.#length++] = pattern | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) this.#block[this.#length++] = (rest & 0x7f) | 0x80;
    this.#block[this.#length++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#block.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + bytes));
    this.#block.copy(larger, 0, 0, this.#length);
    this.#block = larger;
  }
}

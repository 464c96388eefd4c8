// Cuts a stream of bytes into length-prefixed units: the frames of a connection, the messages of a call. A unit that
// arrives in one piece is not copied. One that arrives in several is copied together as they come: an announced length
// alone makes nobody allocate it.

import { GrowingBuffer } from './growing-buffer.ts';

export interface UnitFormat {
  readonly prefixBytes: number;
  /** Of what follows the prefix at `at`. Throws for a unit that is not accepted. */
  bodyBytes(bytes: Buffer, at: number): number;
  /** A whole unit, prefix included. */
  take(bytes: Buffer, at: number, end: number): void;
}

export class UnitReader {
  readonly #format: UnitFormat;
  /** The beginning of a unit whose rest has not come. */
  readonly #partial = new GrowingBuffer();

  constructor(format: UnitFormat) {
    this.#format = format;
  }

  /** Bytes of a unit that is not whole yet. */
  get heldBytes(): number {
    return this.#partial.length;
  }

  /** Throws what `bodyBytes` and `take` throw; it is not to be used after that. */
  push(chunk: Buffer): void {
    let at = this.#partial.length > 0 ? this.#finishPartial(chunk) : 0;
    for (let need = this.#need(chunk, at); chunk.length - at >= need; need = this.#need(chunk, at)) {
      this.#format.take(chunk, at, at + need);
      at += need;
    }
    if (at < chunk.length) this.#hold(chunk, at, this.#need(chunk, at));
  }

  /** Returns where the rest of the chunk begins. */
  #finishPartial(chunk: Buffer): number {
    const { prefixBytes } = this.#format;
    let at = this.#partial.length < prefixBytes ? this.#hold(chunk, 0, prefixBytes) : 0;
    if (this.#partial.length < prefixBytes) return at;
    const need = prefixBytes + this.#format.bodyBytes(this.#partial.view(), 0);
    at = this.#hold(chunk, at, need);
    if (this.#partial.length === need) this.#format.take(this.#partial.take(), 0, need);
    return at;
  }

  /** The length of the unit at `at`; of its prefix, as long as that is not whole. */
  #need(chunk: Buffer, at: number): number {
    const { prefixBytes } = this.#format;
    return chunk.length - at < prefixBytes ? prefixBytes : prefixBytes + this.#format.bodyBytes(chunk, at);
  }

  /** Copies from `at` until `need` bytes are held; returns where it stopped. */
  #hold(chunk: Buffer, at: number, need: number): number {
    const end = Math.min(chunk.length, at + need - this.#partial.length);
    this.#partial.append(chunk, at, end, need);
    return end;
  }
}

// Bytes that arrive in pieces, copied together as they come. It holds at most twice the received bytes, however small the
// pieces are.

export class GrowingBuffer {
  #bytes: Buffer | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** `maxBytes`: more will never be appended. */
  append(source: Buffer, start: number, end: number, maxBytes = Number.POSITIVE_INFINITY): void {
    const length = this.#length + end - start;
    if (this.#bytes === undefined) this.#bytes = Buffer.allocUnsafe(length);
    else if (this.#bytes.length < length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * length, maxBytes));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    source.copy(this.#bytes, this.#length, start, end);
    this.#length = length;
  }

  /** What was appended; it changes with the next append. */
  view(): Buffer {
    return this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** Hands over what was appended, and starts anew. */
  take(): Buffer {
    const bytes = this.view();
    this.#bytes = undefined;
    this.#length = 0;
    return bytes;
  }
}

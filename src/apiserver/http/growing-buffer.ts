// Bytes that come in pieces. One piece is kept as it is; a body of many small ones must not cost an object for each.

export class GrowingBuffer {
  readonly #maxLength: number;
  #buffer: Buffer | undefined;
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** False, and nothing is kept, when that would be more than allowed. */
  append(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#maxLength) return false;
    if (this.#buffer === undefined) {
      this.#buffer = piece;
    } else {
      if (length > this.#buffer.length) this.#grow(Math.min(length * 2, this.#maxLength));
      piece.copy(this.#buffer, this.#length);
    }
    this.#length = length;
    return true;
  }

  #grow(capacity: number): void {
    const old = this.#buffer as Buffer;
    this.#buffer = Buffer.allocUnsafeSlow(capacity);
    old.copy(this.#buffer, 0, 0, this.#length);
  }

  /** Undefined when nothing came. */
  get content(): Buffer | undefined {
    return this.#buffer?.subarray(0, this.#length);
  }
}

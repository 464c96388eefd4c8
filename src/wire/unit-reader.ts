// Cuts a stream of bytes into length-prefixed units: the frames of a connection, the messages of a call. A unit that
// arrives in one piece is not copied. One that arrives in several is copied together as the pieces come, so that at most
// twice the received bytes are held: neither many small pieces nor a large announced length make it more.

const MIN_BYTES = 1024;

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
  #partial: Buffer | undefined;
  #held = 0;

  constructor(format: UnitFormat) {
    this.#format = format;
  }

  /** Bytes of a unit that is not whole yet. */
  get heldBytes(): number {
    return this.#held;
  }

  /** Throws what `bodyBytes` and `take` throw; it is not to be used after that. */
  push(chunk: Buffer): void {
    let at = this.#held > 0 ? this.#finishPartial(chunk) : 0;
    for (let need = this.#need(chunk, at); chunk.length - at >= need; need = this.#need(chunk, at)) {
      this.#format.take(chunk, at, at + need);
      at += need;
    }
    if (at < chunk.length) this.#hold(chunk, at, this.#need(chunk, at));
  }

  /** Returns where the rest of the chunk begins. */
  #finishPartial(chunk: Buffer): number {
    const { prefixBytes } = this.#format;
    let at = this.#held < prefixBytes ? this.#hold(chunk, 0, prefixBytes) : 0;
    if (this.#held < prefixBytes) return at;
    const partial = this.#partial as Buffer;
    const need = prefixBytes + this.#format.bodyBytes(partial, 0);
    at = this.#hold(chunk, at, need);
    if (this.#held < need) return at;
    const unit = this.#partial as Buffer;
    this.#partial = undefined;
    this.#held = 0;
    this.#format.take(unit, 0, need);
    return at;
  }

  /** The length of the unit at `at`; of its prefix, as long as that is not whole. */
  #need(chunk: Buffer, at: number): number {
    const { prefixBytes } = this.#format;
    return chunk.length - at < prefixBytes ? prefixBytes : prefixBytes + this.#format.bodyBytes(chunk, at);
  }

  /** Copies from `at` until `need` bytes are held; returns where it stopped. */
  #hold(chunk: Buffer, at: number, need: number): number {
    const end = Math.min(chunk.length, at + need - this.#held);
    const length = this.#held + end - at;
    if (this.#partial === undefined || this.#partial.length < length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(need, Math.max(2 * length, MIN_BYTES)));
      this.#partial?.copy(larger, 0, 0, this.#held);
      this.#partial = larger;
    }
    chunk.copy(this.#partial, this.#held, at, end);
    this.#held = length;
    return end;
  }
}

// What can be fuzzed: a target tries one random input and throws when a property does not hold. Everything random comes
// from the seed, so that a failure is replayed by its number.
import { seededRandom } from '../../src/runtime/random.ts';

export interface FuzzTarget {
  /** The properties, in one line. */
  readonly summary: string;
  /** Seeds that the test command tries, 1 and up. */
  readonly seedsInTests: number;
  try(draw: Draw): void | Promise<void>;
}

/** Random choices of one try. */
export class Draw {
  readonly #random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Uniform in [0, bound). */
  int(bound: number): number {
    return this.#random.int(bound);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.int(choices.length)] as T;
  }

  list<T>(maxLength: number, draw: () => T): T[] {
    return Array.from({ length: this.int(maxLength + 1) }, draw);
  }

  bytes(maxLength: number): Buffer {
    return Buffer.from(this.list(maxLength, () => this.int(256)));
  }

  /** Mostly short, of letters, digits and characters that tend to be special. */
  text(maxLength = 20): string {
    const alphabet = [
      'a',
      'b',
      'Z',
      '0',
      '-',
      '_',
      '.',
      '/',
      ':',
      ' ',
      '%',
      '"',
      '\\',
      '\n',
      '\0',
      'ä',
      '€',
      '😀',
    ];
    return this.list(maxLength, () => this.of(alphabet)).join('');
  }

  /** The same bytes with a few small changes: what passes the first checks and fails a later one. */
  mutated(bytes: Buffer, mutations = 4): Buffer {
    let result: Buffer = Buffer.from(bytes);
    for (let left = this.int(mutations + 1); left > 0; left--) result = this.#mutate(result);
    return result;
  }

  /** The same bytes in pieces of random length. */
  pieces(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    const longest = this.of([1, 3, 20, 1000, 100_000]);
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + this.int(longest);
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    return pieces;
  }

  #mutate(bytes: Buffer): Buffer {
    const at = this.int(bytes.length + 1);
    const end = Math.min(bytes.length, at + this.int(1 + this.of([1, 4, 40])));
    switch (this.int(5)) {
      case 0: {
        if (at === bytes.length) return bytes;
        bytes[at] = this.of([
          0,
          1,
          0x7f,
          0x80,
          0xff,
          this.int(256),
          (bytes[at] as number) ^ (1 << this.int(8)),
        ]);
        return bytes;
      }
      case 1:
        return Buffer.concat([bytes.subarray(0, at), this.bytes(8), bytes.subarray(at)]);
      case 2:
        return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
      case 3:
        return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
      default:
        return this.chance(0.2) ? bytes.subarray(0, at) : bytes;
    }
  }
}

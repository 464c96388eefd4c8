// JSON documents of one structure: the same names in the same order. It knows which values have differed so far; everything
// else is compared with the text, and is one object in memory however many documents have it. Values that were read must
// therefore not be changed below their root.

import { CommonValues } from './common-values.ts';
import { type Copy, copyOf, newCopy, placeIn } from './copy-value.ts';
import type { Leaf } from './find-leaves.ts';
import { endOfNested, endOfWord } from './skip-json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
/** From this length on a call of the built-in comparison is cheaper than a loop. */
const NATIVE_BYTES = 128;
const WORDS = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

/** Text that all documents have, then a value that differs. */
interface Step {
  readonly same: Buffer;
  readonly kind: Leaf['kind'] | 'end';
  readonly common: CommonValues<string>;
}

export class DocumentShape {
  readonly #leaves: readonly Leaf[];
  readonly #example: Buffer;
  readonly #value: unknown;
  readonly #differs: boolean[];
  readonly #common: readonly CommonValues<string>[];
  #steps: Step[] = [];
  #root: Copy | undefined;
  /** By step; kept for the next document. */
  #read: unknown[] = [];

  /** `value`: what the example means. It is kept. */
  constructor(example: Buffer, leaves: readonly Leaf[], value: unknown) {
    this.#example = Buffer.from(example);
    this.#leaves = leaves;
    this.#value = value;
    this.#differs = leaves.map(({ kind }) => kind === 'omitted');
    this.#common = leaves.map(() => new CommonValues());
    this.#plan();
  }

  /** Takes note of what is different in another document of this structure. */
  widen(bytes: Buffer, leaves: readonly Leaf[]): void {
    let widened = false;
    for (const [i, { from, to }] of this.#leaves.entries()) {
      const other = leaves[i] as Leaf;
      if (this.#differs[i] || bytes.compare(this.#example, from, to, other.from, other.to) === 0) continue;
      this.#differs[i] = true;
      widened = true;
    }
    if (widened) this.#plan();
  }

  /** The value of the document; undefined when it has another structure, or is no JSON. */
  read(bytes: Buffer): unknown {
    const end = bytes.length;
    const steps = this.#steps;
    let at = 0;
    for (let i = 0; i < steps.length; i++) {
      const { same, kind, common } = steps[i] as Step;
      const from = at + same.length;
      if (from > end || !isSame(bytes, at, same)) return undefined;
      if (kind === 'end') return from === end ? this.#built() : undefined;
      if (kind === 'text') {
        at = endOfPlainText(bytes, from, end);
        if (at < 0) return undefined;
        const text = bytes.toString('latin1', from, at);
        this.#read[i] = common.get(text) ?? common.add(text, text);
      } else if (kind === 'word') {
        at = endOfWord(bytes, from, end);
        const word = bytes.toString('latin1', from, at);
        if (!WORDS.test(word)) return undefined;
        this.#read[i] = JSON.parse(word);
      } else {
        if (bytes[from] !== OPEN_ARRAY) return undefined;
        at = endOfNested(bytes, from, end);
        if (at < 0) return undefined;
      }
    }
    return undefined;
  }

  #built(): unknown {
    return this.#root === undefined ? this.#value : copyOf(this.#root, this.#read);
  }

  #plan(): void {
    const example = this.#example;
    const steps: Step[] = [];
    let root: Copy | undefined;
    let at = 0;
    for (const [i, { kind, from, to, path }] of this.#leaves.entries()) {
      if (!this.#differs[i]) continue;
      if (kind !== 'omitted') {
        root ??= newCopy(this.#value);
        placeIn(root, { path, step: steps.length, isText: kind === 'text' });
      }
      steps.push({ same: example.subarray(at, from), kind, common: this.#common[i] as CommonValues<string> });
      at = to;
    }
    steps.push({ same: example.subarray(at), kind: 'end', common: new CommonValues() });
    this.#steps = steps;
    this.#read = new Array(steps.length);
    this.#root = root;
  }
}

function isSame(bytes: Buffer, start: number, same: Buffer): boolean {
  const { length } = same;
  if (length >= NATIVE_BYTES) return bytes.compare(same, 0, length, start, start + length) === 0;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== same[i]) return false;
  return true;
}

/** The quote that ends a string of printable ASCII without escapes; -1 for other strings. */
function endOfPlainText(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < 0x20 || byte >= 0x7f) return -1;
  }
  return -1;
}

// The strings, numbers, booleans and nulls of a JSON document: where they stand in the text and in the value. What is
// between them in the text (names, brackets, commas) is the document's structure.

import { endOfNested, endOfString, endOfWord, skipSpace } from './skip-json.ts';

export type Path = readonly (string | number)[];

export interface Leaf {
  /** `text` without its quotes; `omitted` is a whole array. */
  readonly kind: 'text' | 'word' | 'omitted';
  readonly from: number;
  readonly to: number;
  readonly path: Path;
}

const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
/** Deeper documents exist in attacks only. */
const MAX_DEPTH = 64;

/** The array at the path `omit` is one leaf. The document must be valid; undefined when a name occurs twice in an object. */
export function findLeaves(bytes: Buffer, omit: Path): Leaf[] | undefined {
  const finder = new LeafFinder(bytes, omit);
  return finder.value(0, []) < 0 ? undefined : finder.leaves;
}

class LeafFinder {
  readonly leaves: Leaf[] = [];
  readonly #bytes: Buffer;
  readonly #omit: Path;

  constructor(bytes: Buffer, omit: Path) {
    this.#bytes = bytes;
    this.#omit = omit;
  }

  /** One after the value at `start`; -1 when it is not suitable. */
  value(start: number, path: Path): number {
    const bytes = this.#bytes;
    const end = bytes.length;
    const from = skipSpace(bytes, start, end);
    if (path.length > MAX_DEPTH) return -1;
    switch (bytes[from]) {
      case OPEN_OBJECT:
        return this.#members(from, path);
      case OPEN_ARRAY:
        if (!isSame(path, this.#omit)) return this.#elements(from, path);
        return this.#leaf('omitted', from, endOfNested(bytes, from, end), path);
      case QUOTE: {
        const to = endOfString(bytes, from, end);
        this.#leaf('text', from + 1, to - 1, path);
        return to;
      }
      default:
        return this.#leaf('word', from, endOfWord(bytes, from, end), path);
    }
  }

  #leaf(kind: Leaf['kind'], from: number, to: number, path: Path): number {
    this.leaves.push({ kind, from, to, path });
    return to;
  }

  #members(start: number, path: Path): number {
    const bytes = this.#bytes;
    const end = bytes.length;
    const names = new Set<string>();
    let at = skipSpace(bytes, start + 1, end);
    while (bytes[at] !== CLOSE_OBJECT) {
      const to = endOfString(bytes, at, end);
      const name = JSON.parse(bytes.toString('utf8', at, to)) as string;
      if (names.has(name)) return -1;
      names.add(name);
      const colon = skipSpace(bytes, to, end);
      at = this.value(colon + 1, [...path, name]);
      if (at < 0) return -1;
      at = this.#next(at);
    }
    return at + 1;
  }

  #elements(start: number, path: Path): number {
    const bytes = this.#bytes;
    let at = skipSpace(bytes, start + 1, bytes.length);
    for (let index = 0; bytes[at] !== CLOSE_ARRAY; index++) {
      at = this.value(at, [...path, index]);
      if (at < 0) return -1;
      at = this.#next(at);
    }
    return at + 1;
  }

  /** Past white space and a comma. */
  #next(start: number): number {
    const bytes = this.#bytes;
    const at = skipSpace(bytes, start, bytes.length);
    return bytes[at] === COMMA ? skipSpace(bytes, at + 1, bytes.length) : at;
  }
}

function isSame(left: Path, right: Path): boolean {
  return left.length === right.length && left.every((step, i) => step === right[i]);
}

// Reads JSON documents of which most have one of a few structures, as the objects of one Kubernetes kind do. A document
// of a known structure is compared with it rather than parsed: less than half the work, and what such documents have in common
// is one object in memory instead of one each. All others are parsed, and their structure is learnt if it may pay.
//
// Guarantee: the values equal those of the parser. They share parts and must not be changed below their root.

import { DocumentShape } from './document-shape.ts';
import { findLeaves, type Leaf, type Path } from './find-leaves.ts';

export interface SimilarDocumentsOptions {
  /** Throws when the bytes are no JSON. */
  parse(bytes: Buffer): unknown;
  /** Where an array is that `parse` leaves out. */
  omit: Path;
}

/** Few enough to compare a document with all. */
const MAX_SHAPES = 16;
/** Longer documents are few; a shape keeps one of them. */
const MAX_LEARNT_BYTES = 64 << 10;
/**
 * Learning a structure costs as much as parsing three documents. It must pay: a document of a known structure counts one, one
 * of another costs four; at zero the next documents are only parsed.
 */
const PATIENCE = 64;
const MISS = 4;
const REST_DOCUMENTS = 2000;

export class SimilarDocuments {
  readonly #options: SimilarDocumentsOptions;
  /** The one that matched last comes first. */
  readonly #shapes: DocumentShape[] = [];
  readonly #byStructure = new Map<string, DocumentShape>();
  #patience = PATIENCE;
  #rest = 0;

  constructor(options: SimilarDocumentsOptions) {
    this.#options = options;
  }

  /** Throws what `parse` throws. */
  read(bytes: Buffer): unknown {
    const { parse } = this.#options;
    if (bytes.length > MAX_LEARNT_BYTES) return parse(bytes);
    if (this.#rest > 0) {
      this.#rest--;
      return parse(bytes);
    }
    for (let i = 0; i < this.#shapes.length; i++) {
      const shape = this.#shapes[i] as DocumentShape;
      const value = shape.read(bytes);
      if (value === undefined) continue;
      if (i > 0) this.#toFront(shape, i);
      if (this.#patience < PATIENCE) this.#patience++;
      return value;
    }
    const value = parse(bytes);
    this.#patience -= MISS;
    if (this.#patience > 0) this.#learn(bytes);
    else {
      this.#patience = PATIENCE;
      this.#rest = REST_DOCUMENTS;
    }
    return value;
  }

  #learn(bytes: Buffer): void {
    const { parse, omit } = this.#options;
    const leaves = findLeaves(bytes, omit);
    if (leaves === undefined) return;
    const structure = structureOf(bytes, leaves);
    const known = this.#byStructure.get(structure);
    if (known !== undefined) {
      known.widen(bytes, leaves);
      return;
    }
    const value = parse(bytes);
    if (typeof value !== 'object' || value === null) return;
    if (!leaves.every((leaf) => isAt(leaf, value, bytes))) return;
    const shape = new DocumentShape(bytes, leaves, value);
    if (this.#shapes.length === MAX_SHAPES) this.#forget(this.#shapes.pop() as DocumentShape);
    this.#shapes.unshift(shape);
    this.#byStructure.set(structure, shape);
  }

  #forget(shape: DocumentShape): void {
    for (const [structure, known] of this.#byStructure) {
      if (known === shape) this.#byStructure.delete(structure);
    }
  }

  #toFront(shape: DocumentShape, from: number): void {
    this.#shapes.copyWithin(1, 0, from);
    this.#shapes[0] = shape;
  }
}

/** What is between the leaves. A line break separates: within the text of a leaf it would be escaped. */
function structureOf(bytes: Buffer, leaves: readonly Leaf[]): string {
  const between: string[] = [];
  let at = 0;
  for (const { from, to, kind } of leaves) {
    between.push(bytes.toString('latin1', at, from), kind);
    at = to;
  }
  between.push(bytes.toString('latin1', at));
  return between.join('\n');
}

function isAt({ kind, from, to, path }: Leaf, value: unknown, bytes: Buffer): boolean {
  let found = value;
  for (const [depth, name] of path.entries()) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) {
      return kind === 'omitted' && depth === path.length - 1;
    }
    found = (found as Record<string | number, unknown>)[name];
  }
  if (kind === 'omitted') return false;
  const text = bytes.toString('utf8', from, to);
  return found === JSON.parse(kind === 'text' ? `"${text}"` : text);
}

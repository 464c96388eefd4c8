// The versions of one kind in key order, for lists and pages: chunks of a few hundred entries, found by binary search,
// so that an insert costs the same among 100,000 objects as among 1,000.

import type { Version } from './version.ts';

const MAX_CHUNK = 512;

export class OrderedVersions {
  #chunks: Version[][] = [];
  size = 0;

  /** Inserts the version, or replaces the one with the same key. */
  set(version: Version): void {
    const chunkIndex = this.#chunkFor(version.key);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) {
      this.#chunks.push([version]);
      this.size++;
      return;
    }
    const at = lowerBound(chunk, version.key);
    if (chunk[at]?.key === version.key) {
      chunk[at] = version;
      return;
    }
    chunk.splice(at, 0, version);
    this.size++;
    if (chunk.length > MAX_CHUNK) {
      this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(MAX_CHUNK / 2));
    }
  }

  delete(key: string): void {
    const chunkIndex = this.#chunkFor(key);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) return;
    const at = lowerBound(chunk, key);
    if (chunk[at]?.key !== key) return;
    chunk.splice(at, 1);
    this.size--;
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /** From the first key ≥ `from`, in order, while the keys start with `prefix`. */
  *range(from: string, prefix: string): Generator<Version> {
    let chunkIndex = this.#chunkFor(from);
    let at = lowerBound(this.#chunks[chunkIndex] ?? [], from);
    for (; chunkIndex < this.#chunks.length; chunkIndex++, at = 0) {
      const chunk = this.#chunks[chunkIndex] as Version[];
      for (; at < chunk.length; at++) {
        const version = chunk[at] as Version;
        if (!version.key.startsWith(prefix)) return;
        yield version;
      }
    }
  }

  /** The chunk that contains or would contain `key`: the last one whose first key is not above it. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (((this.#chunks[middle] as Version[])[0] as Version).key <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function lowerBound(chunk: readonly Version[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunk[middle] as Version).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

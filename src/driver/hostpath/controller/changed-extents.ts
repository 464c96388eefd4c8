// Finds the ranges of an image that hold data, or that differ from an older image, by comparing blocks. Reads the images
// through their readers only.

import type { ImageReader } from '../state/volume-files.ts';

export interface Extent {
  byteOffset: bigint;
  sizeBytes: bigint;
}

/** A filesystem's usual block: smaller ones would only lengthen the list. */
export const BLOCK_BYTES = 4096;
/** How much is read and, as long as nothing differs in it, compared at once. */
const CHUNK_BYTES = 1 << 20;
const zeros = Buffer.alloc(CHUNK_BYTES);

/**
 * Neighbouring blocks are one extent. Without `base`: blocks that are not all zeros. With it: blocks that differ, and all of
 * those beyond its end, because it says nothing about them.
 */
export async function* changedExtents(options: {
  target: ImageReader;
  base?: ImageReader | undefined;
  /** In the first block that is looked at. */
  from: number;
  signal: AbortSignal;
}): AsyncGenerator<Extent> {
  const { target, base, signal } = options;
  const ours = Buffer.alloc(CHUNK_BYTES);
  const older = base && Buffer.alloc(CHUNK_BYTES);
  let open: { start: number; end: number } | undefined;
  for (let at = options.from - (options.from % BLOCK_BYTES); at < target.sizeBytes; at += CHUNK_BYTES) {
    signal.throwIfAborted();
    const length = await target.read(ours, at);
    const known = base && older ? await base.read(older, at) : length;
    const before = older ?? zeros;
    if (known >= length && ours.compare(before, 0, length, 0, length) === 0) continue;
    for (let block = 0; block < length; block += BLOCK_BYTES) {
      const end = Math.min(block + BLOCK_BYTES, length);
      if (known >= end && ours.compare(before, block, end, block, end) === 0) continue;
      if (open?.end === at + block) open.end = at + end;
      else {
        if (open) yield extentOf(open);
        open = { start: at + block, end: at + end };
      }
    }
  }
  if (open) yield extentOf(open);
}

const extentOf = ({ start, end }: { start: number; end: number }): Extent => ({
  byteOffset: BigInt(start),
  sizeBytes: BigInt(end - start),
});

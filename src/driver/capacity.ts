// Volume sizes: chooses the capacity for a request, within the caller's range and the driver's limits. Pure.

import { refuse } from './refuse.ts';

export interface SizeLimits {
  /** When the request has no size. */
  defaultBytes: bigint;
  minBytes: bigint;
  maxBytes: bigint;
  /** Sizes are multiples of this. */
  stepBytes: bigint;
}

export interface RequestedRange {
  requiredBytes: bigint;
  limitBytes: bigint;
}

/** The smallest size that satisfies request and driver; OUT_OF_RANGE if there is none. */
export function chooseSize(range: RequestedRange | undefined, limits: SizeLimits): bigint {
  const required = range?.requiredBytes ?? 0n;
  const limit = range?.limitBytes ?? 0n;
  const preferred =
    required > 0n ? required : smaller(limits.defaultBytes, limit > 0n ? limit : limits.defaultBytes);
  const size = roundUp(larger(preferred, limits.minBytes), limits.stepBytes);
  if (size > limits.maxBytes) {
    throw refuse.outOfRange(`the request needs ${size} bytes, a volume has at most ${limits.maxBytes}`);
  }
  if (limit > 0n && size > limit) {
    throw refuse.outOfRange(
      `limit_bytes is ${limit}; the smallest size that satisfies the request is ${size}`,
    );
  }
  return size;
}

/** Whether the size of an existing volume is in the requested range. */
export function sizeFits(size: bigint, range: RequestedRange | undefined): boolean {
  if (range === undefined) return true;
  return size >= range.requiredBytes && (range.limitBytes === 0n || size <= range.limitBytes);
}

export function roundUp(size: bigint, step: bigint): bigint {
  return ((size + step - 1n) / step) * step;
}

/** Math.min for bigints. */
export function smaller(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

export function larger(a: bigint, b: bigint): bigint {
  return a === smaller(a, b) ? b : a;
}

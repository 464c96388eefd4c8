// Random numbers: the machine's, and a seeded generator (xoshiro128**) for repeatable runs.

import { randomInt, randomUUID } from 'node:crypto';
import type { Random } from './ports.ts';

/** Kubernetes' alphabet for generated names: no vowels, no characters that look alike, so no words by accident. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

export const realRandom: Random = {
  next: () => Math.random(),
  int: (bound) => (bound <= 1 ? 0 : randomInt(bound)),
  uuid: () => randomUUID(),
  suffix: (length) => suffixFrom((bound) => randomInt(bound), length),
};

export interface SeededRandom extends Random {
  /** An independent stream that depends on seed and label only, not on numbers already drawn. */
  fork(label: string): SeededRandom;
}

export function seededRandom(seed: number | string): SeededRandom {
  const uint32 = xoshiro128(hash32(String(seed)));
  const next = () => ((uint32() >>> 5) * 2 ** 26 + (uint32() >>> 6)) / 2 ** 53;
  const int = (bound: number) => Math.floor(next() * bound);
  return {
    next,
    int,
    uuid: () => uuidFrom(uint32),
    suffix: (length) => suffixFrom(int, length),
    fork: (label) => seededRandom(`${seed}/${label}`),
  };
}

function suffixFrom(int: (bound: number) => number, length: number): string {
  let suffix = '';
  for (let i = 0; i < length; i++) suffix += SUFFIX_ALPHABET[int(SUFFIX_ALPHABET.length)];
  return suffix;
}

function uuidFrom(uint32: () => number): string {
  const [a, b, c, d] = [uint32(), uint32(), uint32(), uint32()];
  const version = 0x4000 | (b & 0xfff);
  const variant = 0x8000 | ((c >>> 16) & 0x3fff);
  return `${hex8(a)}-${hex4(b >>> 16)}-${hex4(version)}-${hex4(variant)}-${hex4(c & 0xffff)}${hex8(d)}`;
}

/** The leading one keeps the zeros, and is cut off. */
function hex4(value: number): string {
  return (value + 0x1_0000).toString(16).slice(1);
}

function hex8(value: number): string {
  return (value + 0x1_0000_0000).toString(16).slice(1);
}

/** FNV-1a; neighbouring seeds are then spread by splitmix. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

function xoshiro128(seed: number): () => number {
  let mixing = seed;
  const splitmix = () => {
    mixing = (mixing + 0x9e3779b9) | 0;
    let z = mixing;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  let a = splitmix();
  let b = splitmix();
  let c = splitmix();
  let d = splitmix() | 1;
  const rotate = (x: number, k: number) => (x << k) | (x >>> (32 - k));
  return () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 11);
    return result;
  };
}

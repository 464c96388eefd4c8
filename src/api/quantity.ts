// Kubernetes quantities ("10Gi", "1500m", "12e6"): exact arithmetic on bigints, and the canonical text the API server
// gives back. A quantity is counted in nano units, the smallest that Kubernetes keeps; finer values round up.

import { getOwn } from './own-property.ts';

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** The amount times 10⁹. */
  readonly nano: bigint;
  /** The suffix family it was written in, and is formatted in. */
  readonly format: QuantityFormat;
}

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const NANO = 1_000_000_000n;
const MAX_INT64 = (1n << 63n) - 1n;
/** No amount needs more; the time to convert digits grows with their square. */
const MAX_LENGTH = 128;
/** A larger exponent would only exhaust memory. */
const MAX_EXPONENT = 1000;

const DECIMAL_EXPONENTS: Record<string, number> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_EXPONENTS: Record<string, number> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const DECIMAL_SUFFIXES = new Map(
  Object.entries(DECIMAL_EXPONENTS).map(([suffix, exponent]) => [exponent, suffix]),
);
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const SHAPE = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;

const WRONG_FORMAT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** A cache: the same few amounts are parsed over and over. */
const parsed = new Map<string | number, Quantity>();
const MOST_PARSED = 1000;

/** Throws a QuantityError whose message Kubernetes users know. Numbers are accepted as JSON numbers are. */
export function parseQuantity(text: string | number): Quantity {
  const known = parsed.get(text);
  if (known) return known;
  const quantity = parse(text);
  if (parsed.size < MOST_PARSED) parsed.set(text, quantity);
  return quantity;
}

function parse(text: string | number): Quantity {
  if (String(text).length > MAX_LENGTH) {
    throw new QuantityError(`quantities may not be longer than ${MAX_LENGTH} characters`);
  }
  const parts = SHAPE.exec(String(text));
  if (!parts) throw new QuantityError(WRONG_FORMAT);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = parts;
  if (whole === '' && fraction === '') throw new QuantityError(WRONG_FORMAT);
  const { base, exponent, format } = interpretSuffix(suffix);
  const digits = BigInt(whole + fraction);
  const magnitude =
    base === 2
      ? capped(scaleUp(digits << BigInt(exponent), 9 - fraction.length))
      : scaleUp(digits, 9 - fraction.length + exponent);
  const nano = sign === '-' ? -magnitude : magnitude;
  const fractionOfOne = base === 2 && magnitude < NANO && magnitude > 0n;
  return { nano, format: fractionOfOne || digits === 0n ? 'DecimalSI' : format };
}

function interpretSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = getOwn(DECIMAL_EXPONENTS, suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = getOwn(BINARY_EXPONENTS, suffix);
  if (binary !== undefined) return { base: 2, exponent: binary, format: 'BinarySI' };
  const written = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1];
  const exponent = Number(written);
  if (written === undefined || Math.abs(exponent) > MAX_EXPONENT) {
    throw new QuantityError("unable to parse quantity's suffix");
  }
  return { base: 10, exponent, format: 'DecimalExponent' };
}

function scaleUp(digits: bigint, exponent: number): bigint {
  if (exponent >= 0) return digits * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (digits + divisor - 1n) / divisor;
}

function capped(nano: bigint): bigint {
  return nano > MAX_INT64 * NANO ? MAX_INT64 * NANO : nano;
}

/** The canonical text: no fraction, the largest suffix that loses nothing, in the family it was written in. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  const magnitude = nano < 0n ? -nano : nano;
  const sign = nano < 0n ? '-' : '';
  const binary = format === 'BinarySI' && magnitude >= 1024n * NANO && magnitude % NANO === 0n;
  return sign + (binary ? formatBinary(magnitude / NANO) : formatDecimal(magnitude, format));
}

function formatBinary(units: bigint): string {
  let power = 0;
  let rest = units;
  while (rest % 1024n === 0n && power < BINARY_SUFFIXES.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${BINARY_SUFFIXES[power]}`;
}

function formatDecimal(magnitude: bigint, format: QuantityFormat): string {
  const highest = format === 'DecimalExponent' ? Number.POSITIVE_INFINITY : 18;
  let exponent = -9;
  let rest = magnitude;
  while (rest % 1000n === 0n && exponent < highest) {
    rest /= 1000n;
    exponent += 3;
  }
  if (format !== 'DecimalExponent') return `${rest}${DECIMAL_SUFFIXES.get(exponent)}`;
  return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
}

/** `parseQuantity` then `formatQuantity`. */
export function canonicalQuantity(text: string | number): string {
  let written = canonical.get(text);
  if (written === undefined) {
    written = formatQuantity(parseQuantity(text));
    if (canonical.size < MOST_PARSED) canonical.set(text, written);
  }
  return written;
}

const canonical = new Map<string | number, string>();

export function isQuantity(text: unknown): boolean {
  if (typeof text !== 'string' && typeof text !== 'number') return false;
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

/** Negative, zero or positive, as for sorting. */
export function compareQuantities(a: string | Quantity, b: string | Quantity): number {
  const difference = quantityOf(a).nano - quantityOf(b).nano;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The sum, written as the first one is (as the second when the first is zero). */
export function addQuantities(a: string | Quantity, b: string | Quantity): Quantity {
  const left = quantityOf(a);
  const right = quantityOf(b);
  return { nano: left.nano + right.nano, format: left.nano === 0n ? right.format : left.format };
}

export function subtractQuantities(a: string | Quantity, b: string | Quantity): Quantity {
  const right = quantityOf(b);
  return addQuantities(a, { nano: -right.nano, format: right.format });
}

/** Whole units (bytes), rounded up as Kubernetes' `Value()` does. */
export function quantityToBytes(value: string | Quantity): bigint {
  const { nano } = quantityOf(value);
  return nano >= 0n ? (nano + NANO - 1n) / NANO : nano / NANO;
}

/** Bytes as a quantity, in binary units unless told otherwise. */
export function quantityFromBytes(bytes: bigint | number, format: QuantityFormat = 'BinarySI'): Quantity {
  return { nano: BigInt(bytes) * NANO, format };
}

function quantityOf(value: string | Quantity): Quantity {
  return typeof value === 'string' ? parseQuantity(value) : value;
}

// The CEL functions and methods that rules may call: the result, the run-time cost and the maximum size of the result
// of each. Costs are those of cel-go and of Kubernetes' own library.

import { asText } from '../../../api/as-text.ts';
import { compilePattern, type Pattern, PatternError } from '../pattern.ts';
import { CelError } from './syntax.ts';
import { celSize, iterated, text } from './values.ts';

/** The cost of reading one character of a text, and of a regular expression. */
const STRING_FACTOR = 0.1;
const REGEX_FACTOR = 0.25;
/** A pattern that is not a constant is compiled at each call, which takes far longer than matching a short text. */
const COMPILE_COST = 1_000;

export const traversal = (size: number): number => Math.ceil(size * STRING_FACTOR);

export interface CelFunction {
  /** Including the target of a method. */
  readonly arity: number;
  call(...args: unknown[]): unknown;
  /** From the sizes of the arguments, as in cel-go: for estimates. */
  cost(...sizes: number[]): number;
  /** The actual cost here, where it is higher. */
  actualCost?(...sizes: number[]): number;
  /** The maximum size of the result, from the maximum sizes of the arguments; 1 for a scalar. */
  resultSize?(...sizes: number[]): number;
}

const matchCost = (size = 0, pattern = 0): number => traversal(size + 1) * Math.ceil(pattern * REGEX_FACTOR);
/** cel-go knows no bound of a conversion's text. Finite, so that it can be multiplied by 0. */
const UNBOUNDED = 2 ** 53;

/** What can be converted. */
function scalar(value: unknown): unknown {
  if (typeof value === 'object' && value !== null)
    throw new CelError('no such overload: lists and maps convert to nothing');
  return value;
}

const SIZE: CelFunction = {
  arity: 1,
  call: (value) => celSize(value),
  cost: () => 1,
  actualCost: (size = 0) => traversal(size),
};

export const FUNCTIONS: Readonly<Record<string, CelFunction>> = {
  size: SIZE,
  string: {
    arity: 1,
    call: (value) => asText(scalar(value)),
    cost: () => 1,
    resultSize: () => UNBOUNDED,
  },
  dyn: { arity: 1, call: (value) => value, cost: () => 1 },
  int: { arity: 1, call: (value) => Math.trunc(Number(scalar(value))), cost: () => 1 },
  double: { arity: 1, call: (value) => Number(scalar(value)), cost: () => 1 },
};

const same = (size: number): number => size;

export const METHODS: Readonly<Record<string, CelFunction>> = {
  size: SIZE,
  startsWith: {
    arity: 2,
    call: (target, prefix) => text(target).startsWith(text(prefix)),
    cost: (_, prefix = 0) => traversal(prefix),
  },
  endsWith: {
    arity: 2,
    call: (target, suffix) => text(target).endsWith(text(suffix)),
    cost: (_, suffix = 0) => traversal(suffix),
  },
  contains: {
    arity: 2,
    call: (target, part) => text(target).includes(text(part)),
    cost: (target = 0, part = 0) => traversal(target) * traversal(part),
  },
  matches: {
    arity: 2,
    call: (target, pattern) => compiled(text(pattern)).test(text(target)),
    cost: matchCost,
    actualCost: (target = 0, pattern = 0) => matchCost(target, pattern) + COMPILE_COST,
  },
  lowerAscii: {
    arity: 1,
    call: (target) => text(target).toLowerCase(),
    cost: (target = 0) => traversal(target),
    resultSize: same,
  },
  upperAscii: {
    arity: 1,
    call: (target) => text(target).toUpperCase(),
    cost: (target = 0) => traversal(target),
    resultSize: same,
  },
  trim: {
    arity: 1,
    call: (target) => text(target).trim(),
    cost: (target = 0) => traversal(target),
    resultSize: same,
  },
  split: {
    arity: 2,
    call: (target, separator) => text(target).split(text(separator)),
    cost: (target = 0) => traversal(2 * target),
    resultSize: same,
  },
};

/** `matches` with a constant pattern: compiled with the rule, and rejected with it. */
export function constantMatch(patternText: string): CelFunction {
  const pattern = compiled(patternText);
  return {
    arity: 2,
    call: (target) => pattern.test(text(target)),
    cost: matchCost,
    // A repeat count can make the program far larger than the pattern's text.
    actualCost: (target = 0) => matchCost(target, Math.max(patternText.length, pattern.size)),
  };
}

function compiled(pattern: string): Pattern {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (error instanceof PatternError) throw new CelError(`invalid matches argument: ${error.message}`);
    throw error;
  }
}

/** The size of a value for cost: 1 for scalars and objects without elements. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? iterated(value).length : 1;
}

// Regular expressions that clients bring: `pattern` in schemas and `matches` in rules. RE2 syntax, as in Kubernetes, on
// an engine whose time is linear in the text (docs/decisions/0040-regular-expressions.md). What is left to bound is
// the size of the program that a pattern compiles to, and program size times text length.

import { RE2JS, RE2JSException } from 're2js';

/** Characters times the largest repeat count: an upper bound of the program, known before it is compiled. */
const MAX_PROGRAM_ESTIMATE = 100_000;
/** Program size times text length, for all patterns of one request. At the engine's slowest some 3 s. */
export const MAX_PATTERN_STEPS = 30_000_000;

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export interface Pattern {
  /** Instructions of the compiled program. */
  readonly size: number;
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

/** Throws a PatternError, worded as Go's regexp package does. */
export function compilePattern(text: string): Pattern {
  const counts = [...text.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, low, high]) => Number(high || low));
  const estimate = text.length * Math.max(1, ...counts.slice(0, 10_000));
  if (estimate > MAX_PROGRAM_ESTIMATE) {
    throw new PatternError(
      `pattern too large: its length times its largest repeat count is ${estimate}, the limit is ${MAX_PROGRAM_ESTIMATE}`,
    );
  }
  try {
    const compiled = RE2JS.compile(text);
    return { size: compiled.programSize(), test: (input) => compiled.test(input) };
  } catch (error) {
    if (error instanceof RE2JSException) throw new PatternError(error.message);
    throw error;
  }
}

/** One request would cost more than it may. The message names the limit. */
export class WorkLimitError extends Error {
  override readonly name = 'WorkLimitError';
}

/** Counts the steps of one request's patterns. */
export class PatternBudget {
  #left = MAX_PATTERN_STEPS;

  /** Throws a WorkLimitError when this request's patterns would cost more than the limit. */
  test(pattern: Pattern, text: string): boolean {
    this.#left -= pattern.size * text.length;
    if (this.#left < 0) {
      throw new WorkLimitError(
        `matching the patterns of this object exceeds the limit of ${MAX_PATTERN_STEPS} steps (size of pattern times length of text)`,
      );
    }
    return pattern.test(text);
  }
}

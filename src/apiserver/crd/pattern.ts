// Regular expressions from clients: `pattern` in schemas and `matches` in rules. RE2 syntax, as in Kubernetes, on a
// linear-time engine (docs/decisions/0027-regular-expressions.md). Two things are bounded here: the size of the
// compiled program, and program size times text length.

import { RE2JS, RE2JSException } from 're2js';

/** Characters times the largest repeat count: an upper bound of the program size, known before it is compiled. */
const MAX_PROGRAM_ESTIMATE = 100_000;
/** Program size times text length, for all patterns of one request. About 3 s in the engine's worst case. */
const MAX_PATTERN_STEPS = 30_000_000;

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

export interface Pattern {
  /** Instructions of the compiled program. */
  readonly size: number;
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
}

/** Throws a PatternError, in the words of Go's regexp package. */
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

/** The patterns of one request exceed the limit, which the message names. */
export class WorkLimitError extends Error {
  override readonly name = 'WorkLimitError';
}

/** Counts the steps of one request's patterns. */
export class PatternBudget {
  #left = MAX_PATTERN_STEPS;

  /** Throws a WorkLimitError when this request's patterns would exceed the limit. */
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

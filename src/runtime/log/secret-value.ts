// A value that prints as `[redacted]`: as text, as JSON, in `util.inspect`, in templates and concatenations. The content is in
// a private field that only `reveal` reads.

import type { SecretValue } from '../ports.ts';

export const REDACTED = '[redacted]';
/** `util.inspect.custom`, without loading `util`. */
const inspected = Symbol.for('nodejs.util.inspect.custom');

class HiddenValue<T> implements SecretValue<T> {
  readonly #content: T;

  constructor(content: T) {
    this.#content = content;
  }

  reveal(): T {
    return this.#content;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  get [Symbol.toStringTag](): string {
    return REDACTED;
  }

  [inspected](): string {
    return REDACTED;
  }
}

export function secretValue<T>(content: T): SecretValue<T> {
  return new HiddenValue(content);
}

export function isSecretValue(value: unknown): value is SecretValue<unknown> {
  return value instanceof HiddenValue;
}

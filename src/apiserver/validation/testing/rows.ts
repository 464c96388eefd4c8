// Test support: a table of objects and the errors that their validation finds, each named by how it begins.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError } from '../../kind.ts';

export type Body = Record<string, unknown>;
type Validate = (object: never) => FieldError[];

export const texts = (errors: readonly FieldError[]): string[] =>
  errors.map(({ field, message }) => `${field}: ${message}`);

export function startAs(found: readonly string[], expected: readonly string[]): void {
  assert.equal(found.length, expected.length, found.join('\n'));
  for (const [index, text] of expected.entries()) {
    assert.ok(found[index]?.startsWith(text), `${found[index]}, not ${text}`);
  }
}

/** Each row changes fields of `base`. */
export function rows(
  validate: unknown,
  base: Body,
  table: readonly (readonly [name: string, change: Body, errors: readonly string[]])[],
): void {
  for (const [name, change, errors] of table) {
    test(name, () => {
      const object = { metadata: { name: 'x' }, ...base, ...change } as never;
      startAs(texts((validate as Validate)(object)), errors);
    });
  }
}

/** The fields that may not change as they do from `before` to `after`. */
export function changedFields(validate: unknown, before: Body, after: Body): string[] {
  const errors = (validate as (next: never, current: never, subresource: string) => FieldError[])(
    after as never,
    before as never,
    '',
  );
  return errors.map(({ field }) => field);
}

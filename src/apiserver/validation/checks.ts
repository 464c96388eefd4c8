// The words of field errors, and a small collector so that validation reads as a list of rules and reports every
// broken one at once.

import { compareQuantities, isQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';

function shown(value: unknown): string {
  if (value === undefined) return 'null';
  return JSON.stringify(value);
}

export const required = (field: string, detail = ''): FieldError => ({
  reason: 'FieldValueRequired',
  field,
  message: detail ? `Required value: ${detail}` : 'Required value',
});
export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  reason: 'FieldValueInvalid',
  field,
  message: `Invalid value: ${shown(value)}: ${detail}`,
});
export const forbidden = (field: string, detail: string): FieldError => ({
  reason: 'FieldValueForbidden',
  field,
  message: `Forbidden: ${detail}`,
});
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  reason: 'FieldValueNotSupported',
  field,
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map(shown).join(', ')}`,
});
export const duplicate = (field: string, value: unknown): FieldError => ({
  reason: 'FieldValueDuplicate',
  field,
  message: `Duplicate value: ${shown(value)}`,
});
export const notFound = (field: string, value: unknown): FieldError => ({
  reason: 'FieldValueNotFound',
  field,
  message: `Not found: ${shown(value)}`,
});
export const tooLong = (field: string, maxBytes: number): FieldError => ({
  reason: 'FieldValueTooLong',
  field,
  message: `Too long: may not be more than ${maxBytes} bytes`,
});
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  reason: 'FieldValueTypeInvalid',
  field,
  message: `Invalid value: ${shown(value)}: ${detail}`,
});

export const IMMUTABLE = 'field is immutable';

/** An element's path: `spec.containers[0]`. */
export const at = (field: string, index: number | string): string => `${field}[${index}]`;

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Each rule returns whether it held, so that a dependent rule can be skipped. */
export class Checks {
  readonly errors: FieldError[] = [];

  add(...errors: FieldError[]): false {
    this.errors.push(...errors);
    return false;
  }

  required(field: string, value: unknown, detail?: string): boolean {
    return isEmpty(value) ? this.add(required(field, detail)) : true;
  }

  /** Absent is fine: ask for it with `required`. */
  oneOf(field: string, value: unknown, supported: readonly string[]): boolean {
    if (value === undefined || value === null) return true;
    return supported.includes(value as string) || this.add(notSupported(field, value, [...supported].sort()));
  }

  /** `problems` as the checks of names.ts give them. */
  text(field: string, value: unknown, problems: (text: string) => string[]): boolean {
    if (value === undefined || value === null) return true;
    const found = problems(String(value));
    return found.length === 0 || this.add(...found.map((detail) => invalid(field, value, detail)));
  }

  nonNegative(field: string, value: unknown): boolean {
    if (typeof value !== 'number' || value >= 0) return true;
    return this.add(invalid(field, value, 'must be greater than or equal to 0'));
  }

  quantity(field: string, value: unknown, options: { positive?: boolean } = {}): boolean {
    if (!isQuantity(value)) {
      return this.add(
        invalid(
          field,
          value,
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
      );
    }
    const sign = compareQuantities(String(value), '0');
    if (options.positive && sign <= 0) return this.add(invalid(field, value, 'must be greater than zero'));
    return sign >= 0 || this.add(invalid(field, value, 'must be greater than or equal to 0'));
  }

  immutable(field: string, next: unknown, current: unknown): boolean {
    return sameJson(next ?? null, current ?? null) || this.add(invalid(field, next ?? null, IMMUTABLE));
  }

  unique(
    field: string,
    values: readonly unknown[],
    path: (index: number) => string = (index) => at(field, index),
  ): void {
    const seen = new Set<unknown>();
    for (const [index, value] of values.entries()) {
      if (value !== undefined && seen.has(value)) this.add(duplicate(path(index), value));
      seen.add(value);
    }
  }
}

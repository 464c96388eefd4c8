// Field errors, worded as Kubernetes words them, and a collector, so that validation reads as a list of rules and reports
// all errors of an object together.

import { compareQuantities, isQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';

/** Wrong values, and keys in paths, are truncated in messages. */
const MAX_SHOWN = 1024;
const MAX_SHOWN_KEY = 253;
/** Maximum number of errors listed for one object. */
const MAX_FIELD_ERRORS = 100;

function shown(value: unknown): string {
  if (value === undefined) return 'null';
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_SHOWN + 1) : value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** The path of a field whose name came from the client. */
export function fieldPath(path: string, key: string): string {
  const name = key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY)}…` : key;
  return path === '' ? name : `${path}.${name}`;
}

/** Whether `errors` is full; the last one says that there may be more. */
export function isFull(errors: FieldError[]): boolean {
  if (errors.length < MAX_FIELD_ERRORS) return false;
  if (errors.length === MAX_FIELD_ERRORS) {
    errors.push({
      reason: 'FieldValueInvalid',
      field: '',
      message: `too many errors: only the first ${MAX_FIELD_ERRORS} are listed`,
    });
  }
  return true;
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
    for (const error of errors) if (!isFull(this.errors)) this.errors.push(error);
    return false;
  }

  required(field: string, value: unknown, detail?: string): boolean {
    return isEmpty(value) ? this.add(required(field, detail)) : true;
  }

  /** An absent value passes: use `required` for that. */
  oneOf(field: string, value: unknown, supported: readonly string[]): boolean {
    if (value === undefined || value === null) return true;
    return supported.includes(value as string) || this.add(notSupported(field, value, [...supported].sort()));
  }

  /** `problems` from the checks of names.ts. */
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

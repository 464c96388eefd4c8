// Validates a value against a structural schema, with Kubernetes' messages. CEL rules are in validate-rules.ts.

import { sameJson } from '../../api/same-json.ts';
import { definitionNameOf } from '../builtin-schema/builtin-schema.ts';
import type { FieldError } from '../kind.ts';
import { isObject } from '../patch/json.ts';
import type { Schema } from '../schema.ts';
import {
  duplicate,
  fieldPath,
  forbidden,
  invalid,
  isFull,
  notSupported,
  required,
  tooLong,
  typeInvalid,
} from '../validation/checks.ts';
import { formatProblem } from './formats.ts';
import { compilePattern, type Pattern, PatternBudget, WorkLimitError } from './pattern.ts';

/** Number of schemas compared per object, including alternatives and enum values: about a second of work. */
const MAX_STEPS = 5_000_000;

export function validateAgainstSchema(schema: Schema, value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  const work: Work = { patterns: new PatternBudget(), steps: 0 };
  try {
    check(schema, value, '', errors, work);
  } catch (error) {
    if (!(error instanceof WorkLimitError)) throw error;
    return [forbidden('', error.message)];
  }
  return errors;
}

/** The cost budget of validating one object. */
interface Work {
  readonly patterns: PatternBudget;
  steps: number;
}

function count(work: Work, steps: number): void {
  work.steps += steps;
  if (work.steps > MAX_STEPS) {
    throw new WorkLimitError(
      `validating this object against its schema exceeds the limit of ${MAX_STEPS} steps`,
    );
  }
}

function check(schema: Schema, value: unknown, path: string, errors: FieldError[], work: Work): void {
  if (isFull(errors)) return;
  count(work, 1 + (schema.enum?.length ?? 0));
  // Metadata is validated separately.
  if (definitionNameOf(schema)) return;
  if (value === null && schema.nullable) return;
  const isTyped = checkType(schema, value, path, errors);
  // As kube-apiserver: a list or map is no value of an enum either, a scalar of another type is only of the wrong type.
  if (!isTyped && (typeof value !== 'object' || value === null)) return;
  if (schema.enum && !schema.enum.some((each) => sameJson(each, value))) {
    errors.push(notSupported(path, value, schema.enum.map(String)));
  }
  if (!isTyped) return;
  if (typeof value === 'string') checkString(schema, value, path, errors, work);
  else if (typeof value === 'number') checkNumber(schema, value, path, errors);
  else if (Array.isArray(value)) checkArray(schema, value, path, errors, work);
  else if (isObject(value)) checkObject(schema, value, path, errors, work);
  checkCombinations(schema, value, path, errors, work);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkType(schema: Schema, value: unknown, path: string, errors: FieldError[]): boolean {
  const actual = typeOf(value);
  if (schema['x-kubernetes-int-or-string']) {
    if (actual === 'integer' || actual === 'string') return true;
    errors.push(typeInvalid(path, actual, `${path} in body must be of type integer,string: "${actual}"`));
    return false;
  }
  const expected = schema.type;
  if (!expected || expected === actual || (expected === 'number' && actual === 'integer')) return true;
  errors.push(typeInvalid(path, actual, `${path} in body must be of type ${expected}: "${actual}"`));
  return false;
}

function checkString(schema: Schema, value: string, path: string, errors: FieldError[], work: Work): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength)
    errors.push(tooLong(path, schema.maxLength));
  if (schema.minLength !== undefined && length < schema.minLength) {
    errors.push(invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`));
  }
  const pattern = patternOf(schema);
  if (pattern && !work.patterns.test(pattern, value)) {
    errors.push(invalid(path, value, `${path} in body should match '${schema.pattern}'`));
  }
  if (schema.format && formatProblem(schema.format, value)) {
    errors.push(
      invalid(path, value, `${path} in body must be of type ${schema.format}: ${JSON.stringify(value)}`),
    );
  }
}

/** Cached: schemas of stored CRDs do not change. */
const compiledPatterns = new WeakMap<Schema, Pattern>();

function patternOf(schema: Schema): Pattern | undefined {
  if (schema.pattern === undefined) return undefined;
  let compiled = compiledPatterns.get(schema);
  if (compiled === undefined) {
    compiled = compilePattern(schema.pattern);
    compiledPatterns.set(schema, compiled);
  }
  return compiled;
}

function checkNumber(schema: Schema, value: number, path: string, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema;
  const fail = (detail: string): void => {
    errors.push(invalid(path, value, `${path} in body ${detail}`));
  };
  if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum)) {
    fail(
      schema.exclusiveMinimum
        ? `should be greater than ${minimum}`
        : `should be greater than or equal to ${minimum}`,
    );
  }
  if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum)) {
    fail(
      schema.exclusiveMaximum
        ? `should be less than ${maximum}`
        : `should be less than or equal to ${maximum}`,
    );
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    fail(`should be a multiple of ${multipleOf}`);
  if (schema.format === 'int32' && (value < -(2 ** 31) || value > 2 ** 31 - 1)) fail('must be of type int32');
}

function checkArray(schema: Schema, value: unknown[], path: string, errors: FieldError[], work: Work): void {
  const { maxItems, minItems, items } = schema;
  if (maxItems !== undefined && value.length > maxItems) {
    errors.push({
      reason: 'FieldValueTooMany',
      field: path,
      message: `Too many: ${value.length}: must have at most ${maxItems} items`,
    });
  }
  if (minItems !== undefined && value.length < minItems) {
    errors.push(invalid(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (items)
    for (const [index, element] of value.entries()) check(items, element, `${path}[${index}]`, errors, work);
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set' || schema.uniqueItems) checkUnique(value, (element) => element, path, errors);
  if (type === 'map') {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    checkUnique(value, (element) => keyOf(element, keys), path, errors);
  }
}

function keyOf(element: unknown, keys: readonly string[]): unknown {
  if (!isObject(element)) return element;
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(element, key)).map((key) => [key, element[key]]),
  );
}

function checkUnique(
  values: unknown[],
  identity: (value: unknown) => unknown,
  path: string,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    const text = JSON.stringify(identity(value));
    if (seen.has(text) && !isFull(errors)) errors.push(duplicate(`${path}[${index}]`, identity(value)));
    seen.add(text);
  }
}

function checkObject(
  schema: Schema,
  value: Record<string, unknown>,
  path: string,
  errors: FieldError[],
  work: Work,
): void {
  const child = (key: string): string => fieldPath(path, key);
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key) && !isFull(errors)) errors.push(required(child(key)));
  }
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    errors.push({
      reason: 'FieldValueInvalid',
      field: path,
      message: `Too many: ${count}: must have at most ${schema.maxProperties} items`,
    });
  }
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    errors.push(
      invalid(path, count, `${path} in body should have at least ${schema.minProperties} properties`),
    );
  }
  for (const [key, element] of Object.entries(value)) {
    const property =
      schema.properties && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
    if (property) check(property, element, child(key), errors, work);
    else if (typeof schema.additionalProperties === 'object') {
      check(schema.additionalProperties, element, child(key), errors, work);
    }
  }
}

function checkCombinations(
  schema: Schema,
  value: unknown,
  path: string,
  errors: FieldError[],
  work: Work,
): void {
  const holds = (each: Schema): boolean => {
    const found: FieldError[] = [];
    check(each, value, path, found, work);
    return found.length === 0;
  };
  for (const each of schema.allOf ?? []) check(each, value, path, errors, work);
  const shownPath = JSON.stringify(path === '' ? '<nil>' : path);
  if (schema.anyOf && !schema.anyOf.some(holds)) {
    errors.push(invalid(path, '', `${shownPath} must validate at least one schema (anyOf)`));
  }
  if (schema.oneOf) {
    const count = schema.oneOf.filter(holds).length;
    if (count !== 1) {
      const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
      errors.push(invalid(path, '', `${shownPath} must validate one and only one schema (oneOf). ${found}`));
    }
  }
  if (schema.not && holds(schema.not))
    errors.push(invalid(path, '', `${shownPath} must not validate the schema (not)`));
}

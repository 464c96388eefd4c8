// Evaluates the CEL rules (`x-kubernetes-validations`) of a schema on an object, within the cost budget of one object.
// Transition rules run on updates only, where a previous value exists; elements of keyed lists are matched by their
// keys, those of other lists have no previous value.

import { getOwn } from '../../api/own-property.ts';
import type { FieldError } from '../kind.ts';
import { isObject } from '../patch/json.ts';
import type { Schema } from '../schema.ts';
import { duplicate, fieldPath, forbidden, invalid, isFull, required } from '../validation/checks.ts';
import { CelCostError, CelError, type CelRule, compileCel, Meter } from './cel/cel.ts';
import { type CelType, typeOf } from './cel/types.ts';

export interface RuleSet {
  /** Whether there are any. */
  readonly isEmpty: boolean;
  /** The rules about the new state of the object. */
  validate(object: unknown): FieldError[];
  /** The transition rules, which compare with the previous state. */
  validateUpdate(next: unknown, current: unknown): FieldError[];
}

interface Compiled {
  rule: CelRule;
  text: string;
  message: string | undefined;
  messageExpression: CelRule | undefined;
  /** The field that a broken rule is reported for, below the rule's own, and as what. */
  fieldPath: string | undefined;
  reason: FieldError['reason'];
}

interface Run {
  readonly errors: FieldError[];
  readonly meter: Meter;
  readonly transition: boolean;
}

/** Compiles on first use; throws a CelError for a rule that does not compile, which validation of CRDs prevents. */
export function createRuleSet(schema: Schema): RuleSet {
  const compiled = new WeakMap<Schema, Compiled[]>();
  const rulesOf = (node: Schema): Compiled[] => {
    const known = compiled.get(node);
    if (known) return known;
    const rules = node['x-kubernetes-validations'] ?? [];
    const self = rules.length > 0 ? typeOf(node, node === schema) : undefined;
    const made = rules.map((written) => ({
      rule: compileCel(written.rule, self),
      text: written.rule,
      message: written.message,
      messageExpression: compiledMessage(written.messageExpression, self),
      fieldPath: written.fieldPath,
      reason: written.reason ?? 'FieldValueInvalid',
    }));
    compiled.set(node, made);
    return made;
  };
  const walk = (node: Schema, self: unknown, old: unknown, path: string, run: Run): void => {
    if (self === undefined || self === null || (run.transition && old === undefined)) return;
    for (const each of rulesOf(node)) evaluate(each, self, old, path, run);
    if (Array.isArray(self)) {
      const { items } = node;
      if (!items) return;
      const previous = previousElements(node, old);
      for (const [index, element] of self.entries()) {
        walk(items, element, previous(element), `${path}[${index}]`, run);
      }
    } else if (isObject(self)) {
      for (const [key, value] of Object.entries(self)) {
        const property = propertyOf(node, key);
        const before = isObject(old) ? getOwn(old, key) : undefined;
        if (property) walk(property, value, before, fieldPath(path, key), run);
      }
    }
  };
  const run = (next: unknown, current: unknown, transition: boolean): FieldError[] => {
    const errors: FieldError[] = [];
    if (!hasRules(schema)) return errors;
    try {
      walk(schema, next, current, '', { errors, meter: new Meter(), transition });
    } catch (error) {
      if (!(error instanceof CelCostError)) throw error;
    }
    return errors;
  };
  return {
    isEmpty: !hasRules(schema),
    validate: (object) => run(object, undefined, false),
    validateUpdate: (next, current) => run(next, current, true),
  };
}

/** A CelCostError is reported and rethrown; no more rules are evaluated after it. */
function evaluate(compiled: Compiled, self: unknown, old: unknown, path: string, run: Run): void {
  const { rule, text, fieldPath: below = '', reason } = compiled;
  const { errors, meter, transition } = run;
  if (rule.usesOldSelf !== transition || isFull(errors)) return;
  const shown = typeof self === 'object' ? (Array.isArray(self) ? 'array' : 'object') : self;
  meter.start();
  try {
    if (rule.evaluate({ self, oldSelf: old }, meter) === true) return;
    const detail = composedMessage(compiled, { self, oldSelf: old }, meter) ?? compiled.message;
    errors.push(broken(`${path}${below}`, shown, { reason, detail: detail ?? `failed rule: ${text}` }));
  } catch (error) {
    if (error instanceof CelError) {
      errors.push(invalid(path, shown, `rule evaluation error: ${error.message}: ${text}`));
      return;
    }
    if (error instanceof CelCostError) {
      const why =
        error.limit === 'PerCallLimit'
          ? `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${text}`
          : error.message;
      errors.push(invalid(path, shown, why));
    }
    throw error;
  }
}

/** Undefined also where it does not compile: the rule has its other message then. */
function compiledMessage(text: string | undefined, self: CelType | undefined): CelRule | undefined {
  if (!text) return undefined;
  try {
    return compileCel(text, self);
  } catch (error) {
    if (error instanceof CelError) return undefined;
    throw error;
  }
}

/** kube-apiserver's limit, in bytes. */
const MAX_MESSAGE_BYTES = 5 * 1024;

/** Undefined where there is no expression, where it fails, or where its text is of no use. */
function composedMessage(
  { messageExpression }: Compiled,
  values: { self: unknown; oldSelf: unknown },
  meter: Meter,
): string | undefined {
  if (!messageExpression) return undefined;
  meter.start();
  try {
    const text = messageExpression.evaluate(values, meter);
    if (typeof text !== 'string' || /[\n\r]/.test(text) || Buffer.byteLength(text) > MAX_MESSAGE_BYTES) {
      return undefined;
    }
    return text.trim() || undefined;
  } catch (error) {
    if (error instanceof CelError) return undefined;
    throw error;
  }
}

function broken(
  field: string,
  value: unknown,
  { reason, detail }: { reason: FieldError['reason']; detail: string },
): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(field, detail);
    case 'FieldValueRequired':
      return required(field, detail);
    case 'FieldValueDuplicate':
      return duplicate(field, value);
    default:
      return invalid(field, value, detail);
  }
}

function propertyOf(schema: Schema, key: string): Schema | undefined {
  const property = getOwn(schema.properties, key);
  if (property) return property;
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/** Finds the previous value of an element of a keyed list. */
function previousElements(list: Schema, old: unknown): (element: unknown) => unknown {
  if (list['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return () => undefined;
  const keys = list['x-kubernetes-list-map-keys'] ?? [];
  const keyOf = (element: unknown): string | undefined =>
    isObject(element) ? JSON.stringify(keys.map((key) => getOwn(element, key))) : undefined;
  const byKey = new Map(old.map((each) => [keyOf(each), each]));
  byKey.delete(undefined);
  return (element) => byKey.get(keyOf(element));
}

function hasRules(schema: Schema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true;
  const { properties = {}, items, additionalProperties } = schema;
  const below = Object.entries(properties)
    .filter(([key]) => key !== 'metadata')
    .map(([, each]) => each);
  if (items) below.push(items);
  if (typeof additionalProperties === 'object') below.push(additionalProperties);
  return below.some(hasRules);
}

// Evaluates the rules (`x-kubernetes-validations`) of a schema on an object. Rules about the previous value run only
// where there is one; elements of keyed lists are matched by their keys, those of other lists have none.

import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { isObject } from '../patch/json.ts';
import type { Schema } from '../schema.ts';
import { invalid } from '../validation/checks.ts';
import { CelError, type CelRule, compileCel } from './cel.ts';

export interface RuleSet {
  validate(object: unknown): FieldError[];
  validateUpdate(next: unknown, current: unknown): FieldError[];
}

interface Compiled {
  rule: CelRule;
  text: string;
  message: string | undefined;
}

/** Compiles on first use; throws a CelError for a rule that does not compile, which validation of CRDs excludes. */
export function createRuleSet(schema: Schema): RuleSet {
  const compiled = new WeakMap<Schema, Compiled[]>();
  const rulesOf = (node: Schema): Compiled[] => {
    const known = compiled.get(node);
    if (known) return known;
    const made = (node['x-kubernetes-validations'] ?? []).map(({ rule, message }) => ({
      rule: compileCel(rule),
      text: rule,
      message,
    }));
    compiled.set(node, made);
    return made;
  };
  const walk = (node: Schema, self: unknown, old: unknown, path: string, errors: FieldError[]): void => {
    if (self === undefined || self === null) return;
    for (const each of rulesOf(node)) evaluate(each, self, old, path, errors);
    if (Array.isArray(self)) {
      const { items } = node;
      if (!items) return;
      for (const [index, element] of self.entries()) {
        walk(items, element, previousElement(node, element, old), `${path}[${index}]`, errors);
      }
    } else if (isObject(self)) {
      for (const [key, value] of Object.entries(self)) {
        const property = propertyOf(node, key);
        if (property)
          walk(
            property,
            value,
            isObject(old) ? getOwn(old, key) : undefined,
            path === '' ? key : `${path}.${key}`,
            errors,
          );
      }
    }
  };
  const run = (next: unknown, current: unknown): FieldError[] => {
    const errors: FieldError[] = [];
    if (hasRules(schema)) walk(schema, next, current, '', errors);
    return errors;
  };
  return { validate: (object) => run(object, undefined), validateUpdate: run };
}

function evaluate(
  { rule, text, message }: Compiled,
  self: unknown,
  old: unknown,
  path: string,
  errors: FieldError[],
): void {
  if (rule.usesOldSelf && old === undefined) return;
  const shown = typeof self === 'object' ? (Array.isArray(self) ? 'array' : 'object') : self;
  try {
    if (rule.evaluate({ self, oldSelf: old }) === true) return;
    errors.push(invalid(path, shown, message ?? `failed rule: ${text}`));
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    errors.push(invalid(path, shown, `rule evaluation error: ${error.message}: ${text}`));
  }
}

function propertyOf(schema: Schema, key: string): Schema | undefined {
  if (schema.properties && Object.hasOwn(schema.properties, key)) return schema.properties[key];
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

function previousElement(list: Schema, element: unknown, old: unknown): unknown {
  if (list['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old) || !isObject(element)) return undefined;
  const keys = list['x-kubernetes-list-map-keys'] ?? [];
  return old.find(
    (each) => isObject(each) && keys.every((key) => sameJson(getOwn(each, key), getOwn(element, key))),
  );
}

function hasRules(schema: Schema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true;
  const { properties = {}, items, additionalProperties } = schema;
  const below = [
    ...Object.entries(properties)
      .filter(([key]) => key !== 'metadata')
      .map(([, each]) => each),
  ];
  if (items) below.push(items);
  if (typeof additionalProperties === 'object') below.push(additionalProperties);
  return below.some(hasRules);
}

// Rejects a CRD whose rules do not fit its schema: a field that the schema does not declare, operands of wrong types, a rule
// that is no boolean, a `messageExpression` that is no string.

import { type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import type { Schema } from '../schema.ts';
import { at, type Checks, invalid } from '../validation/checks.ts';
import { CelError, UnknownFunctionError } from './cel/cel.ts';
import { checkTypes } from './cel/check-types.ts';
import { parseCel } from './cel/parse.ts';
import { DYN, typeOf } from './cel/types.ts';

/** The schema is structural, and its rules parse. */
export function checkRuleTypes(checks: Checks, path: string, schema: LooseMap, isRoot = true): void {
  const rules = mapsOf(schema['x-kubernetes-validations']);
  if (rules.length > 0) {
    const self = typeOf(schema as Schema, isRoot) ?? DYN;
    for (const [index, { rule, messageExpression }] of rules.entries()) {
      const field = at(`${path}.x-kubernetes-validations`, index);
      const check = (name: string, written: unknown, result: 'bool' | 'string', prefix: string): void => {
        const problem = problemOf(String(written), self, { result, prefix });
        if (problem) checks.add(invalid(`${field}.${name}`, written, problem));
      };
      check('rule', rule, 'bool', '');
      if (typeof messageExpression === 'string' && messageExpression.trim() !== '') {
        check('messageExpression', messageExpression, 'string', 'messageExpression ');
      }
    }
  }
  for (const [name, property] of Object.entries(mapOf(schema.properties) ?? {})) {
    checkRuleTypes(checks, `${path}.properties[${name}]`, mapOf(property) ?? {}, false);
  }
  const items = mapOf(schema.items);
  if (items) checkRuleTypes(checks, `${path}.items`, items, false);
  const additional = mapOf(schema.additionalProperties);
  if (additional) checkRuleTypes(checks, `${path}.additionalProperties`, additional, false);
}

function problemOf(
  text: string,
  self: Parameters<typeof checkTypes>[2],
  { result, prefix }: { result: 'bool' | 'string'; prefix: string },
): string | undefined {
  try {
    const { type, problems } = checkTypes(text, parseCel(text), self);
    if (problems !== '') return `${prefix}compilation failed: ${problems}`;
    if (type.kind === result) return undefined;
    return `${prefix || 'cel expression '}must evaluate to a ${result}`;
  } catch (error) {
    // The text of a message may need more than this server can evaluate: the rule is enforced all the same.
    if (error instanceof UnknownFunctionError && result === 'string') return undefined;
    if (error instanceof CelError) return `${prefix}compilation failed: ${error.message}`;
    throw error;
  }
}

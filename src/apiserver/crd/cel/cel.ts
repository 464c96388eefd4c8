// A CEL validation rule: compiled once, evaluated on many values, each time within a cost limit.

import { checkTypes } from './check-types.ts';
import { type CelScope, evaluateCel, type Meter } from './evaluate.ts';
import { parseCel } from './parse.ts';
import type { Expression } from './syntax.ts';
import { type CelType, DYN } from './types.ts';

export { CelCostError, Meter } from './evaluate.ts';
export { CelError, UnknownFunctionError } from './syntax.ts';

export interface CelRule {
  readonly expression: Expression;
  /** Throws a CelError when the rule cannot be evaluated on these values, a CelCostError when it costs too much. */
  evaluate(values: { self: unknown; oldSelf?: unknown }, meter: Meter): unknown;
  /** Transition rules, which compare with the previous value, apply to updates only. */
  readonly usesOldSelf: boolean;
}

/**
 * Throws a CelError when the rule cannot be parsed. `self` decides how operators on numbers work; a rule that does not fit it
 * is not rejected here.
 */
export function compileCel(rule: string, self: CelType = DYN): CelRule {
  const expression = parseCel(rule);
  checkTypes(rule, expression, self);
  return {
    expression,
    evaluate({ self, oldSelf }, meter) {
      const scope: CelScope = { name: 'self', value: self, outer: undefined };
      return evaluateCel(expression, { name: 'oldSelf', value: oldSelf, outer: scope }, meter);
    },
    usesOldSelf: /\boldSelf\b/.test(rule),
  };
}

// A CEL validation rule: compiled once, evaluated on many values, each time within a cost limit.

import { type CelScope, evaluateCel, type Meter } from './evaluate.ts';
import { parseCel } from './parse.ts';
import type { Expression } from './syntax.ts';

export { CelCostError, Meter } from './evaluate.ts';
export { CelError } from './syntax.ts';

export interface CelRule {
  readonly expression: Expression;
  /** Throws a CelError when the rule cannot be evaluated on these values, a CelCostError when it costs too much. */
  evaluate(values: { self: unknown; oldSelf?: unknown }, meter: Meter): unknown;
  /** Transition rules, which compare with the previous value, apply to updates only. */
  readonly usesOldSelf: boolean;
}

/** Throws a CelError when the rule cannot be compiled. */
export function compileCel(rule: string): CelRule {
  const expression = parseCel(rule);
  return {
    expression,
    evaluate({ self, oldSelf }, meter) {
      const scope: CelScope = { name: 'self', value: self, outer: undefined };
      return evaluateCel(expression, { name: 'oldSelf', value: oldSelf, outer: scope }, meter);
    },
    usesOldSelf: /\boldSelf\b/.test(rule),
  };
}

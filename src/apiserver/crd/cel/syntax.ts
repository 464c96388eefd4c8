// The syntax tree of a CEL expression.

import type { CelFunction } from './functions.ts';

export class CelError extends Error {
  override readonly name = 'CelError';
}

/** The expression may be right, but calls a function that this evaluator does not have. */
export class UnknownFunctionError extends CelError {
  constructor(name: string) {
    super(`unknown function "${name}"`);
  }
}

export type Macro = 'all' | 'exists' | 'exists_one' | 'filter' | 'map';

/** `at`: where errors about it point, an index into the rule. */
export type Expression = { readonly at: number } & Form;

type Form =
  | {
      readonly kind: 'constant';
      readonly type: 'string' | 'bool' | 'null';
      readonly value: string | boolean | null;
    }
  | { readonly kind: 'constant'; readonly type: 'int' | 'double'; readonly value: number }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'field'; readonly target: Expression; readonly name: string }
  | { readonly kind: 'index'; readonly target: Expression; readonly index: Expression }
  | { readonly kind: 'has'; readonly target: Expression }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'unary'; readonly operator: '!' | '-'; readonly operand: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
      /** Set by the type check: the operands are of type `double`. At run time both types are numbers. */
      isDouble?: boolean;
    }
  /** A whole chain of one operator, so that a long chain is not a deep tree. */
  | { readonly kind: 'logic'; readonly operator: '&&' | '||'; readonly terms: readonly Expression[] }
  | {
      readonly kind: 'ternary';
      readonly condition: Expression;
      readonly yes: Expression;
      readonly no: Expression;
    }
  /** A method's target is the first argument. */
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly callee: CelFunction;
      readonly args: readonly Expression[];
    }
  | {
      readonly kind: 'macro';
      readonly macro: Macro;
      readonly range: Expression;
      readonly variable: string;
      readonly body: Expression;
    };

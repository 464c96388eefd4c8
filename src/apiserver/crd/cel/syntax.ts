// The syntax tree of a CEL expression.

import type { CelFunction } from './functions.ts';

export class CelError extends Error {
  override readonly name = 'CelError';
}

export type Macro = 'all' | 'exists' | 'exists_one' | 'filter' | 'map';

export type Expression =
  | { readonly kind: 'constant'; readonly value: string | number | boolean | null }
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

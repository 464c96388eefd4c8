// Evaluates a CEL expression and counts its cost in cel-go's units: a unit is roughly 50 to 100 ns. Where this
// evaluator does more than cel-go counts (comparing whole structures, joining lists), that work is counted too.

import { sizeOf, traversal } from './functions.ts';
import { CelError, type Expression } from './syntax.ts';
import { arithmetic, contains, element, field, iterated, number, sameValue, sum, truth } from './values.ts';

/**
 * kube-apiserver's limits (k8s.io/apiserver/pkg/apis/cel): for one evaluation of one rule, and for all rules of one
 * object.
 */
const PER_CALL_LIMIT = 1_000_000;
const RUNTIME_COST_BUDGET = 10_000_000;

/** A rule, or all rules of an object, exceeded the cost limit. */
export class CelCostError extends Error {
  override readonly name = 'CelCostError';
  readonly limit: 'PerCallLimit' | 'RuntimeCELCostBudget';

  constructor(limit: CelCostError['limit']) {
    super(
      limit === 'PerCallLimit'
        ? 'operation cancelled: actual cost limit exceeded'
        : 'validation failed due to running out of cost budget, no further validation rules will be run',
    );
    this.limit = limit;
  }
}

/** Counts the cost of the rules of one object. */
export class Meter {
  #call = 0;
  #budget = RUNTIME_COST_BUDGET;

  /** The next evaluation starts. */
  start(): void {
    this.#call = 0;
  }

  charge(cost: number): void {
    this.#call += cost;
    this.#budget -= cost;
    if (this.#call > PER_CALL_LIMIT) throw new CelCostError('PerCallLimit');
    if (this.#budget < 0) throw new CelCostError('RuntimeCELCostBudget');
  }
}

/** The variables in scope, innermost first. */
export interface CelScope {
  readonly name: string;
  readonly value: unknown;
  readonly outer: CelScope | undefined;
}

/** The cost of accessing a variable or field, and of creating a list. */
export const ACCESS_COST = 1;
export const LIST_COST = 10;
/** The cost per element besides the body, from cel-go's expansion of the macro. */
export const ITERATION_COST = { all: 3, exists: 4, exists_one: 2, filter: 13, map: 12 } as const;
/** The cost of the macro besides its range and its elements. */
export const MACRO_COST = { all: 1, exists: 1, exists_one: 2, filter: 11, map: 11 } as const;

export function evaluateCel(expression: Expression, scope: CelScope, meter: Meter): unknown {
  const value = (each: Expression): unknown => evaluateCel(each, scope, meter);
  switch (expression.kind) {
    case 'constant':
      return expression.value;
    case 'name':
      meter.charge(ACCESS_COST);
      return lookUp(expression.name, scope);
    case 'field': {
      const target = value(expression.target);
      meter.charge(ACCESS_COST);
      return field(target, expression.name);
    }
    case 'index': {
      const target = value(expression.target);
      const index = value(expression.index);
      meter.charge(ACCESS_COST);
      return element(target, index);
    }
    case 'has':
      return isPresent(() => value(expression.target));
    case 'list':
      meter.charge(LIST_COST);
      return expression.items.map(value);
    case 'unary': {
      const operand = value(expression.operand);
      meter.charge(1);
      return expression.operator === '!' ? !truth(operand) : -number(operand);
    }
    case 'logic':
      return expression.operator === '&&'
        ? expression.terms.every((term) => truth(value(term)))
        : expression.terms.some((term) => truth(value(term)));
    case 'ternary':
      return value(truth(value(expression.condition)) ? expression.yes : expression.no);
    case 'binary':
      return combined(expression, value(expression.left), value(expression.right), meter);
    case 'call': {
      const args = expression.args.map(value);
      const { callee } = expression;
      const sizes = args.map(sizeOf);
      meter.charge(Math.max(callee.cost(...sizes), callee.actualCost?.(...sizes) ?? 0));
      return callee.call(...args);
    }
    case 'macro':
      return repeated(expression, iterated(value(expression.range)), scope, meter);
  }
}

function lookUp(name: string, scope: CelScope): unknown {
  for (let at: CelScope | undefined = scope; at !== undefined; at = at.outer) {
    if (at.name === name) return at.value;
  }
  throw new CelError(`undeclared reference to "${name}"`);
}

function isPresent(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}

function combined(
  { operator, isDouble }: Extract<Expression, { kind: 'binary' }>,
  left: unknown,
  right: unknown,
  meter: Meter,
): unknown {
  const visited = (): void => meter.charge(1);
  switch (operator) {
    case '==':
    case '!=':
      meter.charge(traversal(Math.min(textSize(left), textSize(right))));
      return sameValue(left, right, visited) === (operator === '==');
    case 'in':
      meter.charge(1);
      return contains(right, left, visited);
    case '+':
      meter.charge(Math.max(1, traversal(sizeOf(left) + sizeOf(right))));
      return sum(left, right);
    default:
      meter.charge(Math.max(1, traversal(Math.min(textSize(left), textSize(right)))));
      return isDouble && operator === '/' ? number(left) / number(right) : arithmetic(operator, left, right);
  }
}

function textSize(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

function repeated(
  { macro, variable, body }: Extract<Expression, { kind: 'macro' }>,
  values: readonly unknown[],
  outer: CelScope,
  meter: Meter,
): unknown {
  meter.charge(MACRO_COST[macro]);
  const on = (value: unknown): unknown => {
    meter.charge(ITERATION_COST[macro]);
    return evaluateCel(body, { name: variable, value, outer }, meter);
  };
  switch (macro) {
    case 'all':
      return values.every((each) => truth(on(each)));
    case 'exists':
      return values.some((each) => truth(on(each)));
    case 'exists_one':
      return values.filter((each) => truth(on(each))).length === 1;
    case 'filter':
      return values.filter((each) => truth(on(each)));
    case 'map':
      return values.map(on);
  }
}

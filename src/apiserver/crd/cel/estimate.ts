// Estimates the maximum cost of a rule over all values that its schema allows, as cel-go does, without evaluating it.

import { ACCESS_COST, ITERATION_COST, LIST_COST, MACRO_COST } from './evaluate.ts';
import { traversal } from './functions.ts';
import { ANY, MAP_KEY, SCALAR, type Shape, stringShape } from './shape.ts';
import type { Expression } from './syntax.ts';

interface Estimate {
  readonly cost: number;
  readonly shape: Shape;
}

type Shapes = ReadonlyMap<string, Shape>;

/** `self` is the value that the rule is evaluated on. */
export function estimateCost(expression: Expression, self: Shape): number {
  const shapes = new Map([
    ['self', self],
    ['oldSelf', self],
  ]);
  return estimate(expression, shapes).cost;
}

function estimate(expression: Expression, shapes: Shapes): Estimate {
  const of = (each: Expression): Estimate => estimate(each, shapes);
  switch (expression.kind) {
    case 'constant': {
      const { value } = expression;
      return { cost: 0, shape: typeof value === 'string' ? stringShape([...value].length) : ONE };
    }
    case 'name':
      return { cost: ACCESS_COST, shape: shapes.get(expression.name) ?? ANY };
    case 'field': {
      const { cost, shape } = of(expression.target);
      const below = shape.fields?.get(expression.name) ?? shape.element ?? ANY;
      return { cost: cost + ACCESS_COST, shape: below };
    }
    case 'index': {
      const [target, index] = [of(expression.target), of(expression.index)];
      return { cost: target.cost + index.cost + ACCESS_COST, shape: target.shape.element ?? ANY };
    }
    case 'has':
      // In a presence test neither the last field nor the variable counts.
      return { cost: Math.max(0, of(expression.target).cost - 2 * ACCESS_COST), shape: ONE };
    case 'list': {
      const items = expression.items.map(of);
      const element = items.map(({ shape }) => shape).reduce(larger, SCALAR);
      const cost = total(items) + LIST_COST;
      return { cost, shape: { kind: 'list', size: items.length, minBytes: 2, element } };
    }
    case 'unary':
      return { cost: of(expression.operand).cost + 1, shape: ONE };
    case 'logic':
      return { cost: total(expression.terms.map(of)), shape: ONE };
    case 'ternary': {
      const [yes, no] = [of(expression.yes), of(expression.no)];
      return {
        cost: of(expression.condition).cost + Math.max(yes.cost, no.cost),
        shape: larger(yes.shape, no.shape),
      };
    }
    case 'binary':
      return combined(expression.operator, of(expression.left), of(expression.right));
    case 'call': {
      const args = expression.args.map(of);
      const sizes = args.map(({ shape }) => shape.size);
      const { callee, name } = expression;
      const cost = total(args) + callee.cost(...sizes);
      if (name === 'dyn') return { cost, shape: ANY };
      if (!callee.resultSize) return { cost, shape: ONE };
      // cel-go bounds the text of a value of unknown type, but not of a number.
      const isOfUnknown = name === 'string' && args[0]?.shape.kind === 'any';
      const text = stringShape(isOfUnknown ? (sizes[0] ?? 0) : callee.resultSize(...sizes));
      if (name !== 'split') return { cost, shape: text };
      return { cost, shape: { kind: 'list', size: text.size, minBytes: 2, element: text } };
    }
    case 'macro':
      return repeated(expression, of(expression.range), shapes);
  }
}

/** The result of an operator or function without elements. */
const ONE: Shape = { ...SCALAR, size: 1 };

const total = (estimates: readonly Estimate[]): number => estimates.reduce((sum, { cost }) => sum + cost, 0);

function larger(left: Shape, right: Shape): Shape {
  return right.size > left.size ? right : left;
}

function combined(operator: string, left: Estimate, right: Estimate): Estimate {
  const cost = left.cost + right.cost;
  const [a, b] = [left.shape, right.shape];
  switch (operator) {
    case '==':
    case '!=':
      return { cost: cost + traversal(Math.min(a.size, b.size)), shape: ONE };
    case 'in':
      return { cost: cost + (b.kind === 'list' || b.kind === 'any' ? b.size : 1), shape: ONE };
    case '+': {
      const size = a.size + b.size;
      if (a.kind === 'list' || b.kind === 'list') {
        return { cost: cost + 1, shape: { ...larger(a, b), kind: 'list', size } };
      }
      const isText = a.kind === 'string' || b.kind === 'string';
      return isText
        ? { cost: cost + traversal(size), shape: stringShape(size) }
        : { cost: cost + 1, shape: ONE };
    }
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const isText = a.kind === 'string' && b.kind === 'string';
      return { cost: cost + (isText ? traversal(Math.min(a.size, b.size)) : 1), shape: ONE };
    }
    default:
      return { cost: cost + 1, shape: ONE };
  }
}

function repeated(
  { macro, variable, body }: Extract<Expression, { kind: 'macro' }>,
  range: Estimate,
  shapes: Shapes,
): Estimate {
  const { kind, element = ANY, fields, size } = range.shape;
  const count = kind === 'object' ? (fields?.size ?? 0) : size;
  const each = kind === 'map' || kind === 'object' ? MAP_KEY : element;
  const inner = estimate(body, new Map(shapes).set(variable, each));
  const cost = range.cost + MACRO_COST[macro] + count * (inner.cost + ITERATION_COST[macro]);
  if (macro === 'filter') return { cost, shape: { kind: 'list', size: count, minBytes: 2, element: each } };
  if (macro === 'map')
    return { cost, shape: { kind: 'list', size: count, minBytes: 2, element: inner.shape } };
  return { cost, shape: ONE };
}

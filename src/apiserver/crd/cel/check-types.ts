// Checks the types of a rule against the schema, as cel-go's checker does: fields that do not exist, operators and
// functions without an overload for their operands. Says what and where, in cel-go's words. Marks operators on doubles in
// the expression.

import { getOwn } from '../../../api/own-property.ts';
import type { Expression } from './syntax.ts';
import { BOOL, type CelType, common, DYN, INT, nameOf, STRING } from './types.ts';

export interface Checked {
  readonly type: CelType;
  /** Empty where the rule compiles. */
  readonly problems: string;
}

/** `self` is also the type of `oldSelf`. */
export function checkTypes(text: string, expression: Expression, self: CelType): Checked {
  const checker = new Checker();
  const scope = new Map([
    ['self', self],
    ['oldSelf', self],
  ]);
  const type = checker.typeOf(expression, scope);
  const lines = text.split('\n');
  const problems = checker.errors.map(({ at, message }) => located(lines, at, message));
  return { type, problems: problems.join('\n') };
}

function located(lines: readonly string[], at: number, message: string): string {
  let column = at;
  let row = 0;
  while (row < lines.length - 1 && column > (lines[row] as string).length) {
    column -= (lines[row] as string).length + 1;
    row++;
  }
  return `ERROR: <input>:${row + 1}:${column + 1}: ${message}\n | ${lines[row]}\n | ${'.'.repeat(column)}^`;
}

type Scope = ReadonlyMap<string, CelType>;
type OfKind<K extends Expression['kind']> = Extract<Expression, { kind: K }>;

const NUMBERS: readonly string[] = ['int', 'double'];
const ORDERED: readonly string[] = [...NUMBERS, 'bool', 'string', 'bytes', 'timestamp', 'duration'];

/** Kinds of the arguments, and the result. Less than cel-go has: what the evaluator does not do is rejected here. */
const CALLS: Readonly<Record<string, { args: readonly (readonly string[])[]; result: CelType }>> = {
  size: { args: [['string', 'list', 'map']], result: INT },
  string: { args: [[...NUMBERS, 'bool', 'string', 'timestamp', 'duration']], result: STRING },
  dyn: { args: [], result: DYN },
  int: { args: [[...NUMBERS, 'string']], result: INT },
  double: { args: [[...NUMBERS, 'string']], result: { kind: 'double' } },
  startsWith: { args: [['string'], ['string']], result: BOOL },
  endsWith: { args: [['string'], ['string']], result: BOOL },
  contains: { args: [['string'], ['string']], result: BOOL },
  matches: { args: [['string'], ['string']], result: BOOL },
  lowerAscii: { args: [['string']], result: STRING },
  upperAscii: { args: [['string']], result: STRING },
  trim: { args: [['string']], result: STRING },
  split: { args: [['string'], ['string']], result: { kind: 'list', element: STRING } },
};

/** After an error the type is `dyn`, so that one mistake is reported once. */
class Checker {
  readonly errors: { at: number; message: string }[] = [];

  typeOf(expression: Expression, scope: Scope): CelType {
    const of = (each: Expression): CelType => this.typeOf(each, scope);
    switch (expression.kind) {
      case 'constant':
        return { kind: expression.type };
      case 'name': {
        const type = scope.get(expression.name);
        return (
          type ?? this.#fail(expression.at, `undeclared reference to '${expression.name}' (in container '')`)
        );
      }
      case 'field':
        return this.#field(expression, of(expression.target));
      case 'index':
        return this.#index(expression, of(expression.target), of(expression.index));
      case 'has':
        of(expression.target);
        return BOOL;
      case 'list':
        return this.#list(expression, expression.items.map(of));
      case 'unary':
        return this.#unary(expression, of(expression.operand));
      case 'logic':
        for (const term of expression.terms) this.#expectBool(term, of(term));
        return BOOL;
      case 'ternary': {
        const [condition, yes, no] = [of(expression.condition), of(expression.yes), of(expression.no)];
        const result = isOf(condition, ['bool']) ? common(yes, no) : undefined;
        return result ?? this.#noOverload(expression.at, '_?_:_', [condition, yes, no]);
      }
      case 'binary':
        return this.#binary(expression, of(expression.left), of(expression.right));
      case 'call': {
        const types = expression.args.map(of);
        const { args, result } = getOwn(CALLS, expression.name) ?? { args: [], result: DYN };
        if (args.every((kinds, at) => isOf(types[at] ?? DYN, kinds))) return result;
        return this.#noOverload(expression.at, expression.name, types, isMethod(expression));
      }
      case 'macro':
        return this.#macro(expression, of(expression.range), scope);
    }
  }

  #field({ at, name }: OfKind<'field'>, target: CelType): CelType {
    switch (target.kind) {
      case 'dyn':
        return DYN;
      case 'map':
        return target.element;
      case 'object':
        return target.fields.get(name) ?? this.#fail(at, `undefined field '${name}'`);
      default:
        return this.#fail(at, `type '${nameOf(target)}' does not support field selection`);
    }
  }

  #index({ at }: OfKind<'index'>, target: CelType, index: CelType): CelType {
    if (target.kind === 'dyn') return DYN;
    if (target.kind === 'list' && isOf(index, ['int'])) return target.element;
    if (target.kind === 'map' && isOf(index, ['string'])) return target.element;
    return this.#noOverload(at, '_[_]', [target, index]);
  }

  #list({ items }: OfKind<'list'>, types: readonly CelType[]): CelType {
    let element: CelType = types[0] ?? DYN;
    for (const [index, type] of types.entries()) {
      const both = common(element, type);
      if (both) element = both;
      else {
        const at = items[index]?.at ?? 0;
        this.#fail(at, `expected type '${nameOf(element)}' but found '${nameOf(type)}'`);
      }
    }
    return { kind: 'list', element };
  }

  #unary({ at, operator }: OfKind<'unary'>, operand: CelType): CelType {
    if (operator === '!') return isOf(operand, ['bool']) ? BOOL : this.#noOverload(at, '!_', [operand]);
    return isOf(operand, NUMBERS) ? operand : this.#noOverload(at, '-_', [operand]);
  }

  #binary(expression: OfKind<'binary'>, left: CelType, right: CelType): CelType {
    const { at, operator } = expression;
    if (left.kind === 'double' || right.kind === 'double') expression.isDouble = true;
    return resultOf(operator, left, right) ?? this.#noOverload(at, nameOfOperator(operator), [left, right]);
  }

  #macro({ macro, range, variable, body }: OfKind<'macro'>, type: CelType, scope: Scope): CelType {
    const element = type.kind === 'list' ? type.element : type.kind === 'map' ? STRING : DYN;
    if (!isOf(type, ['list', 'map'])) {
      this.#fail(
        range.at,
        `expression of type '${nameOf(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      );
    }
    const result = this.typeOf(body, new Map(scope).set(variable, element));
    if (macro === 'map') return { kind: 'list', element: result };
    this.#expectBool(body, result);
    return macro === 'filter' ? { kind: 'list', element } : BOOL;
  }

  #expectBool({ at }: Expression, type: CelType): void {
    if (!isOf(type, ['bool'])) this.#fail(at, `expected type 'bool' but found '${nameOf(type)}'`);
  }

  #noOverload(at: number, name: string, types: readonly CelType[], isMethodCall = false): CelType {
    const names = types.map(nameOf);
    const applied = isMethodCall ? `${names[0]}.(${names.slice(1).join(', ')})` : `(${names.join(', ')})`;
    return this.#fail(at, `found no matching overload for '${name}' applied to '${applied}'`);
  }

  #fail(at: number, message: string): CelType {
    this.errors.push({ at, message });
    return DYN;
  }
}

const isOf = ({ kind }: CelType, kinds: readonly string[]): boolean => kind === 'dyn' || kinds.includes(kind);

/** A method's call opens its parenthesis after its target; a function's before its argument. */
const isMethod = ({ at, args }: OfKind<'call'>): boolean => (args[0]?.at ?? 0) < at;

const nameOfOperator = (operator: string): string => (operator === 'in' ? '@in' : `_${operator}_`);

function resultOf(operator: string, left: CelType, right: CelType): CelType | undefined {
  switch (operator) {
    case '==':
    case '!=':
      return common(left, right) && BOOL;
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const areNumbers = isOf(left, NUMBERS) && isOf(right, NUMBERS);
      return (areNumbers || common(left, right)) && isOf(left, ORDERED) && isOf(right, ORDERED)
        ? BOOL
        : undefined;
    }
    case 'in': {
      if (right.kind === 'dyn') return BOOL;
      const member = right.kind === 'list' ? right.element : right.kind === 'map' ? STRING : undefined;
      return member && common(left, member) && BOOL;
    }
    case '+':
      return joined(left, right, [...NUMBERS, 'string', 'list']);
    case '-':
      return joined(left, right, NUMBERS);
    case '%':
      return joined(left, right, ['int']);
    default:
      return joined(left, right, NUMBERS);
  }
}

function joined(left: CelType, right: CelType, kinds: readonly string[]): CelType | undefined {
  return isOf(left, kinds) && isOf(right, kinds) ? common(left, right) : undefined;
}

// The part of the CEL language that validation rules of CRDs use: literals, `self` and `oldSelf`, fields, indexes,
// operators, `has`, `size`, `type`-free string functions, and the macros all, exists, exists_one, filter and map.
// A rule that uses more does not compile, and the CRD is refused: no rule is ever skipped in silence.

import { getOwn } from '../../api/own-property.ts';
import {
  arithmetic,
  CelError,
  CONVERSIONS,
  contains,
  element,
  field,
  iterated,
  METHODS,
  number,
  sameValue,
  sum,
  truth,
} from './cel-values.ts';

export { CelError };

type Scope = Readonly<Record<string, unknown>>;
type Expression = (scope: Scope) => unknown;

export interface CelRule {
  /** Throws a CelError when the rule cannot be evaluated on these values. */
  evaluate(scope: { self: unknown; oldSelf?: unknown }): unknown;
  /** Rules that compare with the previous value apply to updates only. */
  readonly usesOldSelf: boolean;
}

const TOKEN =
  /\s*(?:(\d+\.\d+|\d+)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|([A-Za-z_][A-Za-z0-9_]*)|(==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]))/y;

interface Token {
  kind: 'number' | 'string' | 'name' | 'symbol' | 'end';
  text: string;
}

export function compileCel(rule: string): CelRule {
  const parser = new Parser(tokenize(rule));
  const expression = parser.parse();
  return {
    evaluate: (scope) => expression(scope as Scope),
    usesOldSelf: /\boldSelf\b/.test(rule),
  };
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new CelError(`unexpected text at ${at}: ${text.slice(at, at + 10)}`);
    const [, number, string, name, symbol = ''] = match;
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (string !== undefined) tokens.push({ kind: 'string', text: unquoted(string) });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name });
    else tokens.push({ kind: 'symbol', text: symbol });
  }
  return tokens;
}

function unquoted(text: string): string {
  const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r' };
  return text.slice(1, -1).replace(/\\(.)/g, (_, letter: string) => getOwn(escapes, letter) ?? letter);
}

/** CEL writes reserved words among field names as `__namespace__`. */
const fieldName = (name: string): string => /^__(.+)__$/.exec(name)?.[1] ?? name;

const BINARY: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];
const MACROS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    const expression = this.#ternary();
    if (this.#peek().kind !== 'end') throw new CelError(`unexpected "${this.#peek().text}"`);
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: 'end of the rule' };
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #accept(symbol: string): boolean {
    if (this.#peek().text !== symbol || this.#peek().kind === 'string') return false;
    this.#at++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw new CelError(`expected "${symbol}", found "${this.#peek().text}"`);
  }

  #ternary(): Expression {
    const condition = this.#binary(0);
    if (!this.#accept('?')) return condition;
    const yes = this.#ternary();
    this.#expect(':');
    const no = this.#ternary();
    return (scope) => (truth(condition(scope)) ? yes(scope) : no(scope));
  }

  #binary(level: number): Expression {
    const operators = BINARY[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    while (operators.includes(this.#peek().text) && this.#peek().kind !== 'string') {
      const operator = this.#take().text;
      const [before, right] = [left, this.#binary(level + 1)];
      left = combined(operator, before, right);
    }
    return left;
  }

  #unary(): Expression {
    if (this.#accept('!')) {
      const operand = this.#unary();
      return (scope) => !truth(operand(scope));
    }
    if (this.#accept('-')) {
      const operand = this.#unary();
      return (scope) => -number(operand(scope));
    }
    return this.#postfix(this.#primary());
  }

  #postfix(start: Expression): Expression {
    let expression = start;
    for (;;) {
      const target = expression;
      if (this.#accept('.')) {
        const { kind, text } = this.#take();
        if (kind !== 'name') throw new CelError(`expected a field, found "${text}"`);
        expression = this.#accept('(')
          ? this.#method(target, text)
          : (scope) => field(target(scope), fieldName(text));
      } else if (this.#accept('[')) {
        const index = this.#ternary();
        this.#expect(']');
        expression = (scope) => element(target(scope), index(scope));
      } else return expression;
    }
  }

  #primary(): Expression {
    const token = this.#take();
    if (token.kind === 'number') return constant(Number(token.text));
    if (token.kind === 'string') return constant(token.text);
    if (token.text === '(') {
      const inner = this.#ternary();
      this.#expect(')');
      return inner;
    }
    if (token.text === '[') {
      const items = this.#arguments(']');
      return (scope) => items.map((item) => item(scope));
    }
    if (token.kind === 'name') return this.#name(token.text);
    throw new CelError(`unexpected "${token.text}"`);
  }

  #name(name: string): Expression {
    if (name === 'true' || name === 'false') return constant(name === 'true');
    if (name === 'null') return constant(null);
    if (!this.#accept('(')) {
      return (scope) => {
        if (!Object.hasOwn(scope, name)) throw new CelError(`undeclared reference to "${name}"`);
        return scope[name];
      };
    }
    if (name === 'has') {
      const target = this.#ternary();
      this.#expect(')');
      return (scope) => isPresent(target, scope);
    }
    const [argument, ...rest] = this.#arguments(')');
    const convert = getOwn(CONVERSIONS, name);
    if (!convert || !argument || rest.length > 0) throw new CelError(`unknown function "${name}"`);
    return (scope) => convert(argument(scope));
  }

  #method(target: Expression, name: string): Expression {
    if (MACROS.has(name)) return this.#macro(target, name);
    const method = getOwn(METHODS, name);
    if (!method) throw new CelError(`unknown function "${name}"`);
    const args = this.#arguments(')');
    return (scope) => method(target(scope), ...args.map((argument) => argument(scope)));
  }

  #macro(target: Expression, name: string): Expression {
    const variable = this.#take();
    if (variable.kind !== 'name') throw new CelError(`expected a variable, found "${variable.text}"`);
    this.#expect(',');
    const body = this.#ternary();
    this.#expect(')');
    return (scope) => {
      const on = (value: unknown): unknown => body({ ...scope, [variable.text]: value });
      const values = iterated(target(scope));
      if (name === 'all') return values.every((value) => truth(on(value)));
      if (name === 'exists') return values.some((value) => truth(on(value)));
      if (name === 'exists_one') return values.filter((value) => truth(on(value))).length === 1;
      return name === 'filter' ? values.filter((value) => truth(on(value))) : values.map(on);
    };
  }

  #arguments(close: string): Expression[] {
    const list: Expression[] = [];
    if (this.#accept(close)) return list;
    do list.push(this.#ternary());
    while (this.#accept(','));
    this.#expect(close);
    return list;
  }
}

const constant =
  (value: unknown): Expression =>
  () =>
    value;

function combined(operator: string, left: Expression, right: Expression): Expression {
  switch (operator) {
    case '&&':
      return (scope) => truth(left(scope)) && truth(right(scope));
    case '||':
      return (scope) => truth(left(scope)) || truth(right(scope));
    case '==':
      return (scope) => sameValue(left(scope), right(scope));
    case '!=':
      return (scope) => !sameValue(left(scope), right(scope));
    case 'in':
      return (scope) => contains(right(scope), left(scope));
    case '+':
      return (scope) => sum(left(scope), right(scope));
    default:
      return (scope) => arithmetic(operator, left(scope), right(scope));
  }
}

function isPresent(target: Expression, scope: Scope): boolean {
  try {
    target(scope);
    return true;
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}

// Parses the subset of CEL that validation rules of CRDs use: literals, `self` and `oldSelf`, fields, indexes,
// operators, `has`, functions on strings and lists, and the macros all, exists, exists_one, filter and map. A rule that
// uses more does not parse, and the CRD is rejected: no rule is ever skipped silently.

import { getOwn } from '../../../api/own-property.ts';
import { type CelFunction, constantMatch, FUNCTIONS, METHODS } from './functions.ts';
import { CelError, type Expression, type Macro } from './syntax.ts';

/** cel-go's limits: code points of an expression, and nesting depth. */
const MAX_LENGTH = 100_000;
const MAX_DEPTH = 250;

const TOKEN =
  /\s*(?:(\d+\.\d+|\d+)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|([A-Za-z_][A-Za-z0-9_]*)|(==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]))/y;

interface Token {
  kind: 'number' | 'string' | 'name' | 'symbol' | 'end';
  text: string;
}

/** Throws a CelError. */
export function parseCel(rule: string): Expression {
  if (rule.length > MAX_LENGTH) {
    throw new CelError(`expression code point size exceeds limit: size: ${rule.length}, limit ${MAX_LENGTH}`);
  }
  return new Parser(tokenize(rule)).parse();
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

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, (_, letter: string) => getOwn(ESCAPES, letter) ?? letter);
}

/** CEL escapes reserved words in field names as `__namespace__`. */
const fieldName = (name: string): string => /^__(.+)__$/.exec(name)?.[1] ?? name;

const BINARY: readonly (readonly string[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];
const MACROS: ReadonlySet<string> = new Set<Macro>(['all', 'exists', 'exists_one', 'filter', 'map']);

class Parser {
  readonly #tokens: Token[];
  #at = 0;
  #depth = 0;

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

  #sees(symbol: string): boolean {
    return this.#peek().text === symbol && this.#peek().kind !== 'string';
  }

  #accept(symbol: string): boolean {
    if (!this.#sees(symbol)) return false;
    this.#at++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#accept(symbol)) throw new CelError(`expected "${symbol}", found "${this.#peek().text}"`);
  }

  /** All nesting goes through here. */
  #ternary(): Expression {
    limitDepth(++this.#depth);
    const condition = this.#logic('||');
    if (!this.#accept('?')) {
      this.#depth--;
      return condition;
    }
    const yes = this.#ternary();
    this.#expect(':');
    const no = this.#ternary();
    this.#depth--;
    return { kind: 'ternary', condition, yes, no };
  }

  #logic(operator: '&&' | '||'): Expression {
    const next = (): Expression => (operator === '||' ? this.#logic('&&') : this.#binary(0));
    const first = next();
    if (!this.#sees(operator)) return first;
    const terms = [first];
    while (this.#accept(operator)) terms.push(next());
    return { kind: 'logic', operator, terms };
  }

  #binary(level: number): Expression {
    const operators = BINARY[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    for (let length = 1; operators.some((operator) => this.#sees(operator)); length++) {
      limitDepth(this.#depth + length);
      const operator = this.#take().text;
      left = { kind: 'binary', operator, left, right: this.#binary(level + 1) };
    }
    return left;
  }

  #unary(): Expression {
    const operators: ('!' | '-')[] = [];
    while (this.#sees('!') || this.#sees('-')) operators.push(this.#take().text as '!' | '-');
    limitDepth(this.#depth + operators.length);
    const operand = this.#postfix(this.#primary());
    return operators.reduceRight<Expression>((inner, operator) => negated(operator, inner), operand);
  }

  #postfix(start: Expression): Expression {
    let target = start;
    for (let length = 1; ; length++) {
      limitDepth(this.#depth + length);
      if (this.#accept('.')) {
        const { kind, text } = this.#take();
        if (kind !== 'name') throw new CelError(`expected a field, found "${text}"`);
        target = this.#accept('(')
          ? this.#method(target, text)
          : { kind: 'field', target, name: fieldName(text) };
      } else if (this.#accept('[')) {
        const index = this.#ternary();
        this.#expect(']');
        target = { kind: 'index', target, index };
      } else return target;
    }
  }

  #primary(): Expression {
    const token = this.#take();
    if (token.kind === 'number') return { kind: 'constant', value: Number(token.text) };
    if (token.kind === 'string') return { kind: 'constant', value: token.text };
    if (token.text === '(') {
      const inner = this.#ternary();
      this.#expect(')');
      return inner;
    }
    if (token.text === '[') return { kind: 'list', items: this.#arguments(']') };
    if (token.kind === 'name') return this.#name(token.text);
    throw new CelError(`unexpected "${token.text}"`);
  }

  #name(name: string): Expression {
    if (name === 'true' || name === 'false') return { kind: 'constant', value: name === 'true' };
    if (name === 'null') return { kind: 'constant', value: null };
    if (!this.#accept('(')) return { kind: 'name', name };
    if (name === 'has') {
      const target = this.#ternary();
      this.#expect(')');
      return { kind: 'has', target };
    }
    return called(name, getOwn(FUNCTIONS, name), this.#arguments(')'));
  }

  #method(target: Expression, name: string): Expression {
    if (MACROS.has(name)) return this.#macro(target, name as Macro);
    const args = this.#arguments(')');
    const [pattern] = args;
    const isConstant =
      name === 'matches' && pattern?.kind === 'constant' && typeof pattern.value === 'string';
    const method = isConstant ? constantMatch(String(pattern.value)) : getOwn(METHODS, name);
    return called(name, method, [target, ...args]);
  }

  #macro(range: Expression, macro: Macro): Expression {
    const variable = this.#take();
    if (variable.kind !== 'name') throw new CelError(`expected a variable, found "${variable.text}"`);
    this.#expect(',');
    const body = this.#ternary();
    this.#expect(')');
    return { kind: 'macro', macro, range, variable: variable.text, body };
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

function called(name: string, callee: CelFunction | undefined, args: Expression[]): Expression {
  if (callee === undefined || args.length !== callee.arity) throw new CelError(`unknown function "${name}"`);
  return { kind: 'call', name, callee, args };
}

function limitDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new CelError(`expression recursion limit exceeded: ${MAX_DEPTH}`);
}

function negated(operator: '!' | '-', operand: Expression): Expression {
  if (operator === '-' && operand.kind === 'constant' && typeof operand.value === 'number') {
    return { kind: 'constant', value: -operand.value };
  }
  return { kind: 'unary', operator, operand };
}

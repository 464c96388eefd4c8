// Parses the subset of CEL that validation rules of CRDs use: literals, `self` and `oldSelf`, fields, indexes,
// operators, `has`, functions on strings and lists, and the macros all, exists, exists_one, filter and map. A rule that
// uses more does not parse, and the CRD is rejected: no rule is ever skipped silently.

import { getOwn } from '../../../api/own-property.ts';
import { type CelFunction, constantMatch, FUNCTIONS, METHODS } from './functions.ts';
import { CelError, type Expression, type Macro, UnknownFunctionError } from './syntax.ts';

/** cel-go's limits: code points of an expression, and nesting depth. */
const MAX_LENGTH = 100_000;
const MAX_DEPTH = 250;

const TOKEN =
  /\s*(?:(\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+)|([rR]?(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|([A-Za-z_][A-Za-z0-9_]*)|(==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]))/y;

interface Token {
  kind: 'number' | 'string' | 'name' | 'symbol' | 'end';
  text: string;
  at: number;
}

/** Throws a CelError. */
export function parseCel(rule: string): Expression {
  if (rule.length > MAX_LENGTH) {
    throw new CelError(`expression code point size exceeds limit: size: ${rule.length}, limit ${MAX_LENGTH}`);
  }
  return new Parser(tokenize(rule), rule.length).parse();
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new CelError(`unexpected text at ${start}: ${text.slice(start, start + 10)}`);
    const [all, number, string, name, symbol = ''] = match;
    const at = TOKEN.lastIndex - all.trimStart().length;
    if (number !== undefined) tokens.push({ kind: 'number', text: number, at });
    else if (string !== undefined) tokens.push({ kind: 'string', text: unquoted(string), at });
    else if (name !== undefined) tokens.push({ kind: 'name', text: name, at });
    else tokens.push({ kind: 'symbol', text: symbol, at });
  }
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...Object.fromEntries([...'\\?"\'`'].map((sign) => [sign, sign])),
};

/** A raw text (`r'\d'`) has no escapes. */
function unquoted(text: string): string {
  if (/^r/i.test(text)) return text.slice(2, -1);
  return text
    .slice(1, -1)
    .replace(/\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))/gs, (all, byte, unit, sign) => {
      const code = byte ?? unit;
      const meant =
        code === undefined ? getOwn(ESCAPES, sign) : String.fromCharCode(Number.parseInt(code, 16));
      if (meant === undefined)
        throw new CelError(`invalid escape sequence ${all} in a text; write ${`\\${all}`}`);
      return meant;
    });
}

const RESERVED =
  /^__(as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true)__$/;
const ESCAPED_SIGNS: Readonly<Record<string, string>> = {
  underscores: '__',
  dot: '.',
  dash: '-',
  slash: '/',
};

/** A property's name from its form in a rule: `__namespace__`, `x__dash__y`. */
function fieldName(name: string): string {
  return (
    RESERVED.exec(name)?.[1] ??
    name.replace(
      /__(underscores|dot|dash|slash)__/g,
      (_, sign: string) => getOwn(ESCAPED_SIGNS, sign) as string,
    )
  );
}

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

  readonly #end: Token;

  constructor(tokens: Token[], length: number) {
    this.#tokens = tokens;
    this.#end = { kind: 'end', text: 'end of the rule', at: length };
  }

  parse(): Expression {
    const expression = this.#ternary();
    if (this.#peek().kind !== 'end') throw new CelError(`unexpected "${this.#peek().text}"`);
    return expression;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? this.#end;
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
    const { at } = this.#peek();
    if (!this.#accept('?')) {
      this.#depth--;
      return condition;
    }
    const yes = this.#ternary();
    this.#expect(':');
    const no = this.#ternary();
    this.#depth--;
    return { kind: 'ternary', condition, yes, no, at };
  }

  #logic(operator: '&&' | '||'): Expression {
    const next = (): Expression => (operator === '||' ? this.#logic('&&') : this.#binary(0));
    const first = next();
    if (!this.#sees(operator)) return first;
    const { at } = this.#peek();
    const terms = [first];
    while (this.#accept(operator)) terms.push(next());
    return { kind: 'logic', operator, terms, at };
  }

  #binary(level: number): Expression {
    const operators = BINARY[level];
    if (!operators) return this.#unary();
    let left = this.#binary(level + 1);
    for (let length = 1; operators.some((operator) => this.#sees(operator)); length++) {
      limitDepth(this.#depth + length);
      const { text: operator, at } = this.#take();
      left = { kind: 'binary', operator, left, right: this.#binary(level + 1), at };
    }
    return left;
  }

  #unary(): Expression {
    const operators: Token[] = [];
    while (this.#sees('!') || this.#sees('-')) operators.push(this.#take());
    limitDepth(this.#depth + operators.length);
    const operand = this.#postfix(this.#primary());
    return operators.reduceRight<Expression>((inner, operator) => negated(operator, inner), operand);
  }

  #postfix(start: Expression): Expression {
    let target = start;
    for (let length = 1; ; length++) {
      limitDepth(this.#depth + length);
      const { at } = this.#peek();
      if (this.#accept('.')) {
        const { kind, text } = this.#take();
        if (kind !== 'name') throw new CelError(`expected a field, found "${text}"`);
        const open = this.#peek().at;
        target = this.#accept('(')
          ? this.#method(target, text, open)
          : { kind: 'field', target, name: fieldName(text), at };
      } else if (this.#accept('[')) {
        const index = this.#ternary();
        this.#expect(']');
        target = { kind: 'index', target, index, at };
      } else return target;
    }
  }

  #primary(): Expression {
    const token = this.#take();
    const { at } = token;
    if (token.kind === 'number') {
      return {
        kind: 'constant',
        type: /[.eE]/.test(token.text) ? 'double' : 'int',
        value: Number(token.text),
        at,
      };
    }
    if (token.kind === 'string') return { kind: 'constant', type: 'string', value: token.text, at };
    if (token.text === '(') {
      const inner = this.#ternary();
      this.#expect(')');
      return inner;
    }
    if (token.text === '[') return { kind: 'list', items: this.#arguments(']'), at };
    if (token.kind === 'name') return this.#name(token.text, at);
    throw new CelError(`unexpected "${token.text}"`);
  }

  #name(name: string, at: number): Expression {
    if (name === 'true' || name === 'false') {
      return { kind: 'constant', type: 'bool', value: name === 'true', at };
    }
    if (name === 'null') return { kind: 'constant', type: 'null', value: null, at };
    const open = this.#peek().at;
    if (!this.#accept('(')) return { kind: 'name', name, at };
    if (name === 'has') {
      const target = this.#ternary();
      if (target.kind !== 'field') throw new CelError('invalid argument to has() macro');
      this.#expect(')');
      return { kind: 'has', target: { ...target, at: open }, at: open };
    }
    return called(name, getOwn(FUNCTIONS, name), this.#arguments(')'), open);
  }

  #method(target: Expression, name: string, at: number): Expression {
    if (MACROS.has(name)) return this.#macro(target, name as Macro, at);
    const args = this.#arguments(')');
    const [pattern] = args;
    const isConstant =
      name === 'matches' && pattern?.kind === 'constant' && typeof pattern.value === 'string';
    const method = isConstant ? constantMatch(String(pattern.value)) : getOwn(METHODS, name);
    return called(name, method, [target, ...args], at);
  }

  #macro(range: Expression, macro: Macro, at: number): Expression {
    const variable = this.#take();
    if (variable.kind !== 'name') throw new CelError(`expected a variable, found "${variable.text}"`);
    this.#expect(',');
    const body = this.#ternary();
    this.#expect(')');
    return { kind: 'macro', macro, range, variable: variable.text, body, at };
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

function called(name: string, callee: CelFunction | undefined, args: Expression[], at: number): Expression {
  if (callee === undefined || args.length !== callee.arity) throw new UnknownFunctionError(name);
  return { kind: 'call', name, callee, args, at };
}

function limitDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new CelError(`expression recursion limit exceeded: ${MAX_DEPTH}`);
}

function negated({ text, at }: Token, operand: Expression): Expression {
  if (text === '-' && operand.kind === 'constant' && (operand.type === 'int' || operand.type === 'double')) {
    return { ...operand, value: -operand.value, at };
  }
  return { kind: 'unary', operator: text as '!' | '-', operand, at };
}

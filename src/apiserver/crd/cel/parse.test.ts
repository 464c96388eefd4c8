// How rules are read: rows of a rule and its tree, and of texts that are no rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCel } from './parse.ts';
import { CelError, type Expression, UnknownFunctionError } from './syntax.ts';

/** The tree as text: operators first, in parentheses; constants with their type. */
function shown(tree: Expression): string {
  const form = (...parts: (string | Expression)[]): string =>
    `(${parts.map((part) => (typeof part === 'string' ? part : shown(part))).join(' ')})`;
  switch (tree.kind) {
    case 'constant':
      return `${tree.type}:${JSON.stringify(tree.value)}`;
    case 'name':
      return tree.name;
    case 'field':
      return form('.', tree.target, tree.name);
    case 'index':
      return form('[]', tree.target, tree.index);
    case 'has':
      return form('has', tree.target);
    case 'list':
      return form('list', ...tree.items);
    case 'unary':
      return form(tree.operator, tree.operand);
    case 'binary':
      return form(tree.operator, tree.left, tree.right);
    case 'logic':
      return form(tree.operator, ...tree.terms);
    case 'ternary':
      return form('?:', tree.condition, tree.yes, tree.no);
    case 'call':
      return form(`${tree.name}()`, ...tree.args);
    case 'macro':
      return form(tree.macro, tree.range, tree.variable, tree.body);
  }
}

const trees: [rule: string, tree: string][] = [
  ['1', 'int:1'],
  ['1.5', 'double:1.5'],
  ['1e3', 'double:1000'],
  ['2E-1', 'double:0.2'],
  ['1.5e+2', 'double:150'],
  ['true', 'bool:true'],
  ['false', 'bool:false'],
  ['null', 'null:null'],
  ["'a\"b'", String.raw`string:"a\"b"`],
  [String.raw`'\n\t\\\'\"\?\x41\u00e4'`, String.raw`string:"\n\t\\'\"?Aä"`],
  [String.raw`r'\d'`, String.raw`string:"\\d"`],
  [String.raw`R"\n"`, String.raw`string:"\\n"`],
  // A sign before a number is part of it; before anything else, and `!` before anything, it is an operator.
  ['-1', 'int:-1'],
  ['-1.5', 'double:-1.5'],
  ['--1', 'int:1'],
  ['!1', '(! int:1)'],
  ['!1.5', '(! double:1.5)'],
  ["-'a'", '(- string:"a")'],
  ['-true', '(- bool:true)'],
  ['-null', '(- null:null)'],
  ['-self', '(- self)'],
  ['-(1 + 2)', '(- (+ int:1 int:2))'],
  ['!!self', '(! (! self))'],
  ['!-self', '(! (- self))'],
  ['-self.a', '(- (. self a))'],
  ['1 - -2', '(- int:1 int:-2)'],
  // Precedence, and left to right.
  ['1 + 2 * 3', '(+ int:1 (* int:2 int:3))'],
  ['1 * 2 + 3', '(+ (* int:1 int:2) int:3)'],
  ['(1 + 2) * 3', '(* (+ int:1 int:2) int:3)'],
  ['1 - 2 - 3', '(- (- int:1 int:2) int:3)'],
  ['8 / 4 % 2', '(% (/ int:8 int:4) int:2)'],
  ['a + 1 < b - 1', '(< (+ a int:1) (- b int:1))'],
  ['a <= b == c', '(== (<= a b) c)'],
  ['a in b', '(in a b)'],
  ['a > b || c >= d && e != f', '(|| (> a b) (&& (>= c d) (!= e f)))'],
  ['a && b && c || d || e', '(|| (&& a b c) d e)'],
  ['a && (b && c)', '(&& a (&& b c))'],
  ['a ? b : c ? d : e', '(?: a b (?: c d e))'],
  ['a || b ? c : d', '(?: (|| a b) c d)'],
  // A text is never an operator.
  ["['-', '!']", '(list string:"-" string:"!")'],
  ['[]', '(list)'],
  ['[1, a]', '(list int:1 a)'],
  ['a[0][b]', '([] ([] a int:0) b)'],
  ["a['b'].c", '(. ([] a string:"b") c)'],
  ['has(a.b.c)', '(has (. (. a b) c))'],
  ['size(a)', '(size() a)'],
  ['a.size()', '(size() a)'],
  ["a.matches('x')", '(matches() a string:"x")'],
  ['a.matches(b)', '(matches() a b)'],
  ['a.all(x, x > 1).b', '(. (all a x (> x int:1)) b)'],
  ['a.exists_one(x, x)', '(exists_one a x x)'],
  ['a.all', '(. a all)'],
  ['a.__in__', '(. a in)'],
  ['a.x__in__', '(. a x__in__)'],
  ['a.__foo__', '(. a __foo__)'],
  ['a.b__dot__c__dash__d__slash__e__underscores__f', '(. a b.c-d/e__f)'],
  [' \n a\t', 'a'],
];
for (const [rule, tree] of trees)
  test(`${rule} is read as ${tree}`, () => assert.equal(shown(parseCel(rule)), tree));

const wrong: [rule: string, problem: RegExp][] = [
  ['', /unexpected "end of the rule"/],
  ['a b', /unexpected "b"/],
  ['a +', /unexpected "end of the rule"/],
  ['a ? b', /expected ":", found "end of the rule"/],
  ['(a', /expected "\)", found "end of the rule"/],
  ['a[0', /expected "\]"/],
  ['[a', /expected "\]"/],
  ['a.1', /expected a field, found "1"/],
  ["a.'b'", /expected a field, found "b"/],
  ['has(a)', /invalid argument to has\(\) macro/],
  ['has(a.b', /expected "\)"/],
  ['a.all(1, x)', /expected a variable, found "1"/],
  ['a.all(x)', /expected ",", found "\)"/],
  ['a.all(x, y', /expected "\)"/],
  ['a # b', /unexpected text at 1: {2}# b/],
  [String.raw`'\d'`, /invalid escape sequence \\d in a text; write \\\\d/],
  ["a.matches('(')", /invalid matches argument/],
];
for (const [rule, problem] of wrong) {
  test(`${rule || 'nothing'} is no rule`, () =>
    assert.throws(
      () => parseCel(rule),
      (error) => error instanceof CelError && problem.test(error.message),
    ));
}

for (const rule of [
  'foo(a)',
  'a.foo()',
  'size()',
  'size(a, b)',
  'a.size(b)',
  'toString(a)',
  'a.toString()',
]) {
  test(`${rule} calls a function that is not there, or with other arguments`, () =>
    assert.throws(() => parseCel(rule), UnknownFunctionError));
}

const nested: [what: string, rule: (depth: number) => string, most: number][] = [
  ['parentheses', (depth) => `${'('.repeat(depth)}a${')'.repeat(depth)}`, 248],
  ['operators', (depth) => `a${' + a'.repeat(depth)}`, 249],
  ['signs', (depth) => `${'!'.repeat(depth)}a`, 249],
  ['fields', (depth) => `a${'.a'.repeat(depth)}`, 248],
  ['choices', (depth) => `${'a ? b : '.repeat(depth)}c`, 248],
];
for (const [what, rule, most] of nested) {
  test(`${what} may be nested ${most} deep`, () => {
    parseCel(rule(most));
    assert.throws(() => parseCel(rule(most + 1)), /expression recursion limit exceeded: 250/);
  });
}

test('nesting that is over does not count, and chains of && and || are flat', () => {
  parseCel(Array.from({ length: 400 }, () => '(a ? (b) : [c][0])').join(' && '));
  parseCel(Array.from({ length: 400 }, () => 'has(a.b)').join(' || '));
});

test('a rule may have 100,000 characters', () => {
  const rule = 'a'.padEnd(100_000);
  assert.equal(shown(parseCel(rule)), 'a');
  assert.throws(() => parseCel(`${rule} `), /exceeds limit: size: 100001, limit 100000/);
});

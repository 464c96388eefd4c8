// Rules on values, as rows of a rule, its result and its cost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelCostError, evaluateCel, Meter } from './evaluate.ts';
import { parseCel } from './parse.ts';
import { CelError } from './syntax.ts';

class CountingMeter extends Meter {
  total = 0;

  override charge(cost: number): void {
    this.total += cost;
    super.charge(cost);
  }
}

const self = {
  n: 5,
  s: 'some text of 26 characters',
  b: true,
  l: ['a', 'b', 'c'],
  m: { x: 1, y: 2 },
};

function evaluated(rule: string): [value: unknown, cost: number] {
  const meter = new CountingMeter();
  const value = evaluateCel(parseCel(rule), { name: 'self', value: self, outer: undefined }, meter);
  return [value, meter.total];
}

const rows: [rule: string, value: unknown, cost: number][] = [
  ['1', 1, 0],
  ['self.n', 5, 2],
  ['self.l[1]', 'b', 3],
  ["self.m['y']", 2, 3],
  ['[1, self.n]', [1, 5], 12],
  ['!self.b', false, 3],
  ['-self.n', -5, 3],
  ['has(self.n)', true, 2],
  ['has(self.q)', false, 2],
  // What the value of the left operand decides is not evaluated further.
  ['self.b && self.b', true, 4],
  ['!self.b && self.b', false, 3],
  ['self.b || self.b', true, 2],
  ['!self.b || self.b', true, 5],
  ['!self.b || !self.b', false, 6],
  ['self.b ? 1 : self.n', 1, 2],
  ['!self.b ? 1 : self.n', 5, 5],
  // A comparison costs by the shorter text, and by the pairs that it compares.
  ['self.n == 5', true, 3],
  ['self.n != 5', false, 3],
  ['self.n == 6', false, 3],
  ['self.n != 6', true, 3],
  ["self.s == 'x'", false, 4],
  ['self.s == self.s', true, 8],
  ["'b' in self.l", true, 5],
  ["'x' in self.m", true, 3],
  ["'q' in self.m", false, 3],
  ['self.n + 1', 6, 3],
  ["self.s + ''", self.s, 5],
  ["'ab' + 'cd'", 'abcd', 1],
  ['self.n - 1', 4, 3],
  ['self.n > 4', true, 3],
  ['self.s < self.s', false, 7],
  ["self.s < 't'", true, 3],
  ['size(self.s)', 26, 5],
  ['self.l.size()', 3, 3],
  ['string(self.n)', '5', 3],
  ["int('7') + 0", 7, 2],
  ["double('1.5')", 1.5, 1],
  ['int(1.9)', 1, 1],
  ['int(-1.9)', -1, 1],
  ["self.s.startsWith('some')", true, 3],
  ["self.s.endsWith('some')", false, 3],
  ["self.s.contains('text')", true, 5],
  ["' Ab '.trim()", 'Ab', 1],
  ["'Ab'.lowerAscii()", 'ab', 1],
  ["'Ab'.upperAscii()", 'AB', 1],
  ["'a,b'.split(',')", ['a', 'b'], 1],
  ["'aab'.matches('^a+b$')", true, 2],
  ["self.l.all(x, x != 'z')", true, 21],
  ["self.l.all(x, x != 'a')", false, 9],
  ["self.l.exists(x, x == 'a')", true, 10],
  ["self.l.exists(x, x == 'z')", false, 24],
  ["self.l.exists_one(x, x == 'b')", true, 19],
  ["self.l.exists_one(x, x != 'b')", false, 19],
  ["self.l.exists_one(x, x == 'z')", false, 19],
  ["self.l.filter(x, x != 'b')", ['a', 'c'], 61],
  ["self.l.map(x, x + '!')", ['a!', 'b!', 'c!'], 55],
  ['self.m.map(k, self.m[k])', [1, 2], 45],
  // The innermost variable of a name counts.
  ['[1].map(x, [2].map(x, x))', [[2]], 67],
  ['[1].map(x, [2].map(y, x + y))', [[3]], 69],
];
for (const [rule, value, cost] of rows) {
  test(`${rule} is ${JSON.stringify(value)} and costs ${cost}`, () =>
    assert.deepEqual(evaluated(rule), [value, cost]));
}

const errors: [rule: string, problem: RegExp][] = [
  ['self.q', /no such key: q/],
  ['other', /undeclared reference to "other"/],
  ['[1].map(x, x)[0] + x', /undeclared reference to "x"/],
  ['!self.n', /expected a truth value/],
  ['-self.s', /expected a number/],
  ["-'a'", /expected a number/],
  ['self.n && true', /expected a truth value/],
  ['false || self.n', /expected a truth value/],
  ['self.n ? 1 : 2', /expected a truth value/],
  ['self.l.all(x, x)', /expected a truth value/],
  ['string(self.l)', /lists and maps convert to nothing/],
  ['int(self.m)', /lists and maps convert to nothing/],
  ['double(self.l)', /lists and maps convert to nothing/],
  ['self.n.startsWith(self.s)', /expected text/],
];
for (const [rule, problem] of errors) {
  test(`${rule} is an error`, () =>
    assert.throws(
      () => evaluated(rule),
      (error) => error instanceof CelError && problem.test(error.message),
    ));
}

test('a limit is reached by one evaluation, or by all of an object', () => {
  const limitOf = (act: () => void): string => {
    try {
      act();
      return 'none';
    } catch (error) {
      if (error instanceof CelCostError) return error.limit;
      throw error;
    }
  };
  const single = new Meter();
  assert.equal(
    limitOf(() => single.charge(1_000_000)),
    'none',
  );
  assert.equal(
    limitOf(() => single.charge(1)),
    'PerCallLimit',
  );
  const several = new Meter();
  for (let index = 0; index < 10; index++) {
    several.start();
    assert.equal(
      limitOf(() => several.charge(1_000_000)),
      'none',
    );
  }
  several.start();
  assert.equal(
    limitOf(() => several.charge(1)),
    'RuntimeCELCostBudget',
  );
});

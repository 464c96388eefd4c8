import assert from 'node:assert/strict';
import { CelCostError, CelError, compileCel, Meter } from '../../src/apiserver/crd/cel/cel.ts';
import { estimateCost } from '../../src/apiserver/crd/cel/estimate.ts';
import { shapeOf } from '../../src/apiserver/crd/cel/shape.ts';
import type { Schema } from '../../src/apiserver/schema.ts';
import type { Draw, FuzzTarget } from './target.ts';

export const celRules: FuzzTarget = {
  summary:
    'rules are refused, or evaluate to a value, an error of the rule or an exceeded limit; all have an estimate',
  seedsInTests: 3_000,
  try(draw) {
    const rule = draw.chance(0.7) ? expression(draw, 4) : draw.list(20, () => draw.of(TOKENS)).join('');
    let compiled: ReturnType<typeof compileCel>;
    try {
      compiled = compileCel(rule);
    } catch (error) {
      assert.ok(error instanceof CelError, `${rule}: ${error}`);
      return;
    }
    const cost = estimateCost(compiled.expression, shapeOf(SCHEMA));
    assert.ok(cost >= 0 && !Number.isNaN(cost), `${rule}: ${cost}`);
    const meter = new Meter();
    meter.start();
    try {
      compiled.evaluate({ self: VALUE, oldSelf: VALUE }, meter);
    } catch (error) {
      assert.ok(error instanceof CelError || error instanceof CelCostError, `${rule}: ${error}`);
    }
  },
};

const VALUE = { n: 3, s: 'some text', list: [1, 2, 3], map: { a: 'x', constructor: 'y' } };
const SCHEMA: Schema = {
  type: 'object',
  properties: {
    n: { type: 'integer' },
    s: { type: 'string' },
    list: { type: 'array', items: { type: 'integer' } },
    map: { type: 'object', additionalProperties: { type: 'string' } },
  },
};
const TOKENS =
  'self oldSelf . n s list map constructor __proto__ toString ( ) [ ] , == != < && || ! - + / % ? : in has size all exists filter x "a" \'b\' 1 0 true null matches'.split(
    ' ',
  );

function expression(draw: Draw, depth: number): string {
  const below = (): string => expression(draw, depth - 1);
  switch (draw.int(depth > 0 ? 13 : 3)) {
    case 0:
      return draw.of([
        'self.n',
        'self.s',
        'self.list',
        'self.map',
        'self',
        'oldSelf.n',
        'x',
        'self.constructor',
      ]);
    case 1:
      return draw.of(['1', '0', '2.5', 'true', 'null', '"a"', "'(a+)+$'", '"["', '[]']);
    case 2:
      return 'self.list[0]';
    case 3:
      return `${below()} ${draw.of(['==', '!=', '<', '>=', '+', '-', '*', '/', '%', '&&', '||', 'in'])} ${below()}`;
    case 4:
      return `(${below()})`;
    case 5:
      return `!${below()}`;
    case 6:
      return `has(${below()})`;
    case 7:
      return `${below()}.${draw.of(['all', 'exists', 'exists_one', 'filter', 'map'])}(x, ${below()})`;
    case 8:
      return `${below()}.${draw.of(['startsWith', 'contains', 'matches', 'split', 'endsWith'])}(${below()})`;
    case 9:
      return `${draw.of(['size', 'string', 'int', 'double', 'toString'])}(${below()})`;
    case 10:
      return `${below()} ? ${below()} : ${below()}`;
    case 11:
      return `${below()}[${below()}]`;
    default:
      return `[${below()}, ${below()}]`;
  }
}

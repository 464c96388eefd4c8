// Rejects a CRD whose rules could cost too much: the cost of each rule is estimated on the largest values that the
// schema allows, times the maximum number of such values in one object.

import { type LooseMap, mapOf, mapsOf } from '../kinds/loose.ts';
import type { Schema } from '../schema.ts';
import { at, type Checks, forbidden } from '../validation/checks.ts';
import { CelError, compileCel } from './cel/cel.ts';
import { estimateCost } from './cel/estimate.ts';
import { ANY, MAX_REQUEST_BYTES, type Shape, shapeOf } from './cel/shape.ts';

/** kube-apiserver's limits. */
const STATIC_ESTIMATED_COST_LIMIT = 10_000_000;
const STATIC_ESTIMATED_CRD_COST_LIMIT = 100_000_000;

interface Walk {
  readonly checks: Checks;
  readonly isExempt: boolean;
  total: number;
  /** The most expensive rules, for the message about the total. */
  readonly costs: { path: string; cost: number }[];
}

/** `schema` is known to be structural. `isExempt`: single rules are, all of them together are not. */
export function checkRuleCosts(
  checks: Checks,
  path: string,
  schema: LooseMap,
  { isExempt }: { isExempt: boolean },
): void {
  const walk: Walk = { checks, isExempt, total: 0, costs: [] };
  visit(walk, path, schema, shapeOf(schema as Schema), 1);
  if (walk.total <= STATIC_ESTIMATED_CRD_COST_LIMIT) return;
  for (const { path: rule } of walk.costs.sort((a, b) => b.cost - a.cost).slice(0, 4)) {
    checks.add(
      forbidden(
        rule,
        'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      ),
    );
  }
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
  checks.add(forbidden(path, exceeds(what, walk.total / STATIC_ESTIMATED_CRD_COST_LIMIT)));
}

/** `count`: how often the value can occur; Infinity where only the size of a request bounds it. */
function visit(walk: Walk, path: string, schema: LooseMap, shape: Shape, count: number): void {
  const times = Number.isFinite(count) ? count : Math.floor(MAX_REQUEST_BYTES / (shape.minBytes + 1));
  for (const [index, { rule, messageExpression }] of mapsOf(schema['x-kubernetes-validations']).entries()) {
    const field = at(`${path}.x-kubernetes-validations`, index);
    add(walk, `${field}.rule`, 'estimated rule cost', ruleCost(String(rule), shape) * times);
    if (typeof messageExpression === 'string' && messageExpression !== '') {
      const cost = ruleCost(messageExpression, shape) * times;
      add(walk, `${field}.messageExpression`, 'estimated messageExpression cost', cost);
    }
  }
  for (const [name, property] of Object.entries(mapOf(schema.properties) ?? {})) {
    const below = shape.fields?.get(name) ?? ANY;
    visit(walk, `${path}.properties[${name}]`, mapOf(property) ?? {}, below, count);
  }
  const additional = mapOf(schema.additionalProperties);
  if (additional) {
    const most = bound(schema.maxProperties, count);
    visit(walk, `${path}.additionalProperties`, additional, shape.element ?? ANY, most);
  }
  const items = mapOf(schema.items);
  if (items) visit(walk, `${path}.items`, items, shape.element ?? ANY, bound(schema.maxItems, count));
}

function add(walk: Walk, path: string, what: string, cost: number): void {
  if (!walk.isExempt && cost > STATIC_ESTIMATED_COST_LIMIT) {
    walk.checks.add(forbidden(path, exceeds(what, cost / STATIC_ESTIMATED_COST_LIMIT)));
  }
  walk.total += cost;
  walk.costs.push({ path, cost });
}

function bound(most: unknown, count: number): number {
  return typeof most === 'number' ? most * count : Number.POSITIVE_INFINITY;
}

/** Another check rejects a rule that does not compile. */
function ruleCost(rule: string, self: Shape): number {
  try {
    return estimateCost(compileCel(rule).expression, self);
  } catch (error) {
    if (error instanceof CelError) return 0;
    throw error;
  }
}

function exceeds(what: string, factor: number): string {
  const shown =
    factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return (
    `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, ` +
    'and maxLength where arrays, maps, and strings are declared)'
  );
}

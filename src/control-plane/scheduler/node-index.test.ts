import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Node, NodeSelectorTerm } from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import { NodeIndex } from './node-index.ts';
import { NodeInfo } from './node-info.ts';

const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const labels = fc.dictionary(fc.constantFrom('zone', 'disk', 'arch'), fc.constantFrom('a', 'b', 'c'), {
  maxKeys: 3,
});
const requirement = fc.record({
  key: fc.constantFrom('zone', 'disk', 'arch'),
  operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
  values: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
});
const field = fc.record({
  key: fc.constant('metadata.name'),
  operator: fc.constant('In'),
  values: fc.subarray(['n0', 'n1', 'n9'], { minLength: 1 }),
});
const term: fc.Arbitrary<NodeSelectorTerm> = fc.record({
  matchExpressions: fc.array(requirement, { maxLength: 3 }),
  matchFields: fc.array(field, { maxLength: 1 }),
});

test('the index returns a superset of the fitting nodes, after any changes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.option(labels)), { maxLength: 20 }),
      fc.array(fc.array(term, { maxLength: 3 }), { maxLength: 3 }),
      (changes, constraints) => {
        const index = new NodeIndex();
        const infos = new Map<string, NodeInfo>();
        for (const [i, nodeLabels] of changes) {
          const name = `n${i}`;
          const info = infos.get(name) ?? new NodeInfo(name);
          infos.set(name, info);
          const node: Node | undefined = nodeLabels
            ? { apiVersion: 'v1', kind: 'Node', metadata: { ...stamp, name, labels: nodeLabels } }
            : undefined;
          index.put(info, info.node, node);
          info.node = node;
        }
        const present = [...infos.values()].filter((info) => info.node !== undefined);
        assert.deepEqual(new Set(index.all()), new Set(present));
        const found = index.candidates(constraints);
        assert.equal(new Set(found).size, found.length);
        for (const info of present) {
          const fits = constraints.every((terms) => info.node && matchesNodeSelectorTerms(terms, info.node));
          if (fits) assert(found.includes(info), `${info.name} fits and was left out`);
        }
        for (const info of found) assert.notEqual(info.node, undefined);
      },
    ),
    { numRuns: 500 },
  );
});

test('a lookup in one zone visits only its own nodes', () => {
  const index = new NodeIndex();
  for (let i = 0; i < 100; i++) {
    const info = new NodeInfo(`n${i}`);
    const metadata = { ...stamp, name: `n${i}`, labels: { zone: `z${i % 10}`, os: 'linux' } };
    index.put(info, undefined, { apiVersion: 'v1', kind: 'Node', metadata });
  }
  const expression = (key: string, ...values: string[]) => ({ key, operator: 'In', values });
  const size = (...expressions: ReturnType<typeof expression>[]) =>
    index.candidates([[{ matchExpressions: expressions }]]).length;
  assert.equal(size(expression('zone', 'z1')), 10);
  assert.equal(size(expression('zone', 'z1', 'z2'), expression('os', 'linux')), 20);
  assert.equal(size(expression('zone', 'nowhere')), 0);
  assert.equal(index.candidates([]).length, 100);
  assert.equal(
    index.candidates([
      [{ matchExpressions: [expression('os', 'linux')] }],
      [{ matchExpressions: [expression('zone', 'z3')] }],
    ]).length,
    10,
  );
});

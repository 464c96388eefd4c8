import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/kinds.ts';
import { goesFirst, preemptionFor } from './preemption.ts';

const pod = (spec: Partial<Pod['spec']>, metadata: object = {}): Pod =>
  ({ metadata: { name: 'p', ...metadata }, spec: { nodeName: 'n', priority: 1, ...spec } }) as Pod;
const high = pod({ priority: 2 });

const table: { name: string; wants: Pod; holders: Pod[]; gives: boolean }[] = [
  { name: 'a holder of lower priority', wants: high, holders: [pod({})], gives: true },
  { name: 'two of them on one node', wants: high, holders: [pod({}), pod({ priority: 0 })], gives: true },
  {
    name: 'a holder without priority',
    wants: pod({}),
    holders: [{ ...pod({}), spec: { nodeName: 'n', containers: [] } }],
    gives: true,
  },
  { name: 'nobody', wants: high, holders: [], gives: false },
  { name: 'a holder of the same priority', wants: high, holders: [pod({ priority: 2 })], gives: false },
  {
    name: 'one of two that has the same',
    wants: high,
    holders: [pod({}), pod({ priority: 2 })],
    gives: false,
  },
  { name: 'holders on two nodes', wants: high, holders: [pod({}), pod({ nodeName: 'm' })], gives: false },
  { name: 'one that is going', wants: high, holders: [pod({}, { deletionTimestamp: 'x' })], gives: false },
  {
    name: 'a pod that never preempts',
    wants: pod({ priority: 2, preemptionPolicy: 'Never' }),
    holders: [pod({})],
    gives: false,
  },
];

for (const { name, wants, holders, gives } of table) {
  test(`[TOP-8] ${name} ${gives ? 'gives way' : 'does not give way'}`, () => {
    assert.deepEqual(preemptionFor(wants, holders), gives ? { nodeName: 'n', victims: holders } : undefined);
  });
}

const nominated = (spec: Partial<Pod['spec']>, metadata: object = {}): Pod => ({
  ...pod(spec, metadata),
  status: { nominatedNodeName: 'n' },
});
const orders: [name: string, other: Pod, goes: boolean][] = [
  ['a pod of higher priority that others gave way to', nominated({ priority: 2 }), true],
  ['one that nobody gave way to', high, false],
  ['one of the same priority', nominated({}), false],
  ['one of lower priority', nominated({ priority: 0 }), false],
  ['one that is being deleted', nominated({ priority: 2 }, { deletionTimestamp: 'x' }), false],
];
for (const [name, other, goes] of orders)
  test(`[TOP-8] ${name} ${goes ? 'goes' : 'does not go'} first`, () => {
    assert.equal(goesFirst(other, pod({})), goes);
  });

test('[TOP-8] a pod without a priority has priority 0', () => {
  const without: Pod = { ...high, spec: { containers: [] } };
  assert.equal(goesFirst(nominated({ priority: 1 }), without), true);
  assert.equal(goesFirst(nominated({ priority: 0 }), without), false);
  assert.equal(goesFirst({ ...nominated({}), spec: without.spec }, pod({ priority: -1 })), true);
});

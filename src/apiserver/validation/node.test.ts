import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateNamespaceUpdate, validateNode, validateNodeUpdate } from './node.ts';
import { type Body, changedFields, rows } from './testing/rows.ts';

const taints = (...given: Body[]) => ({ spec: { taints: given } });
rows(validateNode, {}, [
  [
    'a good node',
    {
      ...taints({ key: 'k', value: 'v', effect: 'NoSchedule' }, { key: 'k', effect: 'NoExecute' }),
      status: { capacity: { cpu: '2' } },
    },
    [],
  ],
  ['a taint without an effect', taints({ key: 'k' }), ['metadata.taints[0].effect: Required value']],
  [
    'a taint with an effect that does not exist',
    taints({ key: 'k', effect: 'No' }),
    ['metadata.taints[0].effect: Unsupported'],
  ],
  [
    'a taint that is none',
    taints({ key: 'a b', value: 'c d', effect: 'NoExecute' }),
    ['metadata.taints[0].key: Invalid', 'metadata.taints[0].value: Invalid'],
  ],
  [
    'a taint twice',
    taints({ key: 'k', effect: 'NoExecute' }, { key: 'k', value: 'v', effect: 'NoExecute' }),
    ['metadata.taints[1]: Duplicate'],
  ],
  [
    'capacities that are none',
    { status: { capacity: { cpu: 'x' }, allocatable: { cpu: 'y' } } },
    ['status.capacity.cpu: Invalid', 'status.allocatable.cpu: Invalid'],
  ],
  ['ranges of addresses', { spec: { podCIDRs: ['10.0.0.0/24', '2001:db8::/64'] } }, []],
  [
    'ranges that are none',
    { spec: { podCIDRs: ['10.0.0.0/33', 'x'] } },
    ['spec.podCIDRs[0]: Invalid', 'spec.podCIDRs[1]: Invalid'],
  ],
]);

test("a node's providerID and pod CIDRs are immutable once set", () => {
  const changed = (before: Body, after: Body) =>
    changedFields(validateNodeUpdate, { spec: before }, { spec: after });
  assert.deepEqual(changed({}, { providerID: 'p', podCIDRs: ['10.0.0.0/24'] }), []);
  assert.deepEqual(changed({ providerID: 'p' }, { providerID: 'p' }), []);
  assert.deepEqual(changed({ providerID: 'p' }, { providerID: 'q' }), ['spec.providerID']);
  assert.deepEqual(changed({ podCIDRs: ['10.0.0.0/24'] }, {}), ['spec.podCIDRs']);
});

test('a namespace is Active, and Terminating once it is being deleted', () => {
  const errors = (phase: string | undefined, deletionTimestamp?: string) =>
    validateNamespaceUpdate(
      { metadata: { deletionTimestamp }, status: { phase } } as never,
      { metadata: {} } as never,
      'status',
    ).length;
  assert.deepEqual([errors('Active'), errors('Terminating'), errors(undefined)], [0, 1, 1]);
  assert.deepEqual([errors('Terminating', 'now'), errors('Active', 'now')], [0, 1]);
  assert.deepEqual(validateNamespaceUpdate({} as never, { metadata: {} } as never, ''), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedFields, rows } from '../validation/testing/rows.ts';
import { resourceQuotaKind } from './resource-quota.ts';

const hard = (amounts: Record<string, unknown>) => ({ spec: { hard: amounts } });
const scoped = { scopeName: 'VolumeAttributesClass', operator: 'Exists' };
rows(resourceQuotaKind.validate, {}, [
  ['a quota without limits', {}, []],
  [
    'a quota of storage and numbers',
    hard({
      'requests.storage': '10Gi',
      persistentvolumeclaims: '5',
      'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
      'count/secrets': '3',
      cpu: '500m',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
    }),
    [],
  ],
  [
    'a quota of an unknown resource',
    hard({ bananas: '1', 'limits.hugepages-2Mi': '1' }),
    [
      'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota',
      'spec.hard[limits.hugepages-2Mi]: Invalid value: "limits.hugepages-2Mi": must be a standard resource for quota',
    ],
  ],
  ['a quota of a name that is none', hard({ 'a b': '1' }), ['spec.hard[a b]: Invalid value: "a b"']],
  ['a quota of no amount', hard({ pods: 'many' }), ['spec.hard[pods]: ']],
  [
    'a quota of half a claim',
    hard({ persistentvolumeclaims: '1500m', cpu: '1500m' }),
    ['spec.hard[persistentvolumeclaims]: Invalid value: "1500m": must be an integer'],
  ],
  [
    'a status with wrong amounts',
    { status: { hard: { bananas: '1' }, used: { pods: '1500m' } } },
    ['status.hard[bananas]: Invalid value', 'status.used[pods]: Invalid value'],
  ],
  [
    'a scope that is not counted',
    { spec: { scopes: ['VolumeAttributesClass'] } },
    ['spec.scopes: Forbidden: claims are not counted by volumeAttributesClassName here'],
  ],
  [
    'a selector of a scope that is not counted',
    { spec: { scopeSelector: { matchExpressions: [{ scopeName: 'BestEffort' }, scoped] } } },
    ['spec.scopeSelector: Forbidden: claims are not counted by volumeAttributesClassName here'],
  ],
  ['other scopes', { spec: { scopes: ['BestEffort'], scopeSelector: { matchExpressions: [] } } }, []],
]);

test('the scopes of a quota are immutable; their order is not', () => {
  const scopes = (...names: string[]) => ({ spec: { scopes: names } });
  const changed = (before: object, after: object) =>
    changedFields(resourceQuotaKind.validateUpdate, before as never, after as never);
  assert.deepEqual(changed(scopes('A', 'B'), scopes('B', 'A')), []);
  assert.deepEqual(changed(scopes('A'), scopes('B')), ['spec.scopes']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Namespace } from '../../api/kinds.ts';
import { isEmpty, type NamespaceContent, namespaceConditions } from './namespace-conditions.ts';

const EMPTY: NamespaceContent = { left: [], finalizers: [], unknown: [], failures: [] };
const namespace = (conditions?: NonNullable<Namespace['status']>['conditions']): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...(conditions && { status: { conditions } }),
});

test('kinds that could not be listed, and objects that could not be deleted, keep a namespace', () => {
  assert.equal(isEmpty(EMPTY), true);
  assert.equal(isEmpty({ ...EMPTY, left: [{ resource: 'pods.', count: 1 }] }), false);
  assert.equal(isEmpty({ ...EMPTY, unknown: ['metrics.k8s.io/v1'] }), false);
  assert.equal(isEmpty({ ...EMPTY, failures: ['no'] }), false);
});

test('the conditions say what blocks the deletion, and since when', () => {
  const content = { ...EMPTY, unknown: ['metrics.k8s.io/v1'] };
  const first = namespaceConditions(namespace(), content, '2026-01-01T00:00:00Z') ?? [];
  assert.deepEqual(
    first.filter(({ status }) => status === 'True').map(({ type, reason }) => [type, reason]),
    [['NamespaceDeletionDiscoveryFailure', 'DiscoveryFailed']],
  );
  assert.equal(namespaceConditions(namespace(first), content, '2026-01-01T00:05:00Z'), undefined);
  const more = { ...content, failures: ['forbidden'] };
  const second = namespaceConditions(namespace(first), more, '2026-01-01T00:05:00Z') ?? [];
  const times = Object.fromEntries(second.map((each) => [each.type, each.lastTransitionTime]));
  assert.equal(times.NamespaceDeletionDiscoveryFailure, '2026-01-01T00:00:00Z');
  assert.equal(times.NamespaceDeletionContentFailure, '2026-01-01T00:05:00Z');
});

test('conditions of others stay', () => {
  const other = { type: 'Other', status: 'True' };
  const next = namespaceConditions(namespace([other]), EMPTY, '2026-01-01T00:00:00Z');
  assert.deepEqual(next?.[0], other);
});

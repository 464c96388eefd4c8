import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import {
  type DependentSnapshot,
  type DependentStep,
  decideDependent,
  type OwnerState,
} from './decide-dependent.ts';

const owner = (uid: string, state: OwnerState) => ({
  reference: { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid },
  state,
});
const child = (metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'child',
    uid: 'c',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
});
const waitingChild = child({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] });
const remove = (
  propagation: 'Background' | 'Foreground' | 'Orphan',
  unblockOwners = false,
): DependentStep => ({
  do: 'delete',
  propagation,
  unblockOwners,
});

const table: { name: string; given: Partial<DependentSnapshot>; then: DependentStep }[] = [
  { name: 'an owner that is there', given: { owners: [owner('a', 'present')] }, then: { do: 'nothing' } },
  { name: 'an owner nobody knows', given: { owners: [owner('a', 'unknown')] }, then: { do: 'nothing' } },
  { name: 'the only owner is gone', given: { owners: [owner('a', 'absent')] }, then: remove('Background') },
  {
    name: 'one of two owners is gone',
    given: { owners: [owner('a', 'absent'), owner('b', 'present')] },
    then: { do: 'drop-owners', uids: ['a'] },
  },
  {
    name: 'one is gone, of the other nobody knows: kept',
    given: { owners: [owner('a', 'absent'), owner('b', 'unknown')] },
    then: { do: 'drop-owners', uids: ['a'] },
  },
  {
    name: 'one waits, another stays',
    given: { owners: [owner('a', 'waiting'), owner('b', 'present')] },
    then: { do: 'drop-owners', uids: ['a'] },
  },
  {
    name: 'the owner waits, and it has no dependents itself',
    given: { owners: [owner('a', 'waiting')] },
    then: remove('Background'),
  },
  {
    name: 'the owner waits, and it has dependents: they go first',
    given: { owners: [owner('a', 'waiting')], dependents: [child()] },
    then: remove('Foreground'),
  },
  {
    name: 'a circle of those who wait is broken',
    given: { owners: [owner('a', 'waiting')], dependents: [waitingChild] },
    then: remove('Foreground', true),
  },
  {
    name: 'somebody asked to keep its dependents',
    given: { owners: [owner('a', 'absent')], finalizers: ['orphan'] },
    then: remove('Orphan'),
  },
  {
    name: 'somebody asked to have its dependents go first',
    given: { owners: [owner('a', 'absent')], finalizers: ['foregroundDeletion'] },
    then: remove('Foreground'),
  },
];

for (const { name, given, then } of table) {
  test(name, () => {
    assert.deepEqual(decideDependent({ owners: [], finalizers: [], dependents: [], ...given }), then);
  });
}

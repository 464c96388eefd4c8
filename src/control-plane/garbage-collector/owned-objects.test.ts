import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import {
  blocks,
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  orphansDependents,
  waitsForDependents,
} from './decide-dependent.ts';

const object = (metadata: object) => ({ metadata }) as unknown as KubeObject;
const deletionTimestamp = '2026-01-01T00:00:00Z';

for (const [name, finalizer, ask] of [
  ['waits for its dependents', FINALIZER_FOREGROUND, waitsForDependents],
  ['orphans its dependents', FINALIZER_ORPHAN, orphansDependents],
] as const) {
  test(`an object ${name} when it is being deleted with that finalizer`, () => {
    assert.equal(ask(object({ deletionTimestamp, finalizers: ['test/a', finalizer] })), true);
    assert.equal(ask(object({ finalizers: [finalizer] })), false);
    assert.equal(ask(object({ deletionTimestamp, finalizers: ['test/a'] })), false);
    assert.equal(ask(object({ deletionTimestamp })), false);
  });
}

test('a dependent blocks the owner that it names so', () => {
  const owned = (...ownerReferences: object[]) => object({ ownerReferences });
  assert.equal(blocks(owned({ uid: 'a' }, { uid: 'b', blockOwnerDeletion: true }), 'b'), true);
  assert.equal(blocks(owned({ uid: 'a' }, { uid: 'b', blockOwnerDeletion: true }), 'a'), false);
  assert.equal(blocks(owned({ uid: 'b', blockOwnerDeletion: false }), 'b'), false);
  assert.equal(blocks(object({}), 'b'), false);
});

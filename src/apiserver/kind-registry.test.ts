import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from './kind.ts';
import { createKindRegistry } from './kind-registry.ts';

test('versions are ordered as in Kubernetes: stable first, newer first, others last by name', () => {
  const ordered = [
    ...['v12', 'v2', 'v1', 'v2beta3', 'v2beta1', 'v1beta10', 'v1beta2', 'v11alpha2', 'v1alpha1'],
    ...['foo1', 'foo10', 'v0', 'v1gamma1', 'version1'],
  ];
  for (const given of [ordered, ordered.toReversed()]) {
    const kinds = given.map((version) => ({ group: 'g', version, plural: 'p', kind: 'P' }) as Kind);
    assert.deepEqual(createKindRegistry(kinds).groupVersions(), [{ group: 'g', versions: ordered }]);
  }
});

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

test('a kind is found by any descriptor of it, until it is removed', () => {
  const builtin = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' } as Kind;
  const registry = createKindRegistry([builtin]);
  const found = (group: string, version: string, plural: string) => {
    const descriptor = { group, version, plural } as Kind;
    assert.equal(registry.findFor(descriptor), registry.findFor(descriptor));
    return registry.findFor(descriptor)?.kind;
  };
  assert.equal(found('', 'v1', 'pods'), 'Pod');
  assert.equal(found('', 'v2', 'pods'), undefined);
  assert.equal(found('g', 'v1', 'pods'), undefined);
  const widgets = { group: 'shop.io', version: 'v1', plural: 'widgets' } as Kind;
  assert.equal(registry.findFor(widgets), undefined);
  registry.addCustom({
    metadata: { name: 'widgets.shop.io' },
    spec: {
      group: 'shop.io',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  } as never);
  assert.equal(registry.findFor(widgets)?.kind, 'Widget');
  assert.equal(found('', 'v1', 'pods'), 'Pod');
  registry.removeCustom('widgets.shop.io');
  assert.equal(registry.findFor(widgets), undefined);
});

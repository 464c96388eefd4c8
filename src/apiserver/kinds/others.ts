// Leases and CustomResourceDefinitions.

import { setDefinitionDefaults } from '../crd/definition-defaults.ts';
import { recordStoredVersion } from '../crd/definition-status.ts';
import { validateDefinition, validateDefinitionUpdate } from '../crd/validate-definition.ts';
import type { Kind } from '../kind.ts';
import { definitionColumns, leaseColumns } from '../printing/other-columns.ts';
import { validateLease } from '../validation/lease.ts';
import { defineKind } from './define-kind.ts';
import { mapOf } from './loose.ts';

const leaseKind = defineKind({
  group: 'coordination.k8s.io',
  version: 'v1',
  module: 'coordination/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  columns: leaseColumns,
  normalise(lease, current) {
    const { strategy, preferredHolder, ...spec } = mapOf(lease.spec) ?? {};
    // Coordinated leader election is off by default in Kubernetes: its fields are dropped unless they are set already.
    if (strategy === undefined && preferredHolder === undefined) return;
    if (mapOf(current?.spec)?.strategy === undefined) lease.spec = spec;
  },
  validate: validateLease,
});

const definitionKind = defineKind({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  module: 'apiextensions/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  subresources: ['status'],
  columns: definitionColumns,
  hasGeneration: true,
  setDefaults: setDefinitionDefaults,
  normalise(crd, _current, subresource) {
    if (subresource === '') recordStoredVersion(crd);
  },
  validate: validateDefinition,
  validateUpdate: validateDefinitionUpdate,
});

export const otherKinds: readonly Kind[] = [leaseKind, definitionKind];

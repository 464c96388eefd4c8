// Leases and CustomResourceDefinitions.

import { setDefinitionDefaults } from '../crd/definition-defaults.ts';
import { validateDefinition, validateDefinitionUpdate } from '../crd/validate-definition.ts';
import type { Kind } from '../kind.ts';
import { definitionColumns, leaseColumns } from '../printing/other-columns.ts';
import { validateLease } from '../validation/lease.ts';
import { defineKind } from './define-kind.ts';

const leaseKind = defineKind({
  group: 'coordination.k8s.io',
  version: 'v1',
  module: 'coordination/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  columns: leaseColumns,
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
  validate: validateDefinition,
  validateUpdate: validateDefinitionUpdate,
});

export const otherKinds: readonly Kind[] = [leaseKind, definitionKind];

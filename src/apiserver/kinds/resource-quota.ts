// ResourceQuota: limits the total requests of the claims in a namespace.

import { qualifiedNameProblems } from '../../api/names.ts';
import { isQuantity, parseQuantity } from '../../api/quantity.ts';
import type { FieldError } from '../kind.ts';
import { resourceQuotaColumns } from '../printing/core-columns.ts';
import { at, Checks, forbidden, invalid } from '../validation/checks.ts';
import { defineKind } from './define-kind.ts';
import { type Loose, mapOf, mapsOf, stringsOf } from './loose.ts';

/** Kubernetes' resource names without a prefix. */
const STANDARD = new Set([
  ...['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
  ...['requests.storage', 'persistentvolumeclaims', 'pods', 'resourcequotas', 'services'],
  ...['replicationcontrollers', 'secrets', 'configmaps', 'services.nodeports', 'services.loadbalancers'],
]);
const INTEGER = new Set([
  ...['persistentvolumeclaims', 'pods', 'resourcequotas', 'services', 'replicationcontrollers'],
  ...['secrets', 'configmaps', 'services.nodeports', 'services.loadbalancers'],
]);
const VOLUME_ATTRIBUTES_CLASS = 'VolumeAttributesClass';
const SCOPES = new Set([
  ...['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'PriorityClass'],
  ...['CrossNamespacePodAffinity', VOLUME_ATTRIBUTES_CLASS],
]);
const THOUSANDTH = 1_000_000n;

export const resourceQuotaKind = defineKind({
  group: '',
  version: 'v1',
  module: 'core/v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
  shortNames: ['quota'],
  subresources: ['status'],
  columns: resourceQuotaColumns,
  validate: validateResourceQuota,
  validateUpdate(next, current) {
    const checks = new Checks();
    const scopesOf = ({ spec }: Loose) => stringsOf(mapOf(spec)?.scopes).sort();
    checks.immutable('spec.scopes', scopesOf(next), scopesOf(current));
    return checks.errors;
  },
});

function validateResourceQuota({ spec, status }: Loose): FieldError[] {
  const checks = new Checks();
  checkAmounts(checks, 'spec.hard', mapOf(spec)?.hard);
  checkAmounts(checks, 'status.hard', mapOf(status)?.hard);
  checkAmounts(checks, 'status.used', mapOf(status)?.used);
  const scopes = stringsOf(mapOf(spec)?.scopes);
  if (scopes.some((scope) => !SCOPES.has(scope))) {
    checks.add(invalid('spec.scopes', scopes, 'unsupported scope'));
  }
  const unsupported = 'claims are not counted by volumeAttributesClassName here; remove the scope';
  const selectors = mapsOf(mapOf(mapOf(spec)?.scopeSelector)?.matchExpressions);
  if (scopes.includes(VOLUME_ATTRIBUTES_CLASS)) {
    checks.add(forbidden('spec.scopes', unsupported));
  }
  if (selectors.some(({ scopeName }) => scopeName === VOLUME_ATTRIBUTES_CLASS)) {
    checks.add(forbidden('spec.scopeSelector', unsupported));
  }
  return checks.errors;
}

function checkAmounts(checks: Checks, field: string, amounts: unknown): void {
  for (const [name, amount] of Object.entries(mapOf(amounts) ?? {})) {
    const path = at(field, name);
    if (!checks.text(path, name, qualifiedNameProblems)) continue;
    if (!name.includes('/') && !STANDARD.has(name) && !/^(requests\.)?hugepages-/.test(name)) {
      checks.add(invalid(path, name, 'must be a standard resource for quota'));
    }
    if (!checks.quantity(path, amount) || !isQuantity(amount)) continue;
    const thousandths = parseQuantity(amount as string).nano / THOUSANDTH;
    if (INTEGER.has(name) && thousandths % 1000n !== 0n) {
      checks.add(invalid(path, amount, 'must be an integer'));
    }
  }
}

// PersistentVolumeClaims: validation, and the few fields that may change after creation.

import { dns1123SubdomainProblems } from '../../api/names.ts';
import { compareQuantities, isQuantity } from '../../api/quantity.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, type LooseMap, mapOf, stringsOf } from '../kinds/loose.ts';
import { copyJson } from '../patch/json.ts';
import { Checks, forbidden, invalid, notSupported, required } from './checks.ts';
import { checkLabelSelector } from './node-selector.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];

export function validateClaim(claim: Loose): FieldError[] {
  const checks = new Checks();
  checkClaimSpec(checks, 'spec', mapOf(claim.spec) ?? {});
  return checks.errors;
}

export function checkAccessModes(checks: Checks, field: string, value: unknown, detail?: string): void {
  const modes = stringsOf(value);
  checks.required(field, modes, detail);
  for (const mode of modes) checks.oneOf(field, mode, ACCESS_MODES);
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    checks.add(forbidden(field, 'may not use ReadWriteOncePod with other access modes'));
  }
}

export function checkClaimSpec(checks: Checks, field: string, spec: LooseMap): void {
  checkAccessModes(checks, `${field}.accessModes`, spec.accessModes, 'at least 1 access mode is required');
  const selector = mapOf(spec.selector);
  if (selector) checkLabelSelector(checks, `${field}.selector`, selector);
  const storage = mapOf(mapOf(spec.resources)?.requests)?.storage;
  if (storage === undefined) checks.add(required(`${field}.resources[storage]`));
  else checks.quantity(`${field}.resources[storage]`, storage, { positive: true });
  if (spec.storageClassName)
    checks.text(`${field}.storageClassName`, spec.storageClassName, dns1123SubdomainProblems);
  if (spec.volumeAttributesClassName) {
    checks.text(
      `${field}.volumeAttributesClassName`,
      spec.volumeAttributesClassName,
      dns1123SubdomainProblems,
    );
  }
  checks.oneOf(`${field}.volumeMode`, spec.volumeMode, VOLUME_MODES);
  checkDataSources(checks, field, spec);
}

function checkDataSources(checks: Checks, field: string, spec: LooseMap): void {
  const source = mapOf(spec.dataSource);
  const reference = mapOf(spec.dataSourceRef);
  for (const [name, value] of [
    ['dataSource', source],
    ['dataSourceRef', reference],
  ] as const) {
    if (!value) continue;
    const path = `${field}.${name}`;
    checks.required(`${path}.name`, value.name);
    checks.required(`${path}.kind`, value.kind);
    const group = value.apiGroup ?? '';
    if (group === '' && value.kind !== 'PersistentVolumeClaim') {
      checks.add(
        invalid(path, value.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"),
      );
    }
    if (group !== '') checks.text(`${path}.apiGroup`, group, dns1123SubdomainProblems);
  }
  if (reference?.namespace && source) {
    checks.add(
      invalid(
        field,
        { dataSource: source },
        'may not be specified when dataSourceRef.namespace is specified',
      ),
    );
  } else if (source && reference) {
    const same = ['kind', 'name', 'apiGroup'].every((key) => (source[key] ?? '') === (reference[key] ?? ''));
    if (!same) checks.add(invalid(field, source, 'must match dataSourceRef'));
  }
}

const STATUS_RESOURCE_STATES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

export function validateClaimUpdate(next: Loose, current: Loose, subresource: Subresource): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status') {
    const status = mapOf(next.status) ?? {};
    for (const [resource, amount] of Object.entries(mapOf(status.capacity) ?? {})) {
      checks.quantity(`status.capacity[${resource}]`, amount);
    }
    for (const [resource, amount] of Object.entries(mapOf(status.allocatedResources) ?? {})) {
      checks.quantity(`status.allocatedResources[${resource}]`, amount);
    }
    for (const [resource, state] of Object.entries(mapOf(status.allocatedResourceStatuses) ?? {})) {
      if (!STATUS_RESOURCE_STATES.includes(state as string)) {
        checks.add(notSupported('status.allocatedResourceStatuses', resource, STATUS_RESOURCE_STATES));
      }
    }
    return checks.errors;
  }
  checkSpecChange(checks, mapOf(next.spec) ?? {}, mapOf(current.spec) ?? {}, current);
  return checks.errors;
}

const CHANGEABLE =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

/** Allowed: the volume name once, the default class once, and on bound claims another size or attributes class. */
function checkSpecChange(checks: Checks, next: LooseMap, before: LooseMap, current: Loose): void {
  const bound = current.status?.phase === 'Bound';
  const nextSize = sizeOf(next);
  const beforeSize = sizeOf(before);
  const masked = (spec: LooseMap): LooseMap => {
    const copy = copyJson(spec);
    if (!before.volumeName) delete copy.volumeName;
    if (before.storageClassName === undefined && !before.volumeName) delete copy.storageClassName;
    if (bound) delete copy.volumeAttributesClassName;
    const requests = mapOf(mapOf(copy.resources)?.requests);
    if (requests && (bound || sameSize(nextSize, beforeSize))) delete requests.storage;
    return copy;
  };
  if (next !== before && !sameJson(masked(next), masked(before))) checks.add(forbidden('spec', CHANGEABLE));
  // kube-apiserver's path.
  checks.immutable('volumeMode', next.volumeMode, before.volumeMode);
  if (nextSize !== undefined && beforeSize !== undefined && compareQuantities(nextSize, beforeSize) < 0) {
    const capacity = mapOf(current.status?.capacity)?.storage;
    if (compareQuantities(nextSize, isQuantity(capacity) ? String(capacity) : '0') <= 0) {
      checks.add(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
    }
  }
  const isOtherClass = next.volumeAttributesClassName !== before.volumeAttributesClassName;
  if (isOtherClass && current.status?.currentVolumeAttributesClassName && !next.volumeAttributesClassName) {
    const to = next.volumeAttributesClassName === '' ? 'empty string' : 'nil';
    checks.add(
      forbidden(
        'spec.volumeAttributesClassName',
        `update to ${to} is forbidden when status.currentVolumeAttributesClassName is not nil`,
      ),
    );
  }
}

function sameSize(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && compareQuantities(a, b) === 0);
}

function sizeOf(spec: LooseMap): string | undefined {
  const size = mapOf(mapOf(spec.resources)?.requests)?.storage;
  return isQuantity(size) ? String(size) : undefined;
}

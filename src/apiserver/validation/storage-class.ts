// StorageClass, VolumeAttributesClass and CSIStorageCapacity.

import { dns1123SubdomainProblems, qualifiedNameProblems } from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { Checks, forbidden, invalid, required, tooLong } from './checks.ts';
import { checkLabelSelector, checkTopologySelectorTerms } from './node-selector.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;

function checkParameters(checks: Checks, value: unknown, options: { mayBeEmpty: boolean }): void {
  const entries = Object.entries(mapOf(value) ?? {});
  if (entries.length > MAX_PARAMETERS) checks.add(tooLong('parameters', MAX_PARAMETERS));
  if (entries.some(([key]) => key === '')) checks.add(invalid('parameters', '', 'field can not be empty.'));
  const bytes = entries.reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(text)),
    0,
  );
  if (bytes > MAX_PARAMETER_BYTES) checks.add(tooLong('parameters', MAX_PARAMETER_BYTES));
  if (!options.mayBeEmpty && entries.length === 0) {
    checks.add(required('parameters', 'must contain at least one key/value pair'));
  }
}

function checkProvisioner(checks: Checks, field: string, value: unknown): void {
  if (checks.required(field, value))
    checks.text(field, value, (text) => qualifiedNameProblems(text.toLowerCase()));
}

export function validateStorageClass(storageClass: Loose): FieldError[] {
  const checks = new Checks();
  checkProvisioner(checks, 'provisioner', storageClass.provisioner);
  checkParameters(checks, storageClass.parameters, { mayBeEmpty: true });
  // An empty one is accepted, and means Delete.
  checks.oneOf('reclaimPolicy', storageClass.reclaimPolicy || undefined, ['Delete', 'Retain']);
  checks.oneOf('volumeBindingMode', storageClass.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
  checkTopologySelectorTerms(checks, 'allowedTopologies', storageClass.allowedTopologies);
  return checks.errors;
}

export function validateStorageClassUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']) {
    checks.immutable(field, next[field], current[field]);
  }
  return checks.errors;
}

export function validateVolumeAttributesClass(attributes: Loose): FieldError[] {
  const checks = new Checks();
  checkProvisioner(checks, 'driverName', attributes.driverName);
  checkParameters(checks, attributes.parameters, { mayBeEmpty: false });
  return checks.errors;
}

export function validateVolumeAttributesClassUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  for (const field of ['driverName', 'parameters']) {
    if (!sameJson(next[field], current[field]))
      checks.add(forbidden(field, `updates to ${field} are forbidden.`));
  }
  return checks.errors;
}

export function validateStorageCapacity(capacity: Loose): FieldError[] {
  const checks = new Checks();
  checks.text('storageClassName', capacity.storageClassName ?? '', dns1123SubdomainProblems);
  const topology = mapOf(capacity.nodeTopology);
  if (topology) checkLabelSelector(checks, 'nodeTopology', topology);
  if (capacity.capacity !== undefined) checks.quantity('capacity', capacity.capacity);
  return checks.errors;
}

export function validateStorageCapacityUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('nodeTopology', next.nodeTopology, current.nodeTopology);
  checks.immutable('storageClassName', next.storageClassName, current.storageClassName);
  return checks.errors;
}

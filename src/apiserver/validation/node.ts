// Nodes and namespaces.

import { isIP } from 'node:net';
import { labelKeyProblems, labelValueProblems } from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, duplicate, forbidden, invalid } from './checks.ts';
import { finalizerProblems } from './metadata.ts';

const EFFECTS = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

export function validateNode(node: Loose): FieldError[] {
  const checks = new Checks();
  const seen = new Set<string>();
  for (const [index, { key, value, effect }] of mapsOf(node.spec?.taints).entries()) {
    // kube-apiserver's path, though taints are in the spec.
    const path = at('metadata.taints', index);
    checks.text(`${path}.key`, key ?? '', labelKeyProblems);
    checks.text(`${path}.value`, value, labelValueProblems);
    if (checks.required(`${path}.effect`, effect)) checks.oneOf(`${path}.effect`, effect, EFFECTS);
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) checks.add(duplicate(path, { key, effect }));
    seen.add(identity);
  }
  for (const field of ['capacity', 'allocatable']) {
    for (const [resource, amount] of Object.entries(mapOf(node.status?.[field]) ?? {})) {
      checks.quantity(`status.${field}.${resource}`, amount);
    }
  }
  const ranges = stringsOf(node.spec?.podCIDRs);
  for (const [index, range] of ranges.entries()) {
    if (!isCidr(range)) checks.add(invalid(at('spec.podCIDRs', index), range, 'must be a valid CIDR value'));
  }
  if (ranges.length > 2) {
    checks.add(invalid('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family'));
  }
  return checks.errors;
}

export function validateNodeUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const [before, after] = [current.spec?.providerID, next.spec?.providerID];
  if (before && before !== after) {
    const what = after ? 'modified' : 'cleared';
    checks.add(invalid('spec.providerID', null, `field cannot be ${what} once set`));
  }
  const ranges = stringsOf(current.spec?.podCIDRs);
  if (ranges.length > 0 && !sameJson(next.spec?.podCIDRs, ranges)) {
    checks.add(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  return checks.errors;
}

/** `10.0.0.0/24` or `2001:db8::/64`; bits beyond the prefix may be set, as in Kubernetes. */
function isCidr(text: string): boolean {
  const [address = '', length = ''] = text.split('/', 2);
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return /^\d{1,3}$/.test(length) && Number(length) <= bits && text.split('/').length === 2;
}

export function validateNamespace(namespace: Loose): FieldError[] {
  const checks = new Checks();
  for (const finalizer of stringsOf(namespace.spec?.finalizers)) {
    checks.text('spec.finalizers', finalizer, finalizerProblems);
  }
  return checks.errors;
}

export function validateNamespaceUpdate(
  next: Loose,
  _current: Loose,
  subresource: Subresource,
): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status') {
    const terminating = next.metadata.deletionTimestamp !== undefined;
    const phase = next.status?.phase;
    if (terminating ? phase !== 'Terminating' : phase !== 'Active') {
      const when = terminating ? 'not empty' : 'empty';
      const only = terminating ? 'Terminating' : 'Active';
      // kube-apiserver's path.
      checks.add(
        invalid('status.Phase', phase ?? '', `may only be '${only}' if deletionTimestamp is ${when}`),
      );
    }
  }
  return checks.errors;
}

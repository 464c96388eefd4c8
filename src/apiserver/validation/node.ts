// Nodes and namespaces.

import { labelKeyProblems, labelValueProblems } from '../../api/names.ts';
import type { FieldError, Subresource } from '../kind.ts';
import { type Loose, mapOf, mapsOf, stringsOf } from '../kinds/loose.ts';
import { at, Checks, duplicate, forbidden } from './checks.ts';

const EFFECTS = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

export function validateNode(node: Loose): FieldError[] {
  const checks = new Checks();
  const seen = new Set<string>();
  for (const [index, { key, value, effect }] of mapsOf(node.spec?.taints).entries()) {
    const path = at('spec.taints', index);
    checks.text(`${path}.key`, key ?? '', labelKeyProblems);
    checks.text(`${path}.value`, value, labelValueProblems);
    if (checks.required(`${path}.effect`, effect)) checks.oneOf(`${path}.effect`, effect, EFFECTS);
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) checks.add(duplicate(path, { key, effect }));
    seen.add(identity);
  }
  for (const field of ['capacity', 'allocatable']) {
    for (const [resource, amount] of Object.entries(mapOf(node.status?.[field]) ?? {})) {
      checks.quantity(`status.${field}[${resource}]`, amount);
    }
  }
  return checks.errors;
}

export function validateNodeUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const [before, after] = [current.spec?.providerID, next.spec?.providerID];
  if (before && before !== after)
    checks.add(
      forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
    );
  if (stringsOf(current.spec?.podCIDRs).length > 0) {
    checks.immutable('spec.podCIDRs', next.spec?.podCIDRs, current.spec?.podCIDRs);
  }
  return checks.errors;
}

export function validateNamespaceUpdate(next: Loose, current: Loose, subresource: Subresource): FieldError[] {
  const checks = new Checks();
  if (subresource === 'status') {
    const terminating = current.metadata.deletionTimestamp !== undefined;
    const phase = next.status?.phase;
    if (terminating ? phase !== 'Terminating' : phase !== 'Active') {
      checks.oneOf('status.phase', phase ?? '', [terminating ? 'Terminating' : 'Active']);
    }
  }
  return checks.errors;
}

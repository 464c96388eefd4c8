// Writes to a part of a pod: `ephemeralcontainers` (kubectl debug) and `resize`, in Kubernetes' words.

import { dns1123LabelProblems } from '../../api/names.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf, mapsOf } from '../kinds/loose.ts';
import { qosClassOf } from '../kinds/qos.ts';
import { at, Checks, duplicate, forbidden, invalid, notFound } from './checks.ts';

/** A container that was not planned for can have no ports, and nothing that depends on a restart. */
const NOT_EPHEMERAL = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'];

export function validateEphemeralContainers(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const spec = mapOf(next.spec) ?? {};
  const own = new Set(mapsOf(spec.containers).map(({ name }) => name));
  const names = new Set([...own, ...mapsOf(spec.initContainers).map(({ name }) => name)]);
  for (const [index, container] of mapsOf(spec.ephemeralContainers).entries()) {
    const field = at('spec.ephemeralContainers', index);
    if (checks.required(`${field}.name`, container.name)) {
      checks.text(`${field}.name`, container.name, dns1123LabelProblems);
    }
    if (names.has(container.name)) checks.add(duplicate(`${field}.name`, container.name));
    names.add(container.name);
    checks.required(`${field}.image`, container.image);
    const target = container.targetContainerName;
    if (target && !own.has(target)) checks.add(notFound(`${field}.targetContainerName`, target));
    for (const part of NOT_EPHEMERAL) {
      if (container[part] !== undefined) {
        checks.add(forbidden(`${field}.${part}`, 'cannot be set for an Ephemeral Container'));
      }
    }
  }
  const after = mapsOf(spec.ephemeralContainers);
  for (const before of mapsOf(mapOf(current.spec)?.ephemeralContainers)) {
    const same = after.find(({ name }) => name === before.name);
    const what = `existing ephemeral containers "${before.name}" may not be`;
    if (same === undefined) checks.add(forbidden('spec.ephemeralContainers', `${what} removed\n`));
    else if (!sameJson(same, before)) checks.add(forbidden('spec.ephemeralContainers', `${what} changed\n`));
  }
  return checks.errors;
}

export function validateResize(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const qosClass = current.status?.qosClass;
  if (qosClass && qosClassOf(mapOf(next.spec) ?? {}) !== qosClass) {
    checks.add(invalid('spec', qosClass, 'Pod QOS Class may not change as a result of resizing'));
  }
  return checks.errors;
}

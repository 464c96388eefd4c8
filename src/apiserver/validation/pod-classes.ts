// PriorityClasses and RuntimeClasses, in Kubernetes' words.

import { dns1123LabelProblems, labelKeyProblems, labelValueProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { HIGHEST_USER_PRIORITY, SYSTEM_PRIORITIES } from '../bootstrap/priority-classes.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf, mapsOf } from '../kinds/loose.ts';
import { at, Checks, forbidden } from './checks.ts';
import { checkToleration } from './pod.ts';

/** At creation: afterwards only what may not change is checked. */
export function validatePriorityClass(priorityClass: Loose, current?: Loose): FieldError[] {
  const checks = new Checks();
  if (current !== undefined) return checks.errors;
  const { name = '' } = priorityClass.metadata;
  const value = Number(priorityClass.value ?? 0);
  const reserved = getOwn(SYSTEM_PRIORITIES, name);
  if (name.startsWith('system-') && reserved !== value) {
    checks.add(
      forbidden(
        'metadata.name',
        "priority class names with 'system-' prefix are reserved for system use only. " +
          (reserved === undefined
            ? 'error: the name is not in the list of system priority classes'
            : `error: its value must be ${reserved}`),
      ),
    );
  } else if (reserved === undefined && value > HIGHEST_USER_PRIORITY) {
    checks.add(
      forbidden('value', `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`),
    );
  }
  checks.oneOf('preemptionPolicy', priorityClass.preemptionPolicy, ['Never', 'PreemptLowerPriority']);
  return checks.errors;
}

export function validatePriorityClassUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  const detail = 'may not be changed in an update.';
  if ((next.value ?? 0) !== (current.value ?? 0)) checks.add(forbidden('value', detail));
  checks.immutable('preemptionPolicy', next.preemptionPolicy, current.preemptionPolicy);
  return checks.errors;
}

export function validateRuntimeClass(runtimeClass: Loose): FieldError[] {
  const checks = new Checks();
  if (checks.required('handler', runtimeClass.handler)) {
    checks.text('handler', runtimeClass.handler, dns1123LabelProblems);
  }
  for (const [name, amount] of Object.entries(mapOf(mapOf(runtimeClass.overhead)?.podFixed) ?? {})) {
    checks.quantity(`overhead.limits[${name}]`, amount);
  }
  const { nodeSelector, tolerations } = mapOf(runtimeClass.scheduling) ?? {};
  for (const [key, value] of Object.entries(mapOf(nodeSelector) ?? {})) {
    checks.text('scheduling.nodeSelector', key, labelKeyProblems);
    checks.text('scheduling.nodeSelector', value, labelValueProblems);
  }
  for (const [index, toleration] of mapsOf(tolerations).entries()) {
    checkToleration(checks, at('scheduling.tolerations', index), toleration);
  }
  return checks.errors;
}

export function validateRuntimeClassUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('handler', next.handler, current.handler);
  return checks.errors;
}

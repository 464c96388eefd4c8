// PriorityClasses and RuntimeClasses, in Kubernetes' words.

import { dns1123LabelProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { HIGHEST_USER_PRIORITY, SYSTEM_PRIORITIES } from '../bootstrap/priority-classes.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { Checks, forbidden } from './checks.ts';

export function validatePriorityClass(priorityClass: Loose): FieldError[] {
  const checks = new Checks();
  const { name } = priorityClass.metadata;
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
    checks.quantity(`overhead.podFixed[${name}]`, amount);
  }
  return checks.errors;
}

export function validateRuntimeClassUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  checks.immutable('handler', next.handler, current.handler);
  return checks.errors;
}

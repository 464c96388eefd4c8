// Events, of the core group and of events.k8s.io.

import type { FieldError } from '../kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { Checks, invalid, tooLong } from './checks.ts';

/** Events of cluster-scoped objects are in `default`. */
export function validateEvent(event: Loose): FieldError[] {
  const checks = new Checks();
  const involved = mapOf(event.involvedObject)?.namespace;
  checkNamespace(checks, 'involvedObject.namespace', event, involved);
  return checks.errors;
}

function checkNamespace(checks: Checks, field: string, event: Loose, involved: unknown): void {
  const namespace = event.metadata.namespace;
  if (involved && involved !== namespace) {
    checks.add(invalid(field, involved, 'does not match event.namespace'));
  } else if (!involved && namespace !== 'default' && namespace !== 'kube-system') {
    checks.add(invalid(field, '', 'does not match event.namespace'));
  }
}

export function validateNewEvent(event: Loose): FieldError[] {
  const checks = new Checks();
  checkNamespace(checks, 'regarding.namespace', event, mapOf(event.regarding)?.namespace);
  checks.required('eventTime', event.eventTime);
  checks.required('reportingController', event.reportingController);
  checks.required('reportingInstance', event.reportingInstance);
  checks.required('action', event.action);
  checks.required('reason', event.reason);
  checks.oneOf('type', event.type ?? '', ['Normal', 'Warning']);
  for (const [field, max] of [
    ['reportingInstance', 128],
    ['action', 128],
    ['reason', 128],
    ['note', 1024],
  ] as const) {
    if (Buffer.byteLength(String(event[field] ?? '')) > max) checks.add(tooLong(field, max));
  }
  return checks.errors;
}

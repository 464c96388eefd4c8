// Events. Those of events.k8s.io are validated in the form of the core group, whose field names the errors carry, and more
// strictly: nothing but their series changes.

import { qualifiedNameProblems } from '../../api/names.ts';
import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { FieldError } from '../kind.ts';
import { type Loose, mapOf } from '../kinds/loose.ts';
import { Checks, invalid } from './checks.ts';

const MAX_LENGTHS = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

export function validateEvent(event: Loose): FieldError[] {
  const checks = new Checks();
  checkEvent(checks, event, 'reportingComponent');
  return checks.errors;
}

/** `reporting`: the name of the reporting controller in the client's version. */
function checkEvent(checks: Checks, event: Loose, reporting: string): void {
  const { namespace } = event.metadata;
  const involved = mapOf(event.involvedObject)?.namespace;
  const isNew = Boolean(event.eventTime);
  // Events of cluster-scoped objects are in `default`.
  const isElsewhere = involved
    ? !isNew && involved !== namespace
    : namespace !== 'default' && !(isNew && namespace === 'kube-system');
  if (isElsewhere) {
    checks.add(invalid('involvedObject.namespace', involved ?? '', 'does not match event.namespace'));
  }
  if (!isNew) return;
  checks.required(reporting, event.reportingComponent);
  checks.text(reporting, event.reportingComponent ?? '', qualifiedNameProblems);
  for (const field of ['reportingInstance', 'action', 'reason']) checks.required(field, event[field]);
  for (const [field, max] of Object.entries(MAX_LENGTHS)) {
    if (Buffer.byteLength(String(getOwn(event, field) ?? '')) > max) {
      checks.add(invalid(field, '', `can have at most ${max} characters`));
    }
  }
}

/** The rules of events.k8s.io, on the core group's form; `current` where one is replaced. */
export function validateNewEvent(event: Loose, current: Loose | undefined): FieldError[] {
  const checks = new Checks();
  checkEvent(checks, event, 'reportingController');
  if (current !== undefined) return checks.errors;
  checkSeries(checks, event);
  checks.required('eventTime', event.eventTime);
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    checks.add(invalid('type', '', `has invalid value: ${event.type ?? ''}`));
  }
  const source = mapOf(event.source) ?? {};
  for (const [field, value] of Object.entries({
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: source.component || source.host,
  })) {
    if (value) checks.add(invalid(field, '', 'needs to be unset'));
  }
  return checks.errors;
}

function checkSeries(checks: Checks, event: Loose): void {
  const series = mapOf(event.series);
  if (!series) return;
  if (!(Number(series.count) >= 2)) checks.add(invalid('series.count', '', 'should be at least 2'));
  checks.required('series.lastObservedTime', series.lastObservedTime);
}

const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingInstance',
];

export function validateNewEventUpdate(next: Loose, current: Loose): FieldError[] {
  const checks = new Checks();
  if (!sameJson(next.series, current.series)) checkSeries(checks, next);
  for (const field of FIXED) checks.immutable(field, emptied(next[field]), emptied(current[field]));
  checks.immutable(
    'reportingController',
    emptied(next.reportingComponent),
    emptied(current.reportingComponent),
  );
  return checks.errors;
}

/** Kubernetes does not tell an empty value from an absent one here. */
function emptied(value: unknown): unknown {
  return value === '' || value === 0 || sameJson(value, {}) ? undefined : value;
}

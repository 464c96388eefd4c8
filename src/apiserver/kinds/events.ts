// events.k8s.io/v1 Event: a view of the core group's events under newer field names. Nothing is stored under this
// group.

import { events } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import type { Kind } from '../kind.ts';
import { eventColumns } from '../printing/core-columns.ts';
import { validateNewEvent, validateNewEventUpdate } from '../validation/event.ts';
import { defineKind } from './define-kind.ts';
import type { Loose } from './loose.ts';

/** Newer name → name in the core group. */
const RENAMED: Readonly<Record<string, string>> = {
  note: 'message',
  regarding: 'involvedObject',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};
const RENAMED_BACK = Object.fromEntries(Object.entries(RENAMED).map(([newer, older]) => [older, newer]));

function renamed(
  object: KubeObject,
  names: Readonly<Record<string, string>>,
  apiVersion: string,
): KubeObject {
  const entries = Object.entries(object).map(([field, value]) => [getOwn(names, field) ?? field, value]);
  return { ...Object.fromEntries(entries), apiVersion, kind: 'Event' };
}

const toCoreEvent = (object: KubeObject): KubeObject => renamed(object, RENAMED, 'v1');
const fromCoreEvent = (object: KubeObject): KubeObject => renamed(object, RENAMED_BACK, 'events.k8s.io/v1');

const eventKind = defineKind({
  group: 'events.k8s.io',
  version: 'v1',
  module: 'events/v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  shortNames: ['ev'],
  columns: eventColumns.map((column) => ({
    ...column,
    cell: (object: KubeObject, nowMs: number) => column.cell(toCoreEvent(object), nowMs),
  })),
  validate: (event, current) => validateNewEvent(toCoreEvent(event), current && toCoreEvent(current)),
  validateUpdate: (next, current) => validateNewEventUpdate(toCoreEvent(next), toCoreEvent(current)),
  storedAs: { resource: events, toStored: toCoreEvent, fromStored: fromCoreEvent },
  selectable: {
    reason: (event: Loose) => event.reason,
    type: (event: Loose) => event.type,
    reportingController: (event: Loose) => event.reportingController,
    'regarding.kind': (event: Loose) => event.regarding?.kind,
    'regarding.namespace': (event: Loose) => event.regarding?.namespace,
    'regarding.name': (event: Loose) => event.regarding?.name,
    'regarding.uid': (event: Loose) => event.regarding?.uid,
    'regarding.apiVersion': (event: Loose) => event.regarding?.apiVersion,
    'regarding.resourceVersion': (event: Loose) => event.regarding?.resourceVersion,
    'regarding.fieldPath': (event: Loose) => event.regarding?.fieldPath,
  },
});

export const eventsKinds: readonly Kind[] = [eventKind];

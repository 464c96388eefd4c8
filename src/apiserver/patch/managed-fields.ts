// Who owns which field: reads and writes `metadata.managedFields`, and tracks ordinary writes in it. Server-side
// apply stands on the same functions (server-side-apply.ts).

import { apiVersionOf, type KubeObject, type ManagedFieldsEntry } from '../../api/object.ts';
import type { Kind, Subresource } from '../kind.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  formatFields,
  intersects,
  isEmptySet,
  parseFields,
  union,
  withoutBelow,
} from './field-set.ts';
import { compareFields } from './field-walk.ts';
import type { Json } from './json.ts';

/** One owner: a name, how it writes, through which version and subresource. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  time: string | undefined;
  fields: FieldSet;
  /** As it was read; written again as it is while the fields stay the same set. */
  readonly read?: { readonly fields: FieldSet; readonly entry: ManagedFieldsEntry };
}

export interface TrackOptions {
  /** Changed in place: its `metadata.managedFields`. */
  next: KubeObject;
  current: KubeObject | undefined;
  manager: string;
  operation: 'Update';
  kind: Kind;
  subresource: Subresource;
  nowMs: number;
}

/** Beyond this many, the oldest ordinary writers are summed up as one. */
const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = 'ancient-changes';

/** Records an ordinary write: what it changed is its writer's, and nobody else's any more. */
export function trackManagedFields({ next, current, manager, kind, subresource, nowMs }: TrackOptions): void {
  if (kind.virtual) return;
  const sent = next.metadata.managedFields;
  const managers = wantsReset(sent)
    ? []
    : readManagers(sent?.length ? sent : current?.metadata.managedFields);
  const { changed, removed } = compareFields(current && bodyOf(current), bodyOf(next), kind.schema());
  const written = owned(changed, kind, subresource);
  const gone = owned(removed, kind, subresource);
  const writer = findOrAdd(managers, {
    manager: manager || 'unknown',
    operation: 'Update',
    kind,
    subresource,
  });
  for (const each of managers) {
    if (each !== writer && intersects(written, each.fields)) {
      each.fields = difference(each.fields, written);
    }
    if (!isEmptySet(gone)) each.fields = withoutBelow(each.fields, gone);
  }
  if (isEmptySet(written)) {
    writeManagers(next, managers);
    return;
  }
  writer.fields = union(writer.fields, written);
  writer.time = stamp(nowMs);
  writeManagers(next, capped(managers));
}

export function stamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

/** A client that sends one empty entry asks to forget all ownership. */
function wantsReset(entries: ManagedFieldsEntry[] | undefined): boolean {
  return entries?.length === 1 && Object.keys(entries[0] ?? {}).length === 0;
}

/** Neither the text of fields nor a set of them is ever changed once it is made, so each needs to be read only once. */
const known = new WeakMap<object, FieldSet>();

function readFields(text: unknown): FieldSet {
  if (typeof text !== 'object' || text === null) return parseFields(text);
  let fields = known.get(text);
  if (fields === undefined) {
    fields = parseFields(text);
    known.set(text, fields);
  }
  return fields;
}

function writeFields(fields: FieldSet): Record<string, unknown> {
  const text = formatFields(fields);
  known.set(text, fields);
  return text;
}

export function readManagers(entries: ManagedFieldsEntry[] | undefined): Manager[] {
  return (entries ?? [])
    .filter((entry) => entry.operation === 'Apply' || entry.operation === 'Update')
    .map((entry) => {
      const fields = readFields(entry.fieldsV1);
      return {
        manager: entry.manager ?? 'unknown',
        operation: entry.operation as Manager['operation'],
        apiVersion: entry.apiVersion ?? '',
        subresource: entry.subresource ?? '',
        time: entry.time,
        fields,
        read: { fields, entry },
      };
    });
}

export function findOrAdd(
  managers: Manager[],
  wanted: { manager: string; operation: Manager['operation']; kind: Kind; subresource: Subresource },
): Manager {
  const { manager, operation, kind, subresource } = wanted;
  const apiVersion = apiVersionOf(kind);
  const found = managers.find(
    (each) =>
      each.manager === manager &&
      each.operation === operation &&
      each.apiVersion === apiVersion &&
      each.subresource === subresource,
  );
  if (found) return found;
  const made: Manager = { manager, operation, apiVersion, subresource, time: undefined, fields: emptySet() };
  managers.push(made);
  return made;
}

/** Empty owners vanish; appliers come first, then by time, then by name. */
export function writeManagers(object: KubeObject, managers: readonly Manager[]): void {
  const entries = managers
    .filter((each) => !isEmptySet(each.fields))
    .sort(
      (a, b) =>
        compareText(a.operation, b.operation) ||
        compareText(a.time ?? '', b.time ?? '') ||
        compareText(a.manager, b.manager) ||
        compareText(a.subresource, b.subresource),
    )
    .map(entryOf);
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

function entryOf(each: Manager): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource, time, fields, read } = each;
  if (read && read.fields === fields && read.entry.time === time && read.entry.manager === manager)
    return read.entry;
  return {
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: writeFields(fields),
    manager,
    operation,
    ...(subresource ? { subresource } : {}),
    ...(time ? { time } : {}),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function capped(managers: readonly Manager[]): Manager[] {
  const updates = managers.filter((each) => each.operation === 'Update' && !isEmptySet(each.fields));
  if (updates.length <= MAX_UPDATE_MANAGERS) return [...managers];
  const byAge = updates
    .filter((each) => each.subresource === '')
    .sort((a, b) => compareText(a.time ?? '', b.time ?? ''));
  const old = byAge.slice(0, updates.length - MAX_UPDATE_MANAGERS + 1);
  const [first] = old;
  if (!first) return [...managers];
  const ancient: Manager = {
    ...first,
    manager: ANCIENT,
    time: old.at(-1)?.time,
    fields: old.map((each) => each.fields).reduce(union),
  };
  return [...managers.filter((each) => !old.includes(each)), ancient];
}

/** The object as owners see it: without what identifies it, and what the server alone writes. */
export function bodyOf(object: KubeObject): Json {
  const { apiVersion, kind, metadata, ...rest } = object as KubeObject & Record<string, Json>;
  const { labels, annotations, finalizers, ownerReferences, generateName } = metadata;
  const kept = Object.entries({ labels, annotations, finalizers, ownerReferences, generateName });
  const present = kept.filter(([, value]) => value !== undefined);
  const body = present.length > 0 ? { ...rest, metadata: Object.fromEntries(present) } : rest;
  return body as Json;
}

/** What a write through this subresource may own at all: status belongs to status writes. */
export function owned(fields: FieldSet, kind: Kind, subresource: Subresource): FieldSet {
  const children = new Map(fields.children);
  if (subresource === 'status') {
    for (const edge of children.keys())
      if (edge !== 'f:status' && edge !== 'f:metadata') children.delete(edge);
  } else if (subresource === '' && kind.subresources.includes('status')) {
    children.delete('f:status');
  }
  return { member: false, children };
}

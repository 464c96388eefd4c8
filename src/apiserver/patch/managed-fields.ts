// Field ownership: reads and writes `metadata.managedFields`, and tracks ordinary writes in it. Server-side apply uses
// the same functions (server-side-apply.ts).

import { apiVersionOf, type KubeObject, type ManagedFieldsEntry } from '../../api/object.ts';
import type { Kind, Subresource } from '../kind.ts';
import { timestamp } from '../timestamp.ts';
import { changesBetween } from './changes-between.ts';
import {
  difference,
  formatFields,
  intersects,
  isEmptySet,
  parseFields,
  union,
  withoutBelow,
} from './field-set.ts';
import type { FieldSet, FieldSets } from './field-sets.ts';
/** One owner: a manager with operation, version and subresource. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  time: string | undefined;
  fields: FieldSet;
  /** The entry as it was read; written back unchanged while the set of fields is the same. */
  readonly read?: { readonly fields: FieldSet; readonly entry: ManagedFieldsEntry };
}

export interface TrackOptions {
  /** Mutated in place: its `metadata.managedFields`. */
  next: KubeObject;
  current: KubeObject | undefined;
  manager: string;
  operation: 'Update';
  kind: Kind;
  subresource: Subresource;
  nowMs: number;
  fieldSets: FieldSets;
}

/** Beyond this many, the oldest entries of ordinary writers are merged into one. */
const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = 'ancient-changes';

/** Records an ordinary write: its writer becomes the only owner of what it changed. */
export function trackManagedFields(options: TrackOptions): void {
  const { next, current, manager, kind, subresource, nowMs, fieldSets } = options;
  if (kind.virtual) return;
  const recorded = current?.metadata.managedFields;
  // Ownership is edited through the object itself only.
  if (subresource !== '' && recorded !== undefined) next.metadata.managedFields = recorded;
  const sent = next.metadata.managedFields;
  const { changed, removed } = changesBetween(current, next, options);
  if (!changed && !removed && sent !== undefined && sent === recorded) return;
  const managers = wantsReset(sent) ? [] : readManagers(sent ?? recorded, fieldSets);
  // Ownership that was dropped is not recorded again before the next apply.
  if (current !== undefined && managers.length === 0) {
    writeManagers(next, managers);
    return;
  }
  const writer =
    changed &&
    findOrAdd(managers, {
      manager: manager || 'unknown',
      operation: 'Update',
      kind,
      subresource,
      fieldSets,
    });
  for (const each of managers) {
    if (changed && each !== writer && intersects(changed, each.fields)) {
      each.fields = difference(each.fields, changed);
    }
    if (removed) each.fields = withoutBelow(each.fields, removed);
  }
  if (changed && writer) {
    writer.fields = union(writer.fields, changed);
    writer.time = timestamp(nowMs);
  }
  writeManagers(next, changed ? capped(managers) : managers);
}

/** A client that sends an empty list, or one empty entry, asks to drop all ownership. */
function wantsReset(entries: ManagedFieldsEntry[] | undefined): boolean {
  if (entries === undefined || entries.length > 1) return false;
  return Object.keys(entries[0] ?? {}).length === 0;
}

/** A cache: neither `fieldsV1` of a stored object nor a FieldSet is ever changed. */
const known = new WeakMap<object, FieldSet>();

function readFields(text: unknown, sets: FieldSets): FieldSet {
  if (typeof text !== 'object' || text === null) return parseFields(text, sets);
  let fields = known.get(text);
  // Servers that start from one image share its objects.
  if (fields?.maker !== sets) {
    fields = parseFields(text, sets);
    known.set(text, fields);
  }
  return fields;
}

export function readManagers(entries: ManagedFieldsEntry[] | undefined, sets: FieldSets): Manager[] {
  const managers: Manager[] = [];
  for (const entry of entries ?? []) {
    const { operation } = entry;
    if (operation !== 'Apply' && operation !== 'Update') continue;
    const fields = readFields(entry.fieldsV1, sets);
    managers.push({
      manager: entry.manager ?? 'unknown',
      operation,
      apiVersion: entry.apiVersion ?? '',
      subresource: entry.subresource ?? '',
      time: entry.time,
      fields,
      read: { fields, entry },
    });
  }
  return managers;
}

export function findOrAdd(
  managers: Manager[],
  wanted: {
    manager: string;
    operation: Manager['operation'];
    kind: Kind;
    subresource: Subresource;
    fieldSets: FieldSets;
  },
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
  const made: Manager = {
    manager,
    operation,
    apiVersion,
    subresource,
    time: undefined,
    fields: wanted.fieldSets.empty,
  };
  managers.push(made);
  return made;
}

/** Empty entries are removed; appliers come first, then by time, then by name. */
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
  const last = fields.entry;
  if (last !== undefined && isOf(last, each)) return last;
  const fieldsV1 = formatFields(fields);
  known.set(fieldsV1, fields);
  const entry: ManagedFieldsEntry = {
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1,
    manager,
    operation,
  };
  if (subresource) entry.subresource = subresource;
  if (time) entry.time = time;
  fields.entry = entry;
  fields.entryJson = undefined;
  return entry;
}

function isOf(entry: ManagedFieldsEntry, each: Manager): boolean {
  return (
    entry.manager === each.manager &&
    entry.operation === each.operation &&
    entry.apiVersion === each.apiVersion &&
    (entry.subresource ?? '') === each.subresource &&
    entry.time === each.time
  );
}

/** An entry as JSON. Cached: many objects have the same fields, or even the same entry. */
export function entryText(entry: ManagedFieldsEntry): string {
  const fields = known.get(entry.fieldsV1 ?? entry);
  if (fields === undefined || fields.text !== entry.fieldsV1) return JSON.stringify(entry);
  if (fields.entry !== entry) return textWith(fields, entry);
  fields.entryJson ??= textWith(fields, entry);
  return fields.entryJson;
}

function textWith(fields: FieldSet, entry: ManagedFieldsEntry): string {
  fields.json ??= JSON.stringify(fields.text);
  const { fieldsV1: _fields, ...rest } = entry;
  return `${JSON.stringify(rest).slice(0, -1)},"fieldsV1":${fields.json}}`;
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

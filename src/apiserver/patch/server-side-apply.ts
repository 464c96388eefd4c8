// Server-side apply: merges a manager's configuration into the live object, rejects conflicts with other owners unless
// forced, and removes fields that the manager applied before, applies no longer, and no one else owns.

import { asText } from '../../api/as-text.ts';
import { apiVersionOf, type KubeObject } from '../../api/object.ts';
import { getOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Kind, Subresource } from '../kind.ts';
import { timestamp } from '../timestamp.ts';
import { appliedFields, changesBetween, OWNED_METADATA } from './changes-between.ts';
import { problemOfApplied } from './check-applied.ts';
import { difference, equalSets, intersection, isEmptySet, pathsOf, union } from './field-set.ts';
import type { FieldSet, FieldSets } from './field-sets.ts';
import { mergeApplied, removeFields } from './field-walk.ts';
import { copyJson, isJsonObject, type Json, type JsonObject, PatchError } from './json.ts';
import { findOrAdd, type Manager, readManagers, writeManagers } from './managed-fields.ts';

export interface ApplyOptions {
  patch: Json;
  current: KubeObject | undefined;
  kind: Kind;
  fieldManager: string;
  force: boolean;
  subresource: Subresource;
  nowMs: number;
  fieldSets: FieldSets;
}

export function applyServerSide(options: ApplyOptions): KubeObject {
  const { current, fieldManager } = options;
  const { applied, fields } = checkedPatch(options);
  if (!current) return createApplied(applied, fields, options);
  try {
    return mergeInto(current, applied, fields, options);
  } catch (error) {
    if (fieldManager !== KUBECTL || !(error instanceof ApplyConflict)) throw error;
    const migrated = appliedBefore(current, options);
    const left = error.conflicts
      .map(({ manager, fields: own }) => ({ manager, fields: difference(own, migrated) }))
      .filter((each) => !isEmptySet(each.fields));
    if (left.length > 0) throw new ApplyConflict(left);
    return mergeInto(current, applied, fields, { ...options, force: true });
  }
}

function createApplied(applied: KubeObject, fields: FieldSet, options: ApplyOptions): KubeObject {
  const created = copyJson(applied);
  const managers: Manager[] = [];
  const applier = findOrAdd(managers, applierOf(options));
  Object.assign(applier, { fields, time: timestamp(options.nowMs) });
  writeManagers(created, managers);
  return created;
}

const applierOf = ({ fieldManager, kind, subresource, fieldSets }: ApplyOptions) =>
  ({ manager: fieldManager, operation: 'Apply', kind, subresource, fieldSets }) as const;

function mergeInto(
  current: KubeObject,
  applied: KubeObject,
  fields: FieldSet,
  options: ApplyOptions,
): KubeObject {
  const { kind, force, fieldSets, fieldManager } = options;
  const schema = kind.schema();
  const managers = managersOf(current, options);
  const applier = findOrAdd(managers, applierOf(options));
  const others = managers.filter((each) => each !== applier);
  const merged = mergeApplied(current as unknown as Json, applied as unknown as Json, schema, fieldSets);
  const result = dropAbandoned(merged, {
    schema,
    before: applier.fields,
    now: fields,
    others,
  }) as unknown as KubeObject;
  const { changed } = changesBetween(current, result, options);
  if (changed) resolveConflicts(others, changed, force);
  if (fieldManager === KUBECTL) syncLastApplied(result, applied);
  const unchanged = equalSets(applier.fields, fields) && sameJson(bodyOf(result), bodyOf(current));
  if (!unchanged || applier.time === undefined) applier.time = timestamp(options.nowMs);
  applier.fields = fields;
  writeManagers(result, managers);
  return result;
}

/** On the first apply to an object without ownership, everything in it belongs to whoever wrote it before. */
function managersOf(current: KubeObject, { kind, fieldSets, nowMs }: ApplyOptions): Manager[] {
  const managers = readManagers(current.metadata.managedFields, fieldSets);
  if (managers.length > 0) return managers;
  const { changed } = changesBetween(undefined, current, { kind, subresource: '', fieldSets });
  const before = findOrAdd(managers, {
    manager: BEFORE_FIRST_APPLY,
    operation: 'Update',
    kind,
    subresource: '',
    fieldSets,
  });
  Object.assign(before, { fields: changed ?? fieldSets.empty, time: timestamp(nowMs) });
  return managers;
}

const BEFORE_FIRST_APPLY = 'before-first-apply';
/** The manager of `kubectl apply --server-side`, which takes over what `kubectl apply` wrote before. */
const KUBECTL = 'kubectl';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Of all annotations of an object. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** The fields that client-side apply wrote last and that still have its value. */
function appliedBefore(current: KubeObject, options: ApplyOptions): FieldSet {
  const { kind, fieldSets } = options;
  const text = getOwn(current.metadata.annotations, LAST_APPLIED);
  const last = text === undefined ? undefined : parsedObject(text);
  if (last === undefined || last.apiVersion !== apiVersionOf(kind)) return fieldSets.empty;
  last.metadata ??= {} as KubeObject['metadata'];
  const fields = appliedFields(last, options);
  const { changed, removed } = changesBetween(last, current, options);
  return [changed, removed].reduce((rest: FieldSet, each) => (each ? difference(rest, each) : rest), fields);
}

function parsedObject(text: string): KubeObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? (value as unknown as KubeObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Where client-side apply left its annotation, it is kept up to date, so that a user may go back to it. */
function syncLastApplied(result: KubeObject, applied: KubeObject): void {
  const { annotations } = result.metadata;
  if (annotations === undefined || getOwn(annotations, LAST_APPLIED) === undefined) return;
  const { annotations: own, ...metadata } = applied.metadata;
  const { [LAST_APPLIED]: _last, ...rest } = own ?? {};
  const kept = Object.keys(rest).length > 0 ? { ...metadata, annotations: rest } : metadata;
  const text = `${JSON.stringify(sortedKeys({ ...applied, metadata: kept } as unknown as Json))}\n`;
  const updated = { ...annotations, [LAST_APPLIED]: text };
  const bytes = Object.entries(updated).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  if (bytes > MAX_ANNOTATION_BYTES) delete (updated as Record<string, string>)[LAST_APPLIED];
  result.metadata.annotations = updated;
}

function sortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sortedKeys(each)]));
}

/** The object without what is not tracked in field ownership. */
function bodyOf(object: KubeObject): Json {
  const { apiVersion, kind, metadata, ...rest } = object as KubeObject & Record<string, Json>;
  const present = OWNED_METADATA.filter((field) => metadata[field] !== undefined);
  const body =
    present.length > 0
      ? { ...rest, metadata: Object.fromEntries(present.map((field) => [field, metadata[field]])) }
      : rest;
  return body as Json;
}

/** The configuration and what it claims. Its values are decoded after the merge, so that conflicts come first. */
function checkedPatch(options: ApplyOptions): { applied: KubeObject; fields: FieldSet } {
  const { patch, kind } = options;
  if (!isJsonObject(patch)) throw new PatchError('an apply patch must be a whole object');
  const { apiVersion, kind: name, metadata } = patch;
  if (apiVersion !== apiVersionOf(kind) || name !== kind.kind) {
    throw new PatchError(
      `the apply patch must be a ${kind.kind} of ${apiVersionOf(kind)}, it says ${asText(name)} of ${asText(apiVersion)}`,
    );
  }
  const managed = isJsonObject(metadata) ? metadata.managedFields : undefined;
  if (Array.isArray(managed)) throw new PatchError('metadata.managedFields must be nil');
  const { managedFields: given, ...rest } = isJsonObject(metadata) ? metadata : ({} as JsonObject);
  const applied = copyJson({ ...patch, metadata: rest }) as unknown as KubeObject;
  const isOdd = given !== undefined && given !== null;
  const problem = isOdd ? '.metadata.managedFields: expected list' : problemOfApplied(applied, kind);
  if (problem !== undefined) throw untyped(applied, kind, problem);
  return { applied, fields: appliedFields(applied, options) };
}

function untyped({ metadata }: KubeObject, kind: Kind, problem: string): PatchError {
  const { group, version } = kind;
  const object = `(${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${group}/${version}, Kind=${kind.kind})`;
  return new PatchError(`failed to create typed patch object ${object}: ${problem}`, 'Unknown');
}

/** Maximum number of conflicts listed. */
const MAX_LISTED = 100;

/** Without force, changing a field of another owner is a conflict; with force, ownership moves. */
function resolveConflicts(others: readonly Manager[], changed: FieldSet, force: boolean): void {
  const conflicts = others
    .map((manager) => ({ manager, fields: intersection(manager.fields, changed) }))
    .filter(({ fields }) => !isEmptySet(fields));
  if (conflicts.length === 0) return;
  if (!force) throw new ApplyConflict(conflicts);
  for (const { manager, fields } of conflicts) manager.fields = difference(manager.fields, fields);
}

type Conflicts = readonly { readonly manager: Manager; readonly fields: FieldSet }[];

class ApplyConflict extends KubeError {
  readonly conflicts: Conflicts;

  constructor(conflicts: Conflicts) {
    super({ reason: 'Conflict', code: 409, ...describeConflicts(conflicts) });
    this.conflicts = conflicts;
  }
}

function describeConflicts(conflicts: Conflicts): { message: string; details: object } {
  const each = conflicts
    .map(({ manager, fields }) => ({ who: managerText(manager), paths: pathsOf(fields) }))
    .sort((a, b) => (a.who < b.who ? -1 : 1));
  const count = each.reduce((sum, { paths }) => sum + paths.length, 0);
  const causes = each
    .flatMap(({ who, paths }) => paths.slice(0, MAX_LISTED).map((field) => ({ who, field })))
    .slice(0, MAX_LISTED)
    .map(({ who, field }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field }));
  const [only] = causes;
  const message =
    count === 1 && only
      ? `Apply failed with 1 conflict: ${only.message}: ${only.field}`
      : `Apply failed with ${count} conflicts: ${each
          .flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...listed(paths)])
          .join('\n')}`;
  return { message, details: { causes } };
}

function listed(paths: readonly string[]): string[] {
  const lines = paths.slice(0, MAX_LISTED).map((path) => `- ${path}`);
  return paths.length > MAX_LISTED ? [...lines, `- and ${paths.length - MAX_LISTED} more`] : lines;
}

function managerText({ manager, operation, apiVersion, subresource, time }: Manager): string {
  const name =
    JSON.stringify(manager) + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : '');
  if (operation === 'Apply') return name;
  return `${name} using ${apiVersion}${time ? ` at ${time}` : ''}`;
}

function dropAbandoned(
  merged: Json,
  {
    schema,
    before,
    now,
    others,
  }: { schema: ReturnType<Kind['schema']>; before: FieldSet; now: FieldSet; others: readonly Manager[] },
): Json {
  const abandoned = difference(before, now);
  if (isEmptySet(abandoned)) return merged;
  const kept = others.reduce((sum, each) => union(sum, each.fields), now);
  return removeFields(merged, schema, difference(abandoned, kept), kept) ?? merged;
}

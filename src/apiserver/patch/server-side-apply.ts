// Server-side apply: merges a manager's configuration into the live object, rejects conflicts with other owners unless
// forced, and removes fields that the manager applied before, applies no longer, and no one else owns.

import { asText } from '../../api/as-text.ts';
import { apiVersionOf, type KubeObject } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { Kind, Subresource } from '../kind.ts';
import { timestamp } from '../timestamp.ts';
import { decodeValues } from '../validation/unknown-fields.ts';
import { changesBetween, OWNED_METADATA } from './changes-between.ts';
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
  const { kind, force, subresource, current, fieldSets } = options;
  const applied = checkedPatch(options.patch, kind);
  const schema = kind.schema();
  const fields = changesBetween(undefined, applied, options).changed ?? fieldSets.empty;
  if (!current) {
    const created = copyJson(applied);
    const managers: Manager[] = [];
    const applier = findOrAdd(managers, {
      manager: options.fieldManager,
      operation: 'Apply',
      kind,
      subresource,
      fieldSets,
    });
    Object.assign(applier, { fields, time: timestamp(options.nowMs) });
    writeManagers(created, managers);
    return created;
  }
  const managers = readManagers(current.metadata.managedFields, fieldSets);
  const applier = findOrAdd(managers, {
    manager: options.fieldManager,
    operation: 'Apply',
    kind,
    subresource,
    fieldSets,
  });
  const others = managers.filter((each) => each !== applier);
  const merged = mergeApplied(current as unknown as Json, applied as unknown as Json, schema, fieldSets);
  const { changed } = changesBetween(current, merged as unknown as KubeObject, options);
  if (changed) resolveConflicts(others, changed, force);
  const result = dropAbandoned(merged, {
    schema,
    before: applier.fields,
    now: fields,
    others,
  }) as unknown as KubeObject;
  const unchanged = equalSets(applier.fields, fields) && sameJson(bodyOf(result), bodyOf(current));
  if (!unchanged || applier.time === undefined) applier.time = timestamp(options.nowMs);
  applier.fields = fields;
  writeManagers(result, managers);
  return result;
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

function checkedPatch(patch: Json, kind: Kind): KubeObject {
  if (!isJsonObject(patch)) throw new PatchError('an apply patch must be a whole object');
  const { apiVersion, kind: name, metadata } = patch;
  if (apiVersion !== apiVersionOf(kind) || name !== kind.kind) {
    throw new PatchError(
      `the apply patch must be a ${kind.kind} of ${apiVersionOf(kind)}, it says ${asText(name)} of ${asText(apiVersion)}`,
    );
  }
  const managed = isJsonObject(metadata) ? metadata.managedFields : undefined;
  if (Array.isArray(managed) && managed.length > 0)
    throw new PatchError('metadata.managedFields must be nil');
  const { managedFields: _none, ...rest } = isJsonObject(metadata) ? metadata : ({} as JsonObject);
  const applied = copyJson({ ...patch, metadata: rest }) as unknown as KubeObject;
  decodeValues(applied, kind);
  return applied;
}

/** Maximum number of conflicts listed. */
const MAX_LISTED = 100;

/** Without force, changing a field of another owner is a conflict; with force, ownership moves. */
function resolveConflicts(others: readonly Manager[], changed: FieldSet, force: boolean): void {
  const conflicts = others
    .map((manager) => ({ manager, fields: intersection(manager.fields, changed) }))
    .filter(({ fields }) => !isEmptySet(fields));
  if (conflicts.length === 0) return;
  if (!force) throw conflictError(conflicts);
  for (const { manager, fields } of conflicts) manager.fields = difference(manager.fields, fields);
}

function conflictError(conflicts: readonly { manager: Manager; fields: FieldSet }[]): KubeError {
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
  return new KubeError({ reason: 'Conflict', code: 409, message, details: { causes } });
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

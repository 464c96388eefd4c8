// Reads objects by their schema as managed fields see them: which parts are granular (maps, keyed lists, sets), which
// are one leaf; what fields an object has, what differs between two, how one is merged into or removed from another.

import type { Schema } from '../schema.ts';
import { child, emptySet, type FieldSet, isEmptySet } from './field-set.ts';
import { copyJson, deepEqual, isJsonObject, type Json, type JsonObject } from './json.ts';

/** List keys that may be left out, because they have a default. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** The parts of a value by edge, or undefined when the value is one leaf. */
function partsOf(value: Json | undefined, schema: Schema | undefined): Map<string, Json> | undefined {
  if (isJsonObject(value)) {
    if (schema?.['x-kubernetes-map-type'] === 'atomic') return undefined;
    return new Map(Object.entries(value).map(([key, each]) => [`f:${key}`, each]));
  }
  if (!Array.isArray(value)) return undefined;
  const type = schema?.['x-kubernetes-list-type'];
  if (type === 'set') return distinct(value.map((each) => [`v:${JSON.stringify(each)}`, each]));
  if (type !== 'map') return undefined;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  const entries = value.map((each) => [elementEdge(each, keys), each] as const);
  return entries.some(([edge]) => edge === undefined) ? undefined : distinct(entries as [string, Json][]);
}

/** A list with repeated elements is one leaf: nobody can own a part of it. */
function distinct(entries: [string, Json][]): Map<string, Json> | undefined {
  const parts = new Map(entries);
  return parts.size === entries.length ? parts : undefined;
}

function elementEdge(element: Json, keys: readonly string[]): string | undefined {
  if (!isJsonObject(element)) return undefined;
  const key: JsonObject = {};
  for (const name of [...keys].sort()) {
    const value = element[name] ?? KEY_DEFAULTS[name];
    if (value === undefined) return undefined;
    key[name] = value;
  }
  return `k:${JSON.stringify(key)}`;
}

function partSchema(schema: Schema | undefined, edge: string): Schema | undefined {
  if (!edge.startsWith('f:')) return schema?.items;
  const key = edge.slice(2);
  const { properties, additionalProperties } = schema ?? {};
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const isElement = (edge: string): boolean => !edge.startsWith('f:');

/** Adds every field of a value to the set. */
export function collectFields(value: Json | undefined, schema: Schema | undefined, into: FieldSet): void {
  const parts = partsOf(value, schema);
  if (!parts || parts.size === 0) {
    into.member = true;
    return;
  }
  for (const [edge, part] of parts) {
    const node = child(into, edge);
    if (isElement(edge)) node.member = true;
    collectFields(part, partSchema(schema, edge), node);
  }
}

export interface FieldChanges {
  /** Added or with another value. */
  changed: FieldSet;
  removed: FieldSet;
}

export function compareFields(
  before: Json | undefined,
  after: Json | undefined,
  schema: Schema | undefined,
): FieldChanges {
  const changes: FieldChanges = { changed: emptySet(), removed: emptySet() };
  compare(before, after, schema, changes.changed, changes.removed);
  return changes;
}

function compare(
  before: Json | undefined,
  after: Json | undefined,
  schema: Schema | undefined,
  changed: FieldSet,
  removed: FieldSet,
): void {
  if (before === after) return;
  if (before === undefined || after === undefined) {
    if (before === undefined) collectFields(after, schema, changed);
    else collectFields(before, schema, removed);
    return;
  }
  const [oldParts, newParts] = [partsOf(before, schema), partsOf(after, schema)];
  if (!oldParts || !newParts) {
    if (!deepEqual(before, after)) changed.member = true;
    return;
  }
  for (const edge of new Set([...oldParts.keys(), ...newParts.keys()])) {
    const below: FieldChanges = { changed: emptySet(), removed: emptySet() };
    compare(oldParts.get(edge), newParts.get(edge), partSchema(schema, edge), below.changed, below.removed);
    if (isElement(edge)) {
      if (!oldParts.has(edge)) below.changed.member = true;
      if (!newParts.has(edge)) below.removed.member = true;
    }
    if (!isEmptySet(below.changed)) changed.children.set(edge, below.changed);
    if (!isEmptySet(below.removed)) removed.children.set(edge, below.removed);
  }
}

/** Everything that `applied` says, in what `live` has. Elements keep the live order; new ones follow. */
export function mergeApplied(live: Json | undefined, applied: Json, schema: Schema | undefined): Json {
  const [liveParts, appliedParts] = [partsOf(live, schema), partsOf(applied, schema)];
  if (!liveParts || !appliedParts) return copyJson(applied);
  const merged = new Map<string, Json>(liveParts);
  for (const [edge, part] of appliedParts) {
    merged.set(edge, mergeApplied(liveParts.get(edge), part, partSchema(schema, edge)));
  }
  return assembled(merged, Array.isArray(applied));
}

function assembled(parts: Map<string, Json>, isList: boolean): Json {
  if (isList) return [...parts.values()];
  return Object.fromEntries([...parts].map(([edge, part]) => [edge.slice(2), part]));
}

/**
 * The value without the members of `gone`, except for what lies on the way to members of `kept`.
 * Undefined when nothing is left of it.
 */
export function removeFields(
  value: Json,
  schema: Schema | undefined,
  gone: FieldSet,
  kept: FieldSet | undefined,
): Json | undefined {
  const isKept = kept !== undefined && !isEmptySet(kept);
  const parts = partsOf(value, schema);
  if (!parts) return gone.member && !kept?.member ? undefined : value;
  if (gone.member && !isKept) return undefined;
  const rest = new Map<string, Json>();
  for (const [edge, part] of parts) {
    const below = gone.children.get(edge);
    const left = below ? removeFields(part, partSchema(schema, edge), below, kept?.children.get(edge)) : part;
    if (left !== undefined) rest.set(edge, left);
  }
  if (rest.size === 0 && parts.size > 0 && !isKept) return undefined;
  return assembled(rest, Array.isArray(value));
}

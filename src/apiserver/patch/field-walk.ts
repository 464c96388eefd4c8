// Reads objects by their schema as managed fields see them: which parts are granular (maps, keyed lists, sets), which
// are one leaf; what fields an object has, what differs between two, how one is merged into or removed from another.

import type { Schema } from '../schema.ts';
import { asMember, emptySet, type FieldSet, isEmptySet, LEAF } from './field-set.ts';
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
  return edge.startsWith('f:') ? propertySchema(schema, edge.slice(2)) : schema?.items;
}

function propertySchema(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

const isElement = (edge: string): boolean => !edge.startsWith('f:');

/** Every field of a value. */
export function fieldsOf(value: Json | undefined, schema: Schema | undefined): FieldSet {
  const parts = partsOf(value, schema);
  if (!parts || parts.size === 0) return LEAF;
  const fields = emptySet();
  for (const [edge, part] of parts) {
    const below = fieldsOf(part, partSchema(schema, edge));
    fields.children.set(edge, isElement(edge) ? asMember(below) : below);
  }
  return fields;
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
  const { changed, removed } = differences(before, after, schema) ?? {};
  return { changed: changed ?? emptySet(), removed: removed ?? emptySet() };
}

/** Sets are made only where there is something to put in: most of an object is the same after most writes. */
interface Differences {
  changed?: FieldSet;
  removed?: FieldSet;
}

function differences(
  before: Json | undefined,
  after: Json | undefined,
  schema: Schema | undefined,
): Differences | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { changed: fieldsOf(after, schema) };
  if (after === undefined) return { removed: fieldsOf(before, schema) };
  if (isJsonObject(before) && isJsonObject(after)) {
    if (schema?.['x-kubernetes-map-type'] !== 'atomic') return differencesOfObjects(before, after, schema);
  } else {
    const [oldParts, newParts] = [partsOf(before, schema), partsOf(after, schema)];
    if (oldParts && newParts) return differencesOfLists(oldParts, newParts, schema);
  }
  return deepEqual(before, after) ? undefined : { changed: LEAF };
}

function differencesOfObjects(
  before: JsonObject,
  after: JsonObject,
  schema: Schema | undefined,
): Differences | undefined {
  const found: Differences = {};
  for (const key of Object.keys(after)) {
    const was = Object.hasOwn(before, key) ? before[key] : undefined;
    if (was !== after[key]) add(found, `f:${key}`, differences(was, after[key], propertySchema(schema, key)));
  }
  for (const key of Object.keys(before)) {
    if (Object.hasOwn(after, key)) continue;
    add(found, `f:${key}`, differences(before[key], undefined, propertySchema(schema, key)));
  }
  return found.changed || found.removed ? found : undefined;
}

function differencesOfLists(
  before: Map<string, Json>,
  after: Map<string, Json>,
  schema: Schema | undefined,
): Differences | undefined {
  const found: Differences = {};
  for (const edge of new Set([...before.keys(), ...after.keys()])) {
    const below = differences(before.get(edge), after.get(edge), partSchema(schema, edge));
    if (below && isElement(edge)) {
      if (!before.has(edge) && below.changed) below.changed = asMember(below.changed);
      if (!after.has(edge) && below.removed) below.removed = asMember(below.removed);
    }
    add(found, edge, below);
  }
  return found.changed || found.removed ? found : undefined;
}

function add(found: Differences, edge: string, below: Differences | undefined): void {
  if (below?.changed) {
    found.changed ??= emptySet();
    found.changed.children.set(edge, below.changed);
  }
  if (below?.removed) {
    found.removed ??= emptySet();
    found.removed.children.set(edge, below.removed);
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

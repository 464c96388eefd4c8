// Walks objects by their schema for managed fields: which parts are granular (maps, keyed lists, sets) and which are
// atomic; the fields of an object, the difference of two, merging one into another and removing fields.

import { getOwn, setOwn } from '../../api/own-property.ts';
import { sameJson } from '../../api/same-json.ts';
import type { Schema } from '../schema.ts';
import { asMember, isEmptySet } from './field-set.ts';
import type { FieldSet, FieldSetBuilder, FieldSets } from './field-sets.ts';
import { copyJson, isJsonObject, type Json, type JsonObject } from './json.ts';

/** Keys of lists of built-in types that may be omitted. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** The value of a key that an element omits, where the key has a default. */
export function keyDefault(items: Schema | undefined, key: string): Json | undefined {
  return (propertySchema(items, key)?.default as Json | undefined) ?? getOwn(KEY_DEFAULTS, key);
}

function isAtomic(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-map-type'] === 'atomic';
}

/** The edges of a list's elements, duplicates included; undefined when the list is atomic. */
function everyEdgeOf(
  list: readonly Json[],
  schema: Schema | undefined,
  sets: FieldSets,
): string[] | undefined {
  const type = schema?.['x-kubernetes-list-type'];
  if (type !== 'set' && type !== 'map') return undefined;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  const edges: string[] = [];
  for (const each of list) {
    const edge = type === 'set' ? sets.valueEdge(each) : elementEdge(each, keys, schema?.items, sets);
    if (edge === undefined) return undefined;
    edges.push(edge);
  }
  return edges;
}

/** The same for ownership: a list with duplicate elements is atomic, because its parts cannot be told apart. */
function edgesOf(list: readonly Json[], schema: Schema | undefined, sets: FieldSets): string[] | undefined {
  const edges = everyEdgeOf(list, schema, sets);
  return edges && edges.length > 1 && new Set(edges).size < edges.length ? undefined : edges;
}

/** Duplicates in a set are one element. */
function elementsOf(list: readonly Json[], schema: Schema | undefined): readonly Json[] {
  if (schema?.['x-kubernetes-list-type'] !== 'set' || list.length < 2) return list;
  const distinct = new Set(list);
  return distinct.size === list.length ? list : [...distinct];
}

/** The parts of a value with their edges; undefined when the value is atomic. */
function partsOf(
  value: Json | undefined,
  schema: Schema | undefined,
  sets: FieldSets,
): [edge: string, part: Json][] | undefined {
  if (isJsonObject(value)) {
    if (isAtomic(schema)) return undefined;
    return Object.entries(value).map(([key, each]) => [sets.fieldEdge(key), each]);
  }
  if (!Array.isArray(value)) return undefined;
  const edges = everyEdgeOf(value, schema, sets);
  return edges?.map((edge, index) => [edge, value[index] as Json]);
}

function elementEdge(
  element: Json,
  keys: readonly string[],
  items: Schema | undefined,
  sets: FieldSets,
): string | undefined {
  if (!isJsonObject(element)) return undefined;
  if (keys.length === 1) {
    const [only = ''] = keys;
    const value = getOwn(element, only);
    if (typeof value === 'string') return sets.keyEdge(only, value);
  }
  const key: JsonObject = {};
  for (const name of [...keys].sort()) {
    const value = getOwn(element, name) ?? keyDefault(items, name);
    if (value === undefined) return undefined;
    setOwn(key, name, value);
  }
  return `k:${JSON.stringify(key)}`;
}

function partSchema(schema: Schema | undefined, edge: string): Schema | undefined {
  return edge.startsWith('f:') ? propertySchema(schema, edge.slice(2)) : schema?.items;
}

export function propertySchema(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/**
 * The fields of an applied value: its leaves, elements of lists, and entries of maps. A structure on the way to them is
 * not among them, because an applier does not claim that it exists; nor is a list of keyed elements that has none.
 */
export function fieldsOf(value: Json | undefined, schema: Schema | undefined, sets: FieldSets): FieldSet {
  return walkFields(value, schema, sets, false);
}

/** The fields of a value that a write added, with the maps, structures and lists that hold them. */
function addedFields(value: Json | undefined, schema: Schema | undefined, sets: FieldSets): FieldSet {
  return walkFields(value, schema, sets, true);
}

function walkFields(
  value: Json | undefined,
  schema: Schema | undefined,
  sets: FieldSets,
  holders: boolean,
): FieldSet {
  const fields = sets.builder();
  if (isJsonObject(value)) {
    if (isAtomic(schema)) return sets.leaf;
    let isEmpty = true;
    for (const key of Object.keys(value)) {
      isEmpty = false;
      const below = walkFields(value[key], propertySchema(schema, key), sets, holders);
      const isEntry = !holders && !isDeclared(schema, key);
      if (isEntry) fields.add(sets.fieldEdge(key), asMember(below));
      else if (!isEmptySet(below)) fields.add(sets.fieldEdge(key), below);
    }
    return isEmpty ? sets.leaf : fields.build({ member: holders });
  }
  if (!Array.isArray(value)) return sets.leaf;
  const list = elementsOf(value, schema);
  const edges = edgesOf(list, schema, sets);
  if (edges === undefined) return sets.leaf;
  for (const [index, edge] of edges.entries()) {
    fields.add(edge, asMember(walkFields(list[index], schema?.items, sets, holders)));
  }
  // An applied list without elements claims nothing.
  return fields.build({ member: holders });
}

function isDeclared(schema: Schema | undefined, key: string): boolean {
  return schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
}

/** The fields that a write added or changed, and those it removed. Undefined where there are none. */
export interface FieldChanges {
  changed?: FieldSet | undefined;
  removed?: FieldSet | undefined;
}

/** Collects the changes of the parts of one value. */
export class ChangesBuilder {
  readonly #sets: FieldSets;
  #changed: FieldSetBuilder | undefined;
  #removed: FieldSetBuilder | undefined;

  constructor(sets: FieldSets) {
    this.#sets = sets;
  }

  add(edge: string, below: FieldChanges | undefined): void {
    if (below?.changed) {
      this.#changed ??= this.#sets.builder();
      this.#changed.add(edge, below.changed);
    }
    if (below?.removed) {
      this.#removed ??= this.#sets.builder();
      this.#removed.add(edge, below.removed);
    }
  }

  /** Undefined when nothing changed, which is true of most of an object in most writes. */
  build(): FieldChanges | undefined {
    if (this.#changed === undefined && this.#removed === undefined) return undefined;
    return {
      changed: this.#changed?.build({ member: false }),
      removed: this.#removed?.build({ member: false }),
    };
  }
}

export function compareFields(
  before: Json | undefined,
  after: Json | undefined,
  schema: Schema | undefined,
  sets: FieldSets,
): FieldChanges | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { changed: addedFields(after, schema, sets) };
  if (after === undefined) return { removed: addedFields(before, schema, sets) };
  // A list or map that is null has no elements.
  if (before === null && typeof after === 'object' && hasParts(after)) {
    return compareFields(Array.isArray(after) ? [] : {}, after, schema, sets);
  }
  if (after === null && typeof before === 'object' && hasParts(before)) {
    return compareFields(before, Array.isArray(before) ? [] : {}, schema, sets);
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    if (!isAtomic(schema)) return compareObjects(before, after, schema, sets);
  } else if (Array.isArray(before) && Array.isArray(after)) {
    const [was, is] = [elementsOf(before, schema), elementsOf(after, schema)];
    const edges = { before: edgesOf(was, schema, sets), after: edgesOf(is, schema, sets) };
    if (edges.before && edges.after) {
      return compareLists(
        { values: was, edges: edges.before },
        { values: is, edges: edges.after },
        schema,
        sets,
      );
    }
  }
  return sameJson(before, after) ? undefined : { changed: sets.leaf };
}

function hasParts(value: Json): boolean {
  return value !== null && Object.keys(value).length > 0;
}

function compareObjects(
  before: JsonObject,
  after: JsonObject,
  schema: Schema | undefined,
  sets: FieldSets,
): FieldChanges | undefined {
  const found = new ChangesBuilder(sets);
  for (const key of Object.keys(after)) {
    const was = getOwn(before, key);
    if (was === after[key]) continue;
    found.add(sets.fieldEdge(key), compareFields(was, after[key], propertySchema(schema, key), sets));
  }
  for (const key of Object.keys(before)) {
    if (Object.hasOwn(after, key)) continue;
    found.add(sets.fieldEdge(key), compareFields(before[key], undefined, propertySchema(schema, key), sets));
  }
  return found.build();
}

interface Elements {
  readonly values: readonly Json[];
  readonly edges: readonly string[];
}

/** Elements are matched by their edges at any position; usually the position is the same. */
function compareLists(
  before: Elements,
  after: Elements,
  schema: Schema | undefined,
  sets: FieldSets,
): FieldChanges | undefined {
  const found = new ChangesBuilder(sets);
  const items = schema?.items;
  const oldPlaces = placesOf(before, after);
  for (const [index, edge] of after.edges.entries()) {
    const at = oldPlaces === undefined ? index : oldPlaces.get(edge);
    if (at === undefined)
      found.add(edge, { changed: asMember(addedFields(after.values[index], items, sets)) });
    else found.add(edge, compareFields(before.values[at], after.values[index], items, sets));
    oldPlaces?.delete(edge);
  }
  for (const [edge, index] of oldPlaces ?? []) {
    found.add(edge, { removed: asMember(addedFields(before.values[index], items, sets)) });
  }
  return found.build();
}

/** The previous position of each element; undefined when none has moved. */
function placesOf(before: Elements, after: Elements): Map<string, number> | undefined {
  const same = before.edges.length === after.edges.length;
  if (same && before.edges.every((edge, index) => edge === after.edges[index])) return undefined;
  return new Map(before.edges.map((edge, index) => [edge, index]));
}

/** Merges `applied` into `live`. */
export function mergeApplied(
  live: Json | undefined,
  applied: Json,
  schema: Schema | undefined,
  sets: FieldSets,
): Json {
  const [liveParts, appliedParts] = [partsOf(live, schema, sets), partsOf(applied, schema, sets)];
  // A null map or list has no parts to merge.
  if (applied === null && live !== undefined && liveParts?.length) return live;
  if (!liveParts || !appliedParts || Array.isArray(live) !== Array.isArray(applied)) return copyJson(applied);
  const isList = Array.isArray(applied);
  const before = new Map(liveParts);
  // A duplicate is replaced, not merged: it is not known which one is meant.
  if (isList && before.size < liveParts.length) dropDuplicates(before, liveParts);
  const merged = appliedParts.map(([edge, part]): [string, Json] => [
    edge,
    mergeApplied(before.get(edge), part, partSchema(schema, edge), sets),
  ]);
  return isList ? inAppliedOrder(liveParts, merged) : assembled(new Map([...liveParts, ...merged]));
}

type Parts = readonly (readonly [edge: string, part: Json])[];

function dropDuplicates(parts: Map<string, Json>, all: Parts): void {
  const seen = new Set<string>();
  for (const [edge] of all) {
    if (seen.has(edge)) parts.delete(edge);
    seen.add(edge);
  }
}

/**
 * Applied elements in their applied order. Elements that are only live stay before the live element that they preceded,
 * as far as the applied order allows it.
 */
function inAppliedOrder(live: Parts, applied: Parts): Json[] {
  const appliedEdges = new Set(applied.map(([edge]) => edge));
  const liveEdges = new Set(live.map(([edge]) => edge));
  const shared = applied.map(([edge]) => edge).filter((edge) => liveEdges.has(edge));
  const result: Json[] = [];
  let [atLive, atApplied, atShared] = [0, 0, 0];
  while (atLive < live.length || atApplied < applied.length) {
    const [liveEdge, livePart] = live[atLive] ?? [];
    const [appliedEdge, appliedPart] = applied[atApplied] ?? [];
    if (liveEdge !== undefined && !appliedEdges.has(liveEdge)) {
      result.push(livePart as Json);
      atLive++;
    } else if (liveEdge !== undefined && liveEdge !== appliedEdge && liveEdge !== shared[atShared]) {
      // Taken already, or later in the applied order.
      atLive++;
    } else {
      result.push(appliedPart as Json);
      if (appliedEdge === shared[atShared]) atShared++;
      if (appliedEdge === liveEdge) atLive++;
      atApplied++;
    }
  }
  return result;
}

function assembled(parts: Iterable<readonly [edge: string, part: Json]>): JsonObject {
  return Object.fromEntries([...parts].map(([edge, part]) => [edge.slice(2), part]));
}

/**
 * The value without the members of `gone`, except for the ancestors of members of `kept`. Undefined when nothing is
 * left.
 */
export function removeFields(
  value: Json,
  schema: Schema | undefined,
  gone: FieldSet,
  kept: FieldSet | undefined,
): Json | undefined {
  const isKept = kept !== undefined && !isEmptySet(kept);
  const parts = partsOf(value, schema, gone.maker);
  if (!parts) return gone.member && !kept?.member ? undefined : value;
  if (gone.member && !isKept) return undefined;
  const rest: [string, Json][] = [];
  for (const [edge, part] of parts) {
    const below = gone.children.get(edge);
    const left = below ? removeFields(part, partSchema(schema, edge), below, kept?.children.get(edge)) : part;
    if (left !== undefined) rest.push([edge, left]);
  }
  if (rest.length === 0 && parts.length > 0 && !isKept) return undefined;
  return Array.isArray(value) ? rest.map(([, part]) => part) : assembled(rest);
}

// Sets of fields of an object, as managedFields records them: a tree whose edges are `f:name` (a field), `k:{…}` (an
// element of a keyed list) and `v:…` (an element of a set). A path is in the set when its node is a member. Sets are
// immutable and interned (field-sets.ts), so that results of operations can be cached on them.

import { setOwn } from '../../api/own-property.ts';
import type { FieldSet, FieldSets } from './field-sets.ts';

/** Beyond this many cached results another hit is unlikely. */
const MAX_REMEMBERED = 64;

function remember(known: Map<FieldSet, FieldSet>, other: FieldSet, result: FieldSet): FieldSet {
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(other, result);
  return result;
}

export function isEmptySet(set: FieldSet): boolean {
  return !set.member && set.children.size === 0;
}

/** The same set with its root as a member. */
export function asMember(set: FieldSet): FieldSet {
  if (set.member) return set;
  const builder = set.maker.builder();
  for (const [edge, below] of set.children) builder.add(edge, below);
  return builder.build({ member: true });
}

export function parseFields(fields: unknown, sets: FieldSets): FieldSet {
  if (typeof fields !== 'object' || fields === null) return sets.empty;
  const builder = sets.builder();
  let member = false;
  for (const [edge, below] of Object.entries(fields)) {
    if (edge === '.') member = true;
    else builder.add(edge, parsePart(below, sets));
  }
  return builder.build({ member });
}

/** A node without children is a member, with or without ".". */
function parsePart(fields: unknown, sets: FieldSets): FieldSet {
  if (typeof fields !== 'object' || fields === null || Object.keys(fields).length === 0) return sets.leaf;
  const set = parseFields(fields, sets);
  return set.children.size === 0 ? sets.leaf : set;
}

/** Most nodes are leaves, and all leaves are the same object. */
const NO_FIELDS: Record<string, unknown> = Object.freeze({});

/** The `fieldsV1` form: a leaf is `{}`, a member with children has ".". Edges are sorted. Shared, immutable. */
export function formatFields(set: FieldSet): Record<string, unknown> {
  if (set.children.size === 0) return NO_FIELDS;
  if (set.text !== undefined) return set.text;
  const fields: Record<string, unknown> = {};
  if (set.member) fields['.'] = NO_FIELDS;
  for (const [edge, below] of sorted(set)) setOwn(fields, edge, formatFields(below));
  set.text = fields;
  return fields;
}

function sorted({ children }: FieldSet): [string, FieldSet][] {
  return [...children].sort(([a], [b]) => (a < b ? -1 : 1));
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  a.unions ??= new Map();
  const known = a.unions.get(b);
  if (known !== undefined) return known;
  const builder = a.maker.builder();
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    builder.add(edge, other ? union(below, other) : below);
  }
  for (const [edge, below] of b.children) if (!a.children.has(edge)) builder.add(edge, below);
  return remember(a.unions, b, builder.build({ member: a.member || b.member }));
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const builder = a.maker.builder();
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const both = other && intersection(below, other);
    if (both && !isEmptySet(both)) builder.add(edge, both);
  }
  return builder.build({ member: a.member && b.member });
}

/** Whether they have a common member. */
export function intersects(a: FieldSet, b: FieldSet): boolean {
  if (a.member && b.member) return true;
  const [small, large] = a.children.size <= b.children.size ? [a, b] : [b, a];
  for (const [edge, below] of small.children) {
    const other = large.children.get(edge);
    if (other && intersects(below, other)) return true;
  }
  return false;
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a.maker.empty;
  if (isEmptySet(b)) return a;
  a.differences ??= new Map();
  const known = a.differences.get(b);
  if (known !== undefined) return known;
  const builder = a.maker.builder();
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const rest = other ? difference(below, other) : below;
    if (!isEmptySet(rest)) builder.add(edge, rest);
  }
  return remember(a.differences, b, builder.build({ member: a.member && !b.member }));
}

/** `a` without anything at or below the members of `b`. */
export function withoutBelow(a: FieldSet, b: FieldSet): FieldSet {
  if (b.member) return a.maker.empty;
  if (isEmptySet(b)) return a;
  a.remainders ??= new Map();
  const known = a.remainders.get(b);
  if (known !== undefined) return known;
  const builder = a.maker.builder();
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const rest = other ? withoutBelow(below, other) : below;
    if (!isEmptySet(rest)) builder.add(edge, rest);
  }
  return remember(a.remainders, b, builder.build({ member: a.member }));
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.member !== b.member || a.children.size !== b.children.size) return false;
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    if (!other || !equalSets(below, other)) return false;
  }
  return true;
}

/** Every member in Kubernetes' path format: `.spec.containers[name="a"].image`. */
export function pathsOf(set: FieldSet, prefix = ''): string[] {
  const paths = set.member && prefix !== '' ? [prefix] : [];
  for (const [edge, below] of sorted(set)) paths.push(...pathsOf(below, prefix + edgeText(edge)));
  return paths;
}

function edgeText(edge: string): string {
  const text = edge.slice(2);
  if (edge.startsWith('f:')) return `.${text}`;
  if (edge.startsWith('v:')) return `[=${text}]`;
  const keys = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

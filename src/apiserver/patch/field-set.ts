// Sets of fields of an object, as managedFields records them: a tree whose edges are `f:name` (a field), `k:{…}` (an
// element of a keyed list) and `v:…` (an element of a set). A path is in the set when its node is a member.

export interface FieldSet {
  readonly member: boolean;
  readonly children: Map<string, FieldSet>;
}

/** A member without anything below: most of every set, and the same one everywhere. */
export const LEAF: FieldSet = Object.freeze({ member: true, children: new Map() });

export function emptySet(): FieldSet {
  return { member: false, children: new Map() };
}

export function isEmptySet(set: FieldSet): boolean {
  return !set.member && set.children.size === 0;
}

/** The same set, whose root is a member. */
export function asMember(set: FieldSet): FieldSet {
  if (set.member) return set;
  return set.children.size === 0 ? LEAF : { member: true, children: set.children };
}

export function parseFields(fields: unknown): FieldSet {
  if (typeof fields !== 'object' || fields === null) return emptySet();
  const children = new Map<string, FieldSet>();
  let member = false;
  for (const [edge, below] of Object.entries(fields)) {
    if (edge === '.') member = true;
    else children.set(edge, parsePart(below));
  }
  return { member, children };
}

/** What has nothing below it is a member, whether it says so or not. */
function parsePart(fields: unknown): FieldSet {
  if (typeof fields !== 'object' || fields === null || Object.keys(fields).length === 0) return LEAF;
  const set = parseFields(fields);
  return set.children.size === 0 ? LEAF : set;
}

/** Most of what is recorded are leaves, and all leaves are the same. */
const NO_FIELDS: Record<string, unknown> = Object.freeze({});

/** The `fieldsV1` form: a leaf is `{}`, a member with children says so with ".". Edges are sorted. */
export function formatFields(set: FieldSet): Record<string, unknown> {
  if (set.children.size === 0) return NO_FIELDS;
  const fields: Record<string, unknown> = {};
  if (set.member) fields['.'] = NO_FIELDS;
  for (const edge of [...set.children.keys()].sort()) {
    fields[edge] = formatFields(set.children.get(edge) ?? emptySet());
  }
  return fields;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const result: FieldSet = { member: a.member || b.member, children: new Map(a.children) };
  for (const [edge, below] of b.children) {
    const known = result.children.get(edge);
    result.children.set(edge, known ? union(known, below) : below);
  }
  return result;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const result: FieldSet = { member: a.member && b.member, children: new Map() };
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const both = other && intersection(below, other);
    if (both && !isEmptySet(both)) result.children.set(edge, both);
  }
  return result;
}

/** Whether they have a member in common. */
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
  const result: FieldSet = { member: a.member && !b.member, children: new Map() };
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const rest = other ? difference(below, other) : below;
    if (!isEmptySet(rest)) result.children.set(edge, rest);
  }
  return result;
}

/** `a` without anything at or below the members of `b`: what is left when those are removed from an object. */
export function withoutBelow(a: FieldSet, b: FieldSet): FieldSet {
  if (b.member) return emptySet();
  const result: FieldSet = { member: a.member, children: new Map() };
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    const rest = other ? withoutBelow(below, other) : below;
    if (!isEmptySet(rest)) result.children.set(edge, rest);
  }
  return result;
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a.member !== b.member || a.children.size !== b.children.size) return false;
  for (const [edge, below] of a.children) {
    const other = b.children.get(edge);
    if (!other || !equalSets(below, other)) return false;
  }
  return true;
}

/** Every member as Kubernetes writes paths: `.spec.containers[name="a"].image`. */
export function pathsOf(set: FieldSet, prefix = ''): string[] {
  const paths = set.member && prefix !== '' ? [prefix] : [];
  for (const edge of [...set.children.keys()].sort()) {
    paths.push(...pathsOf(set.children.get(edge) ?? emptySet(), prefix + edgeText(edge)));
  }
  return paths;
}

function edgeText(edge: string): string {
  const text = edge.slice(2);
  if (edge.startsWith('f:')) return `.${text}`;
  if (edge.startsWith('v:')) return `[=${text}]`;
  const keys = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}

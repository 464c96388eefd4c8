// Makes sets of fields, each only once: objects of one kind have mostly the same fields, and so have the writes to
// them. The edges added so far are a path through a tree of all sets that were made lately; a set stands where its
// path ends. The tree is bounded: when names that never come back have filled it, it starts anew.

import type { ManagedFieldsEntry } from '../../api/object.ts';

export class FieldSet {
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
  /** What came of operations with others, and how it is written. */
  unions: Map<FieldSet, FieldSet> | undefined = undefined;
  differences: Map<FieldSet, FieldSet> | undefined = undefined;
  remainders: Map<FieldSet, FieldSet> | undefined = undefined;
  text: Record<string, unknown> | undefined = undefined;
  json: string | undefined = undefined;
  /** The last record of it: what is written in the same second by the same hand shares it. */
  entry: ManagedFieldsEntry | undefined = undefined;
  /** That entry as JSON. */
  entryJson: string | undefined = undefined;

  constructor(member: boolean, children: ReadonlyMap<string, FieldSet>) {
    this.member = member;
    this.children = children;
  }
}

/** A member without anything below: most of every set, and the same one everywhere. */
export const LEAF: FieldSet = new FieldSet(true, new Map());
export const EMPTY: FieldSet = new FieldSet(false, new Map());

class Step {
  readonly before: Step | undefined;
  readonly edge: string;
  readonly below: FieldSet | undefined;
  /** Most edges lead to leaves. */
  readonly leaves = new Map<string, Step>();
  others: Map<FieldSet, Map<string, Step>> | undefined = undefined;
  set: FieldSet | undefined = undefined;
  memberSet: FieldSet | undefined = undefined;

  constructor(before?: Step, edge = '', below?: FieldSet) {
    this.before = before;
    this.edge = edge;
    this.below = below;
  }

  /** Along the edges that lead to the same set. */
  nextTo(below: FieldSet): Map<string, Step> {
    if (below === LEAF) return this.leaves;
    this.others ??= new Map();
    let steps = this.others.get(below);
    if (steps === undefined) {
      steps = new Map();
      this.others.set(below, steps);
    }
    return steps;
  }

  children(): Map<string, FieldSet> {
    const path: Step[] = [];
    for (let step: Step | undefined = this; step?.below !== undefined; step = step.before) path.push(step);
    return new Map(path.reverse().map(({ edge, below }) => [edge, below as FieldSet]));
  }
}

/** A few megabytes at most. */
const MAX_STEPS = 20_000;
const MAX_EDGES = 5_000;
let root = new Step();
let steps = 0;

export class FieldSetBuilder {
  #at = root;

  /** Each edge at most once, to something that is not empty. */
  add(edge: string, below: FieldSet): void {
    const along = this.#at.nextTo(below);
    let next = along.get(edge);
    if (next === undefined) {
      if (++steps > MAX_STEPS) {
        root = new Step();
        steps = 0;
      }
      next = new Step(this.#at, edge, below);
      along.set(edge, next);
    }
    this.#at = next;
  }

  /** `none` is what it is when nothing was added. */
  build({ member }: { member: boolean }, none = member ? LEAF : EMPTY): FieldSet {
    const at = this.#at;
    if (at.below === undefined) return none;
    if (member) {
      at.memberSet ??= new FieldSet(true, at.children());
      return at.memberSet;
    }
    at.set ??= new FieldSet(false, at.children());
    return at.set;
  }
}

/** Names come back all the time, and making an edge costs more than finding it. */
class Edges {
  readonly #known = new Map<string, string>();
  readonly #make: (name: string) => string;

  constructor(make: (name: string) => string) {
    this.#make = make;
  }

  of(name: string): string {
    let edge = this.#known.get(name);
    if (edge === undefined) {
      if (this.#known.size >= MAX_EDGES) this.#known.clear();
      edge = this.#make(name);
      this.#known.set(name, edge);
    }
    return edge;
  }
}

const fieldEdges = new Edges((name) => `f:${name}`);
const valueEdges = new Edges((text) => `v:${JSON.stringify(text)}`);
const keyEdges = new Map<string, Edges>();

export function fieldEdge(name: string): string {
  return fieldEdges.of(name);
}

/** Of an element of a set. */
export function valueEdge(value: unknown): string {
  return typeof value === 'string' ? valueEdges.of(value) : `v:${JSON.stringify(value)}`;
}

/** Of an element that one field tells from the others. */
export function keyEdge(field: string, value: string): string {
  let edges = keyEdges.get(field);
  if (edges === undefined) {
    edges = new Edges((text) => `k:{${JSON.stringify(field)}:${JSON.stringify(text)}}`);
    keyEdges.set(field, edges);
  }
  return edges.of(value);
}

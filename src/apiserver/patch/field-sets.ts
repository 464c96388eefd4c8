// Interns sets of fields: objects of one kind have mostly the same fields, and so have the writes to them. Recent sets
// are kept in a trie, keyed by the edges in the order they were added. When the trie is full it is dropped and starts
// empty. Each server has its own.

import type { ManagedFieldsEntry } from '../../api/object.ts';

export class FieldSet {
  /** The interning table that it belongs to, and in which results of operations on it are built. */
  readonly maker: FieldSets;
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
  /** Cached results of operations with other sets, and its encoding. */
  unions: Map<FieldSet, FieldSet> | undefined = undefined;
  differences: Map<FieldSet, FieldSet> | undefined = undefined;
  remainders: Map<FieldSet, FieldSet> | undefined = undefined;
  text: Record<string, unknown> | undefined = undefined;
  json: string | undefined = undefined;
  /** The last managedFields entry with it: writes by the same manager in the same second share it. */
  entry: ManagedFieldsEntry | undefined = undefined;
  /** That entry as JSON. */
  entryJson: string | undefined = undefined;

  constructor(maker: FieldSets, member: boolean, children: ReadonlyMap<string, FieldSet>) {
    this.maker = maker;
    this.member = member;
    this.children = children;
  }
}

/** A few megabytes at most. */
const MAX_STEPS = 20_000;
const MAX_EDGES = 5_000;

export class FieldSets {
  /** A member without children: most of every set, shared everywhere. */
  readonly leaf: FieldSet = new FieldSet(this, true, new Map());
  readonly empty: FieldSet = new FieldSet(this, false, new Map());
  readonly #fieldEdges = new Edges((name) => `f:${name}`);
  readonly #valueEdges = new Edges((text) => `v:${JSON.stringify(text)}`);
  readonly #keyEdges = new Map<string, Edges>();
  #root = new Step();
  #steps = 0;

  builder(): FieldSetBuilder {
    return new FieldSetBuilder(this, this.#root);
  }

  /** The step after `at` along an edge to `below`. */
  next(at: Step, edge: string, below: FieldSet): Step {
    const along = at.nextTo(below, this.leaf);
    let next = along.get(edge);
    if (next === undefined) {
      if (++this.#steps > MAX_STEPS) {
        this.#root = new Step();
        this.#steps = 0;
      }
      next = new Step(at, edge, below);
      along.set(edge, next);
    }
    return next;
  }

  fieldEdge(name: string): string {
    return this.#fieldEdges.of(name);
  }

  /** The edge of an element of a set. */
  valueEdge(value: unknown): string {
    return typeof value === 'string' ? this.#valueEdges.of(value) : `v:${JSON.stringify(value)}`;
  }

  /** The edge of an element of a list with a single key. */
  keyEdge(field: string, value: string): string {
    let edges = this.#keyEdges.get(field);
    if (edges === undefined) {
      edges = new Edges((text) => `k:{${JSON.stringify(field)}:${JSON.stringify(text)}}`);
      this.#keyEdges.set(field, edges);
    }
    return edges.of(value);
  }
}

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

  /** The next steps by edge, of edges that lead to `below`. */
  nextTo(below: FieldSet, leaf: FieldSet): Map<string, Step> {
    if (below === leaf) return this.leaves;
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

export class FieldSetBuilder {
  readonly #maker: FieldSets;
  #at: Step;

  constructor(maker: FieldSets, start: Step) {
    this.#maker = maker;
    this.#at = start;
  }

  /** Each edge at most once, with a non-empty child. */
  add(edge: string, below: FieldSet): void {
    this.#at = this.#maker.next(this.#at, edge, below);
  }

  /** `none` is the result when nothing was added. */
  build(
    { member }: { member: boolean },
    none: FieldSet = member ? this.#maker.leaf : this.#maker.empty,
  ): FieldSet {
    const at = this.#at;
    if (at.below === undefined) return none;
    if (member) {
      at.memberSet ??= new FieldSet(this.#maker, true, at.children());
      return at.memberSet;
    }
    at.set ??= new FieldSet(this.#maker, false, at.children());
    return at.set;
  }
}

/** Cached: names recur, and building an edge costs more than looking it up. */
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

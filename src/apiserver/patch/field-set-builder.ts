// Makes sets of fields, each only once: objects of one kind have mostly the same fields, and so have the writes to
// them. The edges added so far are a path through a tree of all sets that were made lately; a set stands where its
// path ends. The tree is bounded: when names that never come back have filled it, it starts anew.

export class FieldSet {
  readonly member: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
  /** What came of operations with others, and how it is written. */
  unions: Map<FieldSet, FieldSet> | undefined = undefined;
  differences: Map<FieldSet, FieldSet> | undefined = undefined;
  remainders: Map<FieldSet, FieldSet> | undefined = undefined;
  text: Record<string, unknown> | undefined = undefined;
  json: string | undefined = undefined;

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

/** Names of fields come back all the time, and making the edge costs more than finding it. */
const edges = new Map<string, string>();

export function fieldEdge(name: string): string {
  let edge = edges.get(name);
  if (edge === undefined) {
    if (edges.size >= MAX_STEPS) edges.clear();
    edge = `f:${name}`;
    edges.set(name, edge);
  }
  return edge;
}

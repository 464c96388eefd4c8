// The named indexes of one cache: value to objects. The store reports additions and removals. A change costs the number of
// values of that object, whatever the size of the cache.

import type { KubeObject } from '../../api/object.ts';

type ValuesOf<T> = (object: T) => readonly string[];

const NONE: readonly never[] = [];

interface Index<T> {
  readonly valuesOf: ValuesOf<T>;
  readonly byValue: Map<string, Map<string, T>>;
}

export class Indexes<T extends KubeObject> {
  readonly #indexes = new Map<string, Index<T>>();
  readonly #failed: (index: string, error: unknown) => void;

  /** `failed` is called when an index function throws; the object is then not in that index. */
  constructor(failed: (index: string, error: unknown) => void) {
    this.#failed = failed;
  }

  add(name: string, valuesOf: ValuesOf<T>, cached: Iterable<[string, T]>): void {
    const existing = this.#indexes.get(name);
    if (existing !== undefined) {
      if (existing.valuesOf === valuesOf) return;
      throw new Error(`index ${name} already exists with another function`);
    }
    const index: Index<T> = { valuesOf, byValue: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of cached) insert(index, key, this.#values(name, index, object), object);
  }

  drop(name: string): void {
    this.#indexes.delete(name);
  }

  put(key: string, before: T | undefined, after: T): void {
    for (const [name, index] of this.#indexes) {
      const values = this.#values(name, index, after);
      const previous = before === undefined ? NONE : this.#values(name, index, before);
      // Most changes do not change an object's index values.
      if (!areSame(previous, values)) remove(index, key, previous);
      insert(index, key, values, after);
    }
  }

  remove(key: string, before: T): void {
    for (const [name, index] of this.#indexes) remove(index, key, this.#values(name, index, before));
  }

  get(name: string, value: string): readonly T[] {
    const found = this.#index(name).byValue.get(value);
    return found === undefined ? NONE : [...found.values()];
  }

  values(name: string): Iterable<string> {
    return this.#index(name).byValue.keys();
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`no index ${name}: add it with addIndex first`);
    return index;
  }

  #values(name: string, index: Index<T>, object: T): readonly string[] {
    try {
      return index.valuesOf(object);
    } catch (error) {
      this.#failed(name, error);
      return NONE;
    }
  }
}

function insert<T>({ byValue }: Index<T>, key: string, values: readonly string[], object: T): void {
  for (const value of values) {
    const objects = byValue.get(value);
    if (objects === undefined) byValue.set(value, new Map([[key, object]]));
    else objects.set(key, object);
  }
}

function remove<T>({ byValue }: Index<T>, key: string, values: readonly string[]): void {
  for (const value of values) {
    const objects = byValue.get(value);
    objects?.delete(key);
    if (objects?.size === 0) byValue.delete(value);
  }
}

function areSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((value, i) => value === right[i]);
}

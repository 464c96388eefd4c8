// The named indexes of one cache: for each, which objects carry a value. Owns only these maps; the store tells it
// what came and went. Work per change is the number of values of that object, whatever the size of the cache.

import type { KubeObject } from '../../api/object.ts';

type ValuesOf<T> = (object: T) => readonly string[];

interface Index<T> {
  readonly valuesOf: ValuesOf<T>;
  readonly byValue: Map<string, Map<string, T>>;
}

export class Indexes<T extends KubeObject> {
  readonly #indexes = new Map<string, Index<T>>();
  readonly #failed: (index: string, error: unknown) => void;

  /** `failed` hears of index functions that throw; such an object is not in that index. */
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
    for (const [key, object] of cached) this.#insert(name, index, key, object);
  }

  put(key: string, before: T | undefined, after: T): void {
    for (const [name, index] of this.#indexes) {
      if (before !== undefined) this.#remove(name, index, key, before);
      this.#insert(name, index, key, after);
    }
  }

  remove(key: string, before: T): void {
    for (const [name, index] of this.#indexes) this.#remove(name, index, key, before);
  }

  get(name: string, value: string): T[] {
    const found = this.#index(name).byValue.get(value);
    return found === undefined ? [] : [...found.values()];
  }

  values(name: string): Iterable<string> {
    return this.#index(name).byValue.keys();
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`no index ${name}: add it with addIndex first`);
    return index;
  }

  #insert(name: string, index: Index<T>, key: string, object: T): void {
    for (const value of this.#values(name, index, object)) {
      let objects = index.byValue.get(value);
      if (objects === undefined) {
        objects = new Map();
        index.byValue.set(value, objects);
      }
      objects.set(key, object);
    }
  }

  #remove(name: string, index: Index<T>, key: string, object: T): void {
    for (const value of this.#values(name, index, object)) {
      const objects = index.byValue.get(value);
      objects?.delete(key);
      if (objects?.size === 0) index.byValue.delete(value);
    }
  }

  #values(name: string, index: Index<T>, object: T): readonly string[] {
    try {
      return index.valuesOf(object);
    } catch (error) {
      this.#failed(name, error);
      return [];
    }
  }
}

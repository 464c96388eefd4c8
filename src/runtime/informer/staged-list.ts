// A list on its way into the cache. Of an object that the cache already has in the same version no second one is kept, so that
// listing again does not double the memory.

import { type KubeObject, keyOf } from '../../api/object.ts';
import type { Store } from './store.ts';

export class StagedList<T extends KubeObject> {
  readonly #cached: Pick<Store<T>, 'get'>;
  readonly #prepare: (object: T) => T;
  #objects = new Map<string, T>();

  /** `prepare` gives the form in which a new object is cached. */
  constructor(cached: Pick<Store<T>, 'get'>, prepare: (object: T) => T) {
    this.#cached = cached;
    this.#prepare = prepare;
  }

  add(object: T): void {
    const key = keyOf(object);
    const { uid, resourceVersion } = object.metadata;
    const cached = this.#cached.get(key);
    const isSame = cached?.metadata.uid === uid && cached.metadata.resourceVersion === resourceVersion;
    this.#objects.set(key, isSame ? cached : this.#prepare(object));
  }

  remove(object: T): void {
    this.#objects.delete(keyOf(object));
  }

  /** Hands over what was added, and starts anew. */
  take(): Map<string, T> {
    const objects = this.#objects;
    this.#objects = new Map();
    return objects;
  }
}

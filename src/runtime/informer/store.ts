// The cache of one informer: objects by key, indexes, and the changes that a new version means. It decides what is stale, what
// is a re-creation and what did not change; it knows neither handlers nor the network.
//
// Guarantees: every change it reports is already in the cache; a swap of few objects is seen as one step; an object never goes
// back to an older version except by a swap, because a list is the server's whole truth.

import { type KubeObject, keyOf } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import { Indexes } from './indexes.ts';

export type Change<T> =
  | { kind: 'added'; key: string; object: T }
  | { kind: 'updated'; key: string; before: T; after: T }
  | { kind: 'deleted'; key: string; last: T };

/** Deletions remembered so that a late, older event of the same object cannot bring it back. */
const TOMBSTONES = 1024;

export class Store<T extends KubeObject> {
  readonly indexes: Indexes<T>;
  #objects = new Map<string, T>();
  readonly #tombstones = new Map<string, string>();

  constructor(indexFailed: (index: string, error: unknown) => void) {
    this.indexes = new Indexes(indexFailed);
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  entries(): Iterable<[string, T]> {
    return this.#objects.entries();
  }

  get size(): number {
    return this.#objects.size;
  }

  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): Change<T>[] {
    return type === 'DELETED' ? this.remove(object) : this.put(object);
  }

  put(object: T): Change<T>[] {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before === undefined) {
      if (this.#isBuried(object)) return [];
      this.#set(key, undefined, object);
      return [{ kind: 'added', key, object }];
    }
    if (!isNewer(object.metadata.resourceVersion, before.metadata.resourceVersion)) return [];
    if (before.metadata.uid !== object.metadata.uid) {
      if (this.#isBuried(object)) return [];
      this.#bury(before);
      this.#set(key, before, object);
      return [
        { kind: 'deleted', key, last: before },
        { kind: 'added', key, object },
      ];
    }
    this.#set(key, before, object);
    return [{ kind: 'updated', key, before, after: object }];
  }

  remove(object: T): Change<T>[] {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    this.#bury(object);
    if (before === undefined) return [];
    // A late event: the cached object is newer than this deletion.
    if (isNewer(before.metadata.resourceVersion, object.metadata.resourceVersion, 'older')) return [];
    this.#objects.delete(key);
    this.indexes.remove(key, before);
    const sameObject = before.metadata.uid === object.metadata.uid;
    return [{ kind: 'deleted', key, last: sameObject ? object : before }];
  }

  /**
   * Everything becomes `next`: deletions first, then the rest in the order of `next`. Each step looks at no more than `most`
   * objects and returns their changes, which the cache and its indexes show then. With few objects there is one step.
   */
  *swap(next: Map<string, T>, most: number): Generator<Change<T>[], void> {
    let changes: Change<T>[] = [];
    let looked = 0;
    const previous = this.#objects;
    this.#tombstones.clear();
    for (const [key, before] of previous) {
      const after = next.get(key);
      if (after === undefined || after.metadata.uid !== before.metadata.uid) {
        previous.delete(key);
        this.indexes.remove(key, before);
        changes.push({ kind: 'deleted', key, last: before });
      }
      if (++looked % most !== 0) continue;
      yield changes;
      changes = [];
    }
    for (const [key, after] of next) {
      const before = previous.get(key);
      if (before === undefined) changes.push({ kind: 'added', key, object: after });
      else if (before.metadata.resourceVersion !== after.metadata.resourceVersion)
        changes.push({ kind: 'updated', key, before, after });
      // Unchanged: the object that readers may hold stays the one that is cached.
      else next.set(key, before);
      if (before?.metadata.resourceVersion !== after.metadata.resourceVersion) this.#set(key, before, after);
      if (++looked % most !== 0) continue;
      yield changes;
      changes = [];
    }
    // The same objects, in the server's order.
    this.#objects = next;
    yield changes;
  }

  #set(key: string, before: T | undefined, after: T): void {
    this.#objects.set(key, after);
    this.indexes.put(key, before, after);
  }

  /** A later version of a deleted object is valid: it left the selection and came back. */
  #isBuried(object: T): boolean {
    const { uid, resourceVersion } = object.metadata;
    const buried = this.#tombstones.get(uid);
    return buried !== undefined && !isNewer(resourceVersion, buried);
  }

  #bury(object: T): void {
    const { uid, resourceVersion } = object.metadata;
    this.#tombstones.set(uid, resourceVersion);
    if (this.#tombstones.size > TOMBSTONES) {
      for (const oldest of this.#tombstones.keys()) {
        this.#tombstones.delete(oldest);
        break;
      }
    }
  }
}

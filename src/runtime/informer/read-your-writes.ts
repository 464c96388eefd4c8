// Read-your-writes on an informer's cache: an object that was just written is returned at once, before the watch delivers it.
// A loop that decides from its cache needs this; otherwise it decides twice from the same stale state.

import { type KubeObject, keyOf } from '../../api/object.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { Informer } from './informer.ts';

export class ReadYourWrites<T extends KubeObject> {
  readonly #informer: Informer<T>;
  readonly #written = new Map<string, T>();

  constructor(informer: Informer<T>) {
    this.#informer = informer;
    informer.subscribe({
      added: (object) => this.#seen(object),
      updated: (_before, after) => this.#seen(after),
      deleted: (last) => this.#written.delete(keyOf(last)),
    });
  }

  get(key: string): T | undefined {
    return this.#written.get(key) ?? this.#informer.get(key);
  }

  /**
   * Remembers the server's answer to an update until the informer has caught up. An object that is not in the cache is
   * not remembered: it may have been deleted since, and no event would ever remove it.
   */
  wrote(object: T): T {
    const cached = this.#informer.get(keyOf(object));
    if (cached && isNewer(object.metadata.resourceVersion, cached.metadata.resourceVersion)) {
      this.#written.set(keyOf(object), object);
    }
    return object;
  }

  #seen(object: T): void {
    if (this.#written.size === 0) return;
    const written = this.#written.get(keyOf(object));
    if (written && !isNewer(written.metadata.resourceVersion, object.metadata.resourceVersion)) {
      this.#written.delete(keyOf(object));
    }
  }
}

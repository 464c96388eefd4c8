// The objects of one kind: their newest committed versions, pending writes, and subscribers.

import { OrderedVersions } from './ordered-versions.ts';
import type { Change } from './recent-changes.ts';
import type { Version } from './version.ts';

export type ChangeListener = (change: Change) => void;

export class Collection<Pending> {
  readonly versions = new Map<string, Version>();
  readonly ordered = new OrderedVersions();
  /** The newest pending write by key. */
  readonly heads = new Map<string, Pending>();
  /** Copied on write, so that a listener may come or go while a change is being announced. */
  #listeners: readonly ChangeListener[] = [];
  readonly #byKey = new Map<string, readonly ChangeListener[]>();

  put(key: string, version: Version | undefined): void {
    if (version === undefined) {
      this.versions.delete(key);
      this.ordered.delete(key);
    } else {
      this.versions.set(key, version);
      this.ordered.set(version);
    }
  }

  /** With `onlyKey`, the listener is only called for that object. */
  subscribe(listener: ChangeListener, onlyKey: string | undefined): () => void {
    if (onlyKey === undefined) {
      this.#listeners = [...this.#listeners, listener];
      return () => {
        this.#listeners = this.#listeners.filter((each) => each !== listener);
      };
    }
    this.#byKey.set(onlyKey, [...(this.#byKey.get(onlyKey) ?? []), listener]);
    return () => {
      const others = (this.#byKey.get(onlyKey) ?? []).filter((each) => each !== listener);
      if (others.length > 0) this.#byKey.set(onlyKey, others);
      else this.#byKey.delete(onlyKey);
    };
  }

  /** Subscribers to all objects, then those to this one. */
  listenersTo(key: string): readonly ChangeListener[] {
    const only = this.#byKey.get(key);
    return only === undefined ? this.#listeners : [...this.#listeners, ...only];
  }
}

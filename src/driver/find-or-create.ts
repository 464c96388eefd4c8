// The idempotency of everything that is created by name: the same name gives the same thing, a conflicting request under a
// known name is refused, and of several callers at once, in several processes too, one creates.

import { refuse } from './refuse.ts';
import type { Collection, StateStore } from './state/state-store.ts';

export interface FindOrCreate<T> {
  /** What is being created, for the message: `volume`, `snapshot`. */
  kind: string;
  name: string;
  /** The unique index that holds names; `name` unless told. */
  index?: string;
  /** How the record that exists under the name differs from what is asked for; undefined if it does not. */
  differs: (existing: T) => string | undefined;
  /** Called if there is none. May throw to refuse; nothing is written then. */
  make: () => { key: string; record: T };
}

/** The record of that name, new or not. ALREADY_EXISTS if there is one that differs. One transaction. */
export function findOrCreate<T>(store: StateStore, collection: Collection<T>, options: FindOrCreate<T>): T {
  const { kind, name, index = 'name', differs, make } = options;
  return store.transaction(() => {
    const existing = collection.find(index, name)?.record;
    if (existing === undefined) {
      const { key, record } = make();
      collection.put(key, record);
      return record;
    }
    const difference = differs(existing);
    if (difference === undefined) return existing;
    throw refuse.alreadyExists(
      `${kind} ${name} exists and is not what is asked for: ${difference}; delete it or use another name`,
    );
  });
}

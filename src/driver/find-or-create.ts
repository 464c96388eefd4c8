// Idempotent creation by name: the same name returns the same record, and a conflicting request under an existing name
// is rejected. Of several concurrent callers, also in several processes, one creates.

import { refuse } from './refuse.ts';
import type { Collection, StateStore } from './state/state-store.ts';

export interface FindOrCreate<T> {
  /** The kind in error messages: `volume`, `snapshot`. */
  kind: string;
  name: string;
  /** The unique index that holds names; default `name`. */
  index?: string;
  /** How the existing record differs from the request; undefined if it does not. */
  differs: (existing: T) => string | undefined;
  /** Called if there is no record. May throw to reject the request; nothing is written then. */
  make: () => { key: string; record: T };
}

/** Returns the record of that name, new or existing; ALREADY_EXISTS if it differs. One transaction. */
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
      `${kind} ${name} exists and differs from the request: ${difference}; delete it or use another name`,
    );
  });
}

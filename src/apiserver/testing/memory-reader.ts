// A Reader over a few objects, for tests of authorizers and admission: the same contract as the store's (objects by
// kind, changes in order).

import { apiVersionOf, type KubeObject, keyOf, type Metadata, type Resource } from '../../api/object.ts';
import type { Reader } from '../pipeline.ts';

export type Partially<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  metadata: Partial<Metadata> & { name: string };
};

export interface MemoryReader extends Reader {
  /** Stores or replaces; uid and the rest of the metadata are filled in. */
  put<T extends KubeObject>(resource: Resource<T>, object: Partially<T>): T;
  remove(resource: Resource, name: { name: string; namespace?: string }): void;
}

type Listener = (before: KubeObject | undefined, after: KubeObject | undefined) => void;

export function createMemoryReader(): MemoryReader {
  const kinds = new Map<string, { objects: Map<string, KubeObject>; listeners: Set<Listener> }>();
  let version = 0;
  const of = (resource: Resource) => {
    const id = `${resource.group}/${resource.plural}`;
    const known = kinds.get(id) ?? { objects: new Map<string, KubeObject>(), listeners: new Set<Listener>() };
    kinds.set(id, known);
    return known;
  };
  const tell = (resource: Resource, before: KubeObject | undefined, after: KubeObject | undefined) => {
    for (const listener of of(resource).listeners) listener(before, after);
  };

  return {
    get: <T extends KubeObject>(resource: Resource<T>, name: { name: string; namespace?: string }) =>
      of(resource).objects.get(keyOf({ metadata: name })) as T | undefined,
    *list<T extends KubeObject>(resource: Resource<T>, namespace?: string): Iterable<T> {
      for (const object of of(resource).objects.values()) {
        if (namespace === undefined || object.metadata.namespace === namespace) yield object as T;
      }
    },
    pending: () => [],
    subscribe(resource, listener) {
      const { listeners } = of(resource);
      listeners.add(listener as Listener);
      return () => listeners.delete(listener as Listener);
    },
    put<T extends KubeObject>(resource: Resource<T>, object: Partially<T>): T {
      const { objects } = of(resource);
      const key = keyOf(object);
      const before = objects.get(key);
      version++;
      const after = {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        ...object,
        metadata: {
          uid: before?.metadata.uid ?? `uid-${version}`,
          creationTimestamp: before?.metadata.creationTimestamp ?? '2026-01-01T00:00:00Z',
          ...object.metadata,
          resourceVersion: String(version),
        },
      } as unknown as T;
      objects.set(key, after);
      tell(resource, before, after);
      return after;
    },
    remove(resource, name) {
      const { objects } = of(resource);
      const before = objects.get(keyOf({ metadata: name }));
      objects.delete(keyOf({ metadata: name }));
      if (before) tell(resource, before, undefined);
    },
  };
}

// Informers without a server: a test fills the caches and makes changes, and handlers are called at once. For tests of which
// change wakes which loop.

import { type KubeObject, keyOf, type Resource } from '../../../api/object.ts';
import type { Informer, InformerHandler, Informers } from '../informer.ts';

export interface ManualInformers extends Informers {
  /** Adds, replaces or, without `after`, deletes an object; handlers are called. */
  change(resource: Resource, before: object | undefined, after: object | undefined): void;
}

export function manualInformers(): ManualInformers {
  const all = new Map<string, ReturnType<typeof manualInformer>>();
  const of = (resource: Resource) => {
    const id = `${resource.group}/${resource.plural}`;
    const found = all.get(id) ?? manualInformer(resource);
    all.set(id, found);
    return found;
  };
  return {
    of: <T extends KubeObject>(resource: Resource<T>) => of(resource).informer as unknown as Informer<T>,
    start() {},
    synced: async () => {},
    change: (resource, before, after) =>
      of(resource).change(before as KubeObject | undefined, after as KubeObject | undefined),
  };
}

function manualInformer(resource: Resource) {
  const objects = new Map<string, KubeObject>();
  const handlers = new Set<InformerHandler<KubeObject>>();
  const indexes = new Map<string, (object: KubeObject) => readonly string[]>();
  const informer: Informer<KubeObject> = {
    resource: resource as Resource<KubeObject>,
    hasSynced: true,
    resourceVersion: '1',
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    addIndex: (name, valuesOf) => void indexes.set(name, valuesOf),
    dropIndex: (name) => void indexes.delete(name),
    byIndex: (name, value) =>
      [...objects.values()].filter((object) => indexes.get(name)?.(object).includes(value)),
    indexValues: (name) =>
      new Set([...objects.values()].flatMap((object) => indexes.get(name)?.(object) ?? [])),
    subscribe(handler) {
      for (const object of objects.values()) handler.added?.(object);
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    synced: async () => {},
    refresh: async () => {},
    waitFor: () => Promise.reject(new Error('a manual informer waits for nothing')),
  };
  return {
    informer,
    change(before: KubeObject | undefined, after: KubeObject | undefined): void {
      if (before) objects.delete(keyOf(before));
      if (after) objects.set(keyOf(after), after);
      for (const handler of handlers) {
        if (before && after) handler.updated?.(before, after);
        else if (after) handler.added?.(after);
        else if (before) handler.deleted?.(before);
      }
    },
  };
}

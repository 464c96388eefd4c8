// The store's interface for authorizers and admission: committed objects, by kind and name, and changes in order.

import { type KubeObject, keyOf, type ObjectName, type Resource } from '../../api/object.ts';
import type { Reader } from '../pipeline.ts';
import type { Store } from './store.ts';

const typeOf = ({ group, plural }: Resource): string => (group === '' ? plural : `${plural}.${group}`);

export function createStoreReader(store: Store): Reader {
  return {
    get: <T extends KubeObject>(resource: Resource<T>, name: ObjectName) =>
      store.get(typeOf(resource), keyOf({ metadata: name }))?.object as T | undefined,
    list: <T extends KubeObject>(resource: Resource<T>, namespace?: string) =>
      objectsOf<T>(store, typeOf(resource), namespace === undefined ? '' : `${namespace}/`),
    pending: <T extends KubeObject>(resource: Resource<T>, namespace: string) =>
      pendingOf<T>(store, typeOf(resource), `${namespace}/`),
    subscribe: <T extends KubeObject>(
      resource: Resource<T>,
      listener: (before: T | undefined, after: T | undefined) => void,
    ) =>
      store.subscribe(typeOf(resource), ({ before, after }) =>
        listener(before?.object as T | undefined, after?.object as T | undefined),
      ),
  };
}

function* pendingOf<T extends KubeObject>(store: Store, type: string, prefix: string) {
  for (const { before, after } of store.pending(type, prefix)) {
    yield { before: before?.object as T | undefined, after: after?.object as T | undefined };
  }
}

function* objectsOf<T extends KubeObject>(store: Store, type: string, prefix: string): Generator<T> {
  for (const { object } of store.range(type, prefix)) yield object as T;
}

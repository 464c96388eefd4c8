// Empties namespaces that are being deleted: deletes what is in them, and when nothing is left takes off the finalizer
// that holds the namespace. Writes nothing else.

import { type Namespace, namespaces } from '../api/kinds.ts';
import { isNotFound } from '../runtime/kube-error.ts';
import type { Reader, User } from './pipeline.ts';
import { deleteAuthorized } from './verbs/delete.ts';
import { storageTypeOf } from './verbs/presentation.ts';
import type { Machine, WriteRequest } from './verbs/request.ts';
import { update } from './verbs/update.ts';

const FINALIZER = 'kubernetes';
const SYSTEM: User = { name: 'system:apiserver', groups: ['system:masters'] };

/** Takes up deletions that a restart interrupted, then follows. Returns the function that ends it. */
export function followNamespaces(machine: Machine, reader: Reader): () => void {
  const { store, log } = machine;
  const terminating = new Set<string>();
  const settle = (name: string): void => {
    empty(machine, name).catch((error: unknown) => {
      // A namespace that changed meanwhile is settled by that change.
      if (store.failure === undefined && !machine.stopping.aborted) {
        log.v(2).info('a namespace is not empty yet', { namespace: name, reason: String(error) });
      }
    });
  };
  const look = ({ metadata }: Namespace): void => {
    if (metadata.deletionTimestamp === undefined) return;
    terminating.add(metadata.name);
    settle(metadata.name);
  };
  for (const namespace of [...reader.list(namespaces)]) look(namespace);
  const unsubscribe = reader.subscribe(namespaces, (before, after) => {
    if (after !== undefined) look(after);
    else if (before !== undefined) terminating.delete(before.metadata.name);
  });
  const unsubscribeAll = store.subscribeAll(({ key, after }) => {
    if (terminating.size === 0 || after !== undefined) return;
    const namespace = key.slice(0, Math.max(0, key.indexOf('/')));
    if (terminating.has(namespace)) settle(namespace);
  });
  return () => {
    unsubscribe();
    unsubscribeAll();
  };
}

async function empty(machine: Machine, name: string): Promise<void> {
  const { store, registry } = machine;
  const request: Omit<WriteRequest, 'kind' | 'name'> = {
    user: SYSTEM,
    namespace: name,
    subresource: '',
    dryRun: false,
    fieldManager: SYSTEM.name,
    fieldValidation: 'Ignore',
    warn: () => {},
  };
  const kinds = registry
    .all()
    .filter((kind) => kind.namespaced && !kind.virtual && kind.storedAs === undefined);
  const deletions: Promise<unknown>[] = [];
  for (const kind of new Map(kinds.map((each) => [storageTypeOf(each), each])).values()) {
    for (const { object } of store.range(storageTypeOf(kind), `${name}/`)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      const deletion = deleteAuthorized(machine, { ...request, kind, name: object.metadata.name }, {});
      deletions.push(
        deletion.catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        }),
      );
    }
  }
  await Promise.all(deletions);
  const left = kinds.some(
    (kind) => !store.range(storageTypeOf(kind), `${name}/`)[Symbol.iterator]().next().done,
  );
  if (!left) await finalize(machine, request, name);
}

async function finalize(
  machine: Machine,
  request: Omit<WriteRequest, 'kind' | 'name'>,
  name: string,
): Promise<void> {
  const kind = machine.registry.find('', 'v1', 'namespaces');
  const namespace = machine.store.get('namespaces', name)?.copy() as Namespace | undefined;
  if (kind === undefined || !namespace?.spec?.finalizers?.includes(FINALIZER)) return;
  namespace.spec.finalizers = namespace.spec.finalizers.filter((each) => each !== FINALIZER);
  await update(machine, { ...request, kind, name, namespace: undefined, subresource: 'finalize' }, namespace);
}

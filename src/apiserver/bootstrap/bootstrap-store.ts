// Writes the bootstrap objects (namespaces, default service accounts, roles and bindings) to the store, and creates the
// default service account of each later namespace.

import { namespaces, serviceAccounts } from '../../api/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import type { Reader } from '../pipeline.ts';
import { type BootstrapStep, bootstrapSteps, defaultServiceAccount } from './bootstrap-objects.ts';

/** `client` acts as the server itself. Returns a function that stops following namespaces. */
export async function bootstrapStore(
  client: KubeClient,
  reader: Reader,
  log: Log,
  { isDone }: { isDone: boolean },
): Promise<() => void> {
  const perform = ({ operation, resource, object }: BootstrapStep) => client[operation](resource, object);
  const steps = isDone ? [] : bootstrapSteps(reader);
  // RBAC objects first: they decide about the other writes.
  await Promise.all(steps.filter(({ object }) => object.kind === 'Namespace').map(perform));
  await Promise.all(steps.filter(({ object }) => object.kind !== 'Namespace').map(perform));
  return reader.subscribe(namespaces, (before, after) => {
    if (before !== undefined || after === undefined) return;
    const { name } = after.metadata;
    client.create(serviceAccounts, defaultServiceAccount(name)).catch((error: unknown) => {
      if (!isAlreadyExists(error)) log.error('the default account was not made', error, { namespace: name });
    });
  });
}

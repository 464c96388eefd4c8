// Deletes this incarnation of an object. One that does not exist any more counts as deleted.

import type { KubeObject, Resource } from '../../api/object.ts';
import type { DeleteOptions, KubeClient } from './kube.ts';
import { isNotFound } from './kube-error.ts';

/** Throws a Conflict when another object has taken the name. */
export async function deleteIfThere<T extends KubeObject>(
  kube: Pick<KubeClient, 'delete'>,
  resource: Resource<T>,
  { metadata: { name, namespace, uid } }: KubeObject,
  options: Omit<DeleteOptions, 'preconditions'>,
): Promise<void> {
  const target = namespace === undefined ? { name } : { name, namespace };
  try {
    await kube.delete(resource, target, { ...options, preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

// Reads an object from the server; undefined when it does not exist.

import type { KubeObject, ObjectName, Resource } from '../../api/object.ts';
import type { KubeClient } from './kube.ts';
import { isNotFound } from './kube-error.ts';

export async function getIfThere<T extends KubeObject>(
  kube: Pick<KubeClient, 'get'>,
  resource: Resource<T>,
  name: ObjectName,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await kube.get(resource, name, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

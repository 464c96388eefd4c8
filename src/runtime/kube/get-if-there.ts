// Reads an object by the server's word, where its absence is an answer and not an error.

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

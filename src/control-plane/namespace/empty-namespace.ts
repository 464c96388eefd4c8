// Deletes every object in a namespace, of every kind that the server serves, and returns what remains. Pods keep their
// grace period.

import type { KubeObject } from '../../api/object.ts';
import { apiVersionOf } from '../../api/object.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { Discovery, KubeClient, ServedResource } from '../../runtime/kube/kube.ts';
import { isNotFound } from '../../runtime/kube/kube-error.ts';
import type { NamespaceContent } from './namespace-conditions.ts';

export async function emptyNamespace(
  { kube, discovery }: { kube: KubeClient; discovery: Discovery },
  namespace: string,
  signal: AbortSignal,
): Promise<NamespaceContent> {
  const { resources, unknown } = await discovery.servedResources({ signal });
  const left: { resource: string; count: number }[] = [];
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  const results = await Promise.allSettled(
    resources.filter(canBeEmptied).map(async (resource) => ({
      resource,
      items: await deleteAll(kube, resource, namespace, signal),
    })),
  );
  signal.throwIfAborted();
  for (const result of results) {
    if (result.status === 'rejected') {
      failures.push(errorMessage(result.reason));
      continue;
    }
    const { resource, items } = result.value;
    if (items.length === 0) continue;
    left.push({ resource: typeName(resource), count: items.length });
    for (const finalizer of items.flatMap(({ metadata }) => metadata.finalizers ?? [])) {
      finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    }
  }
  return {
    left,
    finalizers: [...finalizers].map(([finalizer, count]) => ({ finalizer, count })),
    unknown,
    failures,
  };
}

/** What remains afterwards. Most kinds have no object there, which a single list shows. */
async function deleteAll(
  kube: KubeClient,
  resource: ServedResource,
  namespace: string,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const read = async () => (await kube.list<KubeObject>(resource, { namespace, signal })).items;
  try {
    const found = await read();
    const staying = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (staying.length === 0) return found;
    if (resource.verbs.includes('deletecollection')) {
      await kube.deleteCollection(resource, { namespace }, { propagationPolicy: 'Background', signal });
    } else {
      for (const { metadata } of staying) {
        const { name, uid } = metadata;
        await ifThere(kube.delete(resource, { name, namespace }, { preconditions: { uid }, signal }));
      }
    }
    return await read();
  } catch (error) {
    // The kind was removed together with all its objects.
    if (isNotFound(error)) return [];
    throw error;
  }
}

function canBeEmptied({ namespaced, verbs }: ServedResource): boolean {
  return namespaced && ['list', 'delete'].every((verb) => verbs.includes(verb));
}

function typeName(resource: ServedResource): string {
  return resource.group === ''
    ? `${resource.plural}.`
    : `${resource.plural}.${apiVersionOf(resource).split('/')[0]}`;
}

// Lists of one kind: a page, or everything in pages.

import { apiVersionOf, type KubeObject, type Resource } from '../../api/object.ts';
import type { KubeList, ListOptions } from './kube.ts';
import { isExpired, KubeError } from './kube-error.ts';
import { collectionPath, withQuery } from './request-path.ts';
import type { KubeRequest } from './requester.ts';

type Send = <T>(request: KubeRequest) => Promise<T>;

const PAGE_SIZE = 500;

export async function listPage<T extends KubeObject>(
  send: Send,
  resource: Resource<T>,
  given: ListOptions,
  read?: KubeRequest['read'],
): Promise<KubeList<T>> {
  const { signal, namespace, resourceVersion, resourceVersionMatch, withoutManagedFields, ...query } = given;
  const path = withQuery(collectionPath(resource, namespace), {
    ...query,
    // A continue token carries its version; servers refuse another beside it.
    ...(query.continue ? {} : { resourceVersion, resourceVersionMatch }),
  });
  const list = await send<Partial<KubeList<T>>>({
    method: 'GET',
    path,
    kind: 'list',
    repeatable: true,
    ...(withoutManagedFields && { read }),
    ...(signal && { signal }),
  });
  return typed(list, resource, path);
}

/** Everything, in pages. */
export async function listAll<T extends KubeObject>(
  send: Send,
  resource: Resource<T>,
  given: ListOptions,
): Promise<KubeList<T>> {
  const items: T[] = [];
  let page = await listPage(send, resource, { ...given, limit: PAGE_SIZE });
  const { resourceVersion } = page.metadata;
  for (;;) {
    for (const item of page.items) items.push(item);
    if (!page.metadata.continue) return { items, metadata: { resourceVersion } };
    try {
      page = await listPage(send, resource, { ...given, limit: PAGE_SIZE, continue: page.metadata.continue });
    } catch (error) {
      if (!isExpired(error)) throw error;
      // The pages took longer than the server keeps history: everything at once cannot expire.
      return listPage(send, resource, given);
    }
  }
}

/** Items of a list carry no type of their own on most servers; readers rely on it. */
function typed<T extends KubeObject>(
  list: Partial<KubeList<T>>,
  resource: Resource<T>,
  path: string,
): KubeList<T> {
  const { items, metadata } = list;
  if (!Array.isArray(items) && items !== null) {
    throw new KubeError({
      reason: 'BadAnswer',
      code: 200,
      message: `GET ${path.split('?')[0]}: the answer is no list`,
    });
  }
  const apiVersion = apiVersionOf(resource);
  for (const item of items ?? []) {
    item.apiVersion ??= apiVersion;
    item.kind ??= resource.kind;
  }
  return { items: items ?? [], metadata: { ...metadata, resourceVersion: metadata?.resourceVersion ?? '' } };
}

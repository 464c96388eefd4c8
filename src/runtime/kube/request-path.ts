// The URL path and query of every request the client makes. Pure.

import type { ObjectName, Resource } from '../../api/object.ts';
import { KubeError } from './kube-error.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path of a collection, in one namespace or in all. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const inNamespace = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}/${resource.version}${inNamespace}/${resource.plural}`;
}

export function objectPath(resource: Resource, name: ObjectName, subresource?: string): string {
  if (!name.name) throw incomplete(resource, 'a name');
  if (resource.namespaced && !name.namespace) throw incomplete(resource, `a namespace for "${name.name}"`);
  const below = subresource ? `/${subresource}` : '';
  return `${collectionPath(resource, name.namespace)}/${encodeURIComponent(name.name)}${below}`;
}

/** Creating in a namespaced kind needs the namespace too. */
export function createPath(resource: Resource, namespace: string | undefined): string {
  if (resource.namespaced && !namespace) throw incomplete(resource, 'a namespace to create in');
  return collectionPath(resource, namespace);
}

export function withQuery(path: string, query: Query): string {
  let text = path;
  for (const name in query) {
    const value = query[name];
    if (value === undefined || value === '' || value === false) continue;
    text += `${text === path ? '?' : '&'}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}

function incomplete(resource: Resource, what: string): KubeError {
  return new KubeError({
    reason: 'BadRequest',
    code: 400,
    message: `request on ${resource.plural} without ${what}; nothing was sent`,
  });
}

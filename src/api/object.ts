// The shape every Kubernetes object shares, and how the kinds of this project are described.
// Objects that come out of a client, an informer or the local door are shared and must never be changed:
// copy first.

import type { ManagedFieldsEntry, OwnerReference } from 'kubernetes-types/meta/v1.js';

export type { ManagedFieldsEntry, OwnerReference };

/** Metadata of an object that the API server has stored. */
export interface Metadata {
  name: string;
  /** Absent on cluster-scoped objects. */
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  generateName?: string;
  generation?: number;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** Any stored object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
}

/** A kind from `kubernetes-types`, with the metadata that stored objects really have. */
export type Stored<T> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & KubeObject;

/** What `create` and `update` take: the server fills in the rest of the metadata. */
export type Draft<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Metadata>;
};

/** One kind as clients address it. Two descriptors with the same group, version and plural are the same kind. */
export interface Resource<T extends KubeObject = KubeObject> {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Carries the type only; never set. */
  readonly objectType?: T;
}

/** Memoized per descriptor: most descriptors are constants. */
const apiVersions = new WeakMap<Pick<Resource, 'group' | 'version'>, string>();

export function apiVersionOf(resource: Pick<Resource, 'group' | 'version'>): string {
  if (resource.group === '') return resource.version;
  let apiVersion = apiVersions.get(resource);
  if (apiVersion === undefined) {
    apiVersion = `${resource.group}/${resource.version}`;
    apiVersions.set(resource, apiVersion);
  }
  return apiVersion;
}

/** Names one object of a known kind. */
export interface ObjectName {
  name: string;
  namespace?: string;
}

/** The key of an object in caches and work queues: `namespace/name`, or `name` when cluster-scoped. */
export function keyOf(object: { metadata: { name?: string; namespace?: string } }): string {
  const { namespace, name = '' } = object.metadata;
  return namespace ? `${namespace}/${name}` : name;
}

export function nameFromKey(key: string): ObjectName {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

// How kinds differ in writes, as tables: whether an update has to name the version it replaces, whether an update
// creates what does not exist, and whether a deletion answers with the object. Keys are `plural.group`.

import type { Resource } from '../../api/object.ts';

/** An update without a resource version is rejected. So it is for custom resources. */
const NEEDS_VERSION = new Set([
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'csistoragecapacities.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'leases.coordination.k8s.io',
  'poddisruptionbudgets.policy',
  'runtimeclasses.node.k8s.io',
  'volumeattachments.storage.k8s.io',
]);

const CREATED_BY_UPDATE = new Set([
  'clusterrolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'endpoints',
  'events',
  'events.events.k8s.io',
  'leases.coordination.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'runtimeclasses.node.k8s.io',
  'services',
]);

/** Others answer with a Status. */
const ANSWERS_DELETED = new Set([
  'csidrivers.storage.k8s.io',
  'csinodes.storage.k8s.io',
  'namespaces',
  'persistentvolumeclaims',
  'persistentvolumes',
  'pods',
  'resourcequotas',
  'serviceaccounts',
  'services',
  'storageclasses.storage.k8s.io',
  'volumeattachments.storage.k8s.io',
  'volumeattributesclasses.storage.k8s.io',
]);

/** Finalizers need no domain. So it is for custom resources, where one without is warned of. */
const PLAIN_FINALIZERS = new Set([
  'customresourcedefinitions.apiextensions.k8s.io',
  'events',
  'leases.coordination.k8s.io',
  'runtimeclasses.node.k8s.io',
]);

const COUNTED_METADATA = new Map([
  ['deployments.apps', 'annotations'],
  ['endpointslices.discovery.k8s.io', 'labels'],
] as const);

export interface WriteRules {
  readonly needsVersion: boolean;
  readonly createdByUpdate: boolean;
  readonly answersDeleted: boolean;
  /** The deleted object is answered with its deletion timestamp, also when it is gone at once: pods. */
  readonly answersMarked: boolean;
  readonly plainFinalizers: boolean;
  /** Metadata whose change counts as one of the spec. */
  readonly counts: 'annotations' | 'labels' | undefined;
  /** A write of the status changes no metadata. */
  readonly statusKeepsMetadata: boolean;
}

export const CUSTOM_WRITE_RULES: WriteRules = {
  needsVersion: true,
  createdByUpdate: false,
  answersDeleted: false,
  answersMarked: false,
  plainFinalizers: true,
  counts: undefined,
  statusKeepsMetadata: true,
};

export function writeRulesOf({ group, plural }: Pick<Resource, 'group' | 'plural'>): WriteRules {
  const key = group === '' ? plural : `${plural}.${group}`;
  return {
    needsVersion: NEEDS_VERSION.has(key),
    createdByUpdate: CREATED_BY_UPDATE.has(key),
    answersDeleted: ANSWERS_DELETED.has(key),
    answersMarked: key === 'pods',
    plainFinalizers: PLAIN_FINALIZERS.has(key),
    counts: COUNTED_METADATA.get(key as 'deployments.apps'),
    statusKeepsMetadata: key === 'volumeattachments.storage.k8s.io',
  };
}

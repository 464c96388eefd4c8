// Rules that type declarations cannot express: how lists merge, which structures are atomic, and formats. Facts about
// Kubernetes' kinds, by type and field.

import type { Schema } from '../../src/apiserver/schema.ts';
import { ENUMS, INT32 } from './enums.ts';

/** Lists that are maps: `Type.field` → the keys (the first is the strategic merge key). */
export const KEYED_LISTS: Record<string, string[]> = {
  'ObjectMeta.ownerReferences': ['uid'],
  'PodSpec.volumes': ['name'],
  'PodSpec.initContainers': ['name'],
  'PodSpec.containers': ['name'],
  'PodSpec.ephemeralContainers': ['name'],
  'PodSpec.imagePullSecrets': ['name'],
  'PodSpec.hostAliases': ['ip'],
  'PodSpec.topologySpreadConstraints': ['topologyKey', 'whenUnsatisfiable'],
  'PodSpec.schedulingGates': ['name'],
  'PodSpec.resourceClaims': ['name'],
  'PodStatus.conditions': ['type'],
  'PodStatus.podIPs': ['ip'],
  'PodStatus.resourceClaimStatuses': ['name'],
  'Container.ports': ['containerPort', 'protocol'],
  'Container.env': ['name'],
  'Container.volumeMounts': ['mountPath'],
  'Container.volumeDevices': ['devicePath'],
  'EphemeralContainer.ports': ['containerPort', 'protocol'],
  'EphemeralContainer.env': ['name'],
  'EphemeralContainer.volumeMounts': ['mountPath'],
  'EphemeralContainer.volumeDevices': ['devicePath'],
  'ContainerStatus.volumeMounts': ['mountPath'],
  'ContainerStatus.allocatedResourcesStatus': ['name'],
  'ResourceRequirements.claims': ['name'],
  'PersistentVolumeClaimStatus.conditions': ['type'],
  'ServiceAccount.secrets': ['name'],
  'ServiceSpec.ports': ['port', 'protocol'],
  'ServiceStatus.conditions': ['type'],
  'ReplicaSetStatus.conditions': ['type'],
  'ResourceStatus.resources': ['resourceID'],
  'NodeStatus.conditions': ['type'],
  'NodeStatus.addresses': ['type'],
  'NamespaceStatus.conditions': ['type'],
  'StatefulSetStatus.conditions': ['type'],
  'DeploymentStatus.conditions': ['type'],
  'DaemonSetStatus.conditions': ['type'],
  'CSINodeSpec.drivers': ['name'],
  'CustomResourceDefinitionStatus.conditions': ['type'],
  'PodDisruptionBudgetStatus.conditions': ['type'],
};

/** Keyed for server-side apply, but atomic for strategic merge patches. */
const NOT_STRATEGIC = new Set([
  'ResourceRequirements.claims',
  'ResourceStatus.resources',
  'CustomResourceDefinitionStatus.conditions',
]);
/** Strategic merge that also removes keys which the patch does not have. */
const RETAIN_KEYS = new Set(['PodSpec.volumes', 'PodSpec.resourceClaims', 'PodStatus.resourceClaimStatuses']);
/** Keyed for strategic merge patches, but atomic for server-side apply. */
const STRATEGIC_ONLY: Record<string, string> = {
  'PodStatus.hostIPs': 'ip',
};
const SETS = new Set([
  'ObjectMeta.finalizers',
  'NodeSpec.podCIDRs',
  'CSIDriverSpec.volumeLifecycleModes',
  'VolumeMount.bindMountOptions',
  'Endpoint.addresses',
]);
const STRATEGIC_SETS = new Set(['ObjectMeta.finalizers', 'NodeSpec.podCIDRs']);

/** Atomic structures: one owner sets the whole. */
export const ATOMIC_TYPES: ReadonlySet<string> = new Set([
  'SecretReference',
  'ObjectFieldSelector',
  'ResourceFieldSelector',
  'ConfigMapKeySelector',
  'SecretKeySelector',
  'NodeSelector',
  'NodeSelectorTerm',
  'TopologySelectorTerm',
  'ObjectReference',
  'LocalObjectReference',
  'TypedLocalObjectReference',
  'ScopeSelector',
  'Subject',
  'RoleRef',
  'OwnerReference',
  'LabelSelector',
  'EndpointAddress',
  'EndpointPort',
]);
export const RETAIN_KEYS_TYPES: ReadonlySet<string> = new Set(['DeploymentStrategy']);
const ATOMIC_MAPS = new Set(['PodSpec.nodeSelector', 'Scheduling.nodeSelector', 'ServiceSpec.selector']);
/** Fields whose type is atomic everywhere else. */
export const GRANULAR_FIELDS: ReadonlySet<string> = new Set(['PersistentVolumeSpec.claimRef']);

const BYTES = new Set(['Secret.data', 'ConfigMap.binaryData', 'WebhookClientConfig.caBundle']);
const REAL_NUMBERS = new Set([
  'JSONSchemaProps.maximum',
  'JSONSchemaProps.minimum',
  'JSONSchemaProps.multipleOf',
]);

/** Fields that are required, or not, other than the declarations say. */
export const REQUIRED: ReadonlyMap<string, boolean> = new Map([
  ['HostAlias.ip', true],
  ['HostIP.ip', true],
  ['PodIP.ip', true],
  ['StatefulSetSpec.serviceName', false],
  ['RoleRef.apiGroup', false],
  ['EndpointSlice.endpoints', false],
  ['PriorityClass.value', false],
]);

/** Marks a field's own schema (an array, a map, a scalar) in place. */
export function applyMergeRules(type: string, field: string, schema: Schema): void {
  const path = `${type}.${field}`;
  if (schema.type === 'array') markList(path, schema);
  if (ATOMIC_MAPS.has(path)) schema['x-kubernetes-map-type'] = 'atomic';
  if (BYTES.has(path)) {
    const bytes: Schema = { type: 'string', format: 'byte' };
    if (schema.type === 'object') schema.additionalProperties = bytes;
    else Object.assign(schema, bytes);
  }
  // The only key of a keyed list that Kubernetes' types omit where it is empty.
  if (path === 'LocalObjectReference.name') schema.default = '';
  const values = ENUMS[path];
  if (values) (schema.items ?? schema).enum = [...values];
  if (INT32.has(path)) schema.format = 'int32';
  if (REAL_NUMBERS.has(path)) {
    schema.type = 'number';
    delete schema.format;
  }
}

function markList(path: string, schema: Schema): void {
  const keys = KEYED_LISTS[path];
  const strategicKey = keys && !NOT_STRATEGIC.has(path) ? keys[0] : STRATEGIC_ONLY[path];
  if (keys) {
    schema['x-kubernetes-list-type'] = 'map';
    schema['x-kubernetes-list-map-keys'] = keys;
  } else {
    schema['x-kubernetes-list-type'] = SETS.has(path) ? 'set' : 'atomic';
  }
  if (strategicKey) {
    schema['x-kubernetes-patch-merge-key'] = strategicKey;
    schema['x-kubernetes-patch-strategy'] = RETAIN_KEYS.has(path) ? 'merge,retainKeys' : 'merge';
  } else if (STRATEGIC_SETS.has(path)) {
    schema['x-kubernetes-patch-strategy'] = 'merge';
  }
}

// Every kind Berth's components use: its type and its resource descriptor. Types come from `kubernetes-types`
// where it has them; fields that are newer, or that only the design documents know, are added here.

import type * as apiextensions from 'kubernetes-types/apiextensions/v1.js';
import type * as apps from 'kubernetes-types/apps/v1.js';
import type * as authentication from 'kubernetes-types/authentication/v1.js';
import type * as authorization from 'kubernetes-types/authorization/v1.js';
import type * as coordination from 'kubernetes-types/coordination/v1.js';
import type * as core from 'kubernetes-types/core/v1.js';
import type * as discovery from 'kubernetes-types/discovery/v1.js';
import type * as meta from 'kubernetes-types/meta/v1.js';
import type * as node from 'kubernetes-types/node/v1.js';
import type * as rbac from 'kubernetes-types/rbac/v1.js';
import type * as scheduling from 'kubernetes-types/scheduling/v1.js';
import type * as storage from 'kubernetes-types/storage/v1.js';
import type { KubeObject, Resource, Stored } from './object.ts';

function resource<T extends KubeObject>(
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): Resource<T> {
  return { group, version, kind, plural, namespaced };
}

// core/v1

/** Today's inline source, and the `volumeHandle` and secrets of the inline design (persistent inline volumes). */
export interface CSIVolumeSource extends core.CSIVolumeSource {
  volumeHandle?: string;
  controllerPublishSecretRef?: core.LocalObjectReference;
  nodeStageSecretRef?: core.LocalObjectReference;
}
export type CSIPersistentVolumeSource = core.CSIPersistentVolumeSource;
export type SecretReference = core.SecretReference;
export type PodVolume = Omit<core.Volume, 'csi'> & { csi?: CSIVolumeSource };
export type PodSpec = Omit<core.PodSpec, 'volumes'> & { volumes?: PodVolume[] };
export type PodCondition = core.PodCondition;
export type PersistentVolumeClaimSpec = core.PersistentVolumeClaimSpec;
export type PersistentVolumeSpec = core.PersistentVolumeSpec;
export type PersistentVolumeClaimCondition = core.PersistentVolumeClaimCondition;
export type ObjectReference = core.ObjectReference;
export type NodeSelectorTerm = core.NodeSelectorTerm;
export type NodeSelectorRequirement = core.NodeSelectorRequirement;
export type TopologySelectorTerm = core.TopologySelectorTerm;
export type Taint = core.Taint;
export type Toleration = core.Toleration;

export type Namespace = Stored<core.Namespace>;
export type Node = Stored<core.Node>;
export type Pod = Stored<Omit<core.Pod, 'spec'>> & { spec: PodSpec };
export type PersistentVolume = Stored<core.PersistentVolume> & { spec: core.PersistentVolumeSpec };
export type PersistentVolumeClaim = Stored<core.PersistentVolumeClaim> & {
  spec: core.PersistentVolumeClaimSpec;
};
export type Secret = Stored<core.Secret>;
export type ConfigMap = Stored<core.ConfigMap>;
export type ServiceAccount = Stored<core.ServiceAccount>;
export type Event = Stored<core.Event>;
export type ResourceQuota = Stored<core.ResourceQuota>;
export type Service = Stored<core.Service>;
export type Endpoints = Stored<core.Endpoints>;
export type EndpointSlice = Stored<discovery.EndpointSlice>;
export type PriorityClass = Stored<scheduling.PriorityClass>;
export type RuntimeClass = Stored<node.RuntimeClass>;

export const namespaces = resource<Namespace>('', 'v1', 'Namespace', 'namespaces', false);
export const nodes = resource<Node>('', 'v1', 'Node', 'nodes', false);
export const pods = resource<Pod>('', 'v1', 'Pod', 'pods', true);
export const persistentVolumes = resource<PersistentVolume>(
  '',
  'v1',
  'PersistentVolume',
  'persistentvolumes',
  false,
);
export const persistentVolumeClaims = resource<PersistentVolumeClaim>(
  '',
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
  true,
);
export const secrets = resource<Secret>('', 'v1', 'Secret', 'secrets', true);
export const configMaps = resource<ConfigMap>('', 'v1', 'ConfigMap', 'configmaps', true);
export const serviceAccounts = resource<ServiceAccount>('', 'v1', 'ServiceAccount', 'serviceaccounts', true);
export const events = resource<Event>('', 'v1', 'Event', 'events', true);
export const services = resource<Service>('', 'v1', 'Service', 'services', true);
export const endpoints = resource<Endpoints>('', 'v1', 'Endpoints', 'endpoints', true);
export const endpointSlices = resource<EndpointSlice>(
  'discovery.k8s.io',
  'v1',
  'EndpointSlice',
  'endpointslices',
  true,
);
export const priorityClasses = resource<PriorityClass>(
  'scheduling.k8s.io',
  'v1',
  'PriorityClass',
  'priorityclasses',
  false,
);
export const runtimeClasses = resource<RuntimeClass>(
  'node.k8s.io',
  'v1',
  'RuntimeClass',
  'runtimeclasses',
  false,
);
export const resourceQuotas = resource<ResourceQuota>('', 'v1', 'ResourceQuota', 'resourcequotas', true);

// storage.k8s.io/v1

/** Both spellings of an inline source: today's `inlineVolumeSpec`, and the inline design's `inlineVolumeSource`. */
export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: core.PersistentVolumeSpec;
  inlineVolumeSource?: InlineVolumeSource;
}
export interface InlineVolumeSource {
  /** The pod's whole volume source; only `csi` may be set. */
  volumeSource: { csi: CSIVolumeSource };
  namespace: string;
}
export interface VolumeError extends storage.VolumeError {
  errorCode?: number;
}
export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  attachError?: VolumeError;
  detachError?: VolumeError;
}
export type VolumeAttachment = Stored<Omit<storage.VolumeAttachment, 'spec' | 'status'>> & {
  spec: { attacher: string; nodeName: string; source: VolumeAttachmentSource };
  status?: VolumeAttachmentStatus;
};
export type StorageClass = Stored<storage.StorageClass>;
export type CSIDriver = Stored<Omit<storage.CSIDriver, 'spec'>> & {
  spec: storage.CSIDriverSpec & {
    nodeAllocatableUpdatePeriodSeconds?: number;
    /** Service account tokens go into the secrets of NodePublishVolume instead of its volume context. */
    serviceAccountTokenInSecrets?: boolean;
    /** The inline design's name for `volumeLifecycleModes`, accepted and mapped by the embedded API server. */
    lifecycle?: 'persistent' | 'ephemeral';
  };
};
export type CSINodeDriver = storage.CSINodeDriver;
export type CSINode = Stored<storage.CSINode>;
export type CSIStorageCapacity = Stored<storage.CSIStorageCapacity>;
export type VolumeAttributesClass = KubeObject & { driverName: string; parameters?: Record<string, string> };

const STORAGE = 'storage.k8s.io';
export const storageClasses = resource<StorageClass>(STORAGE, 'v1', 'StorageClass', 'storageclasses', false);
export const csiDrivers = resource<CSIDriver>(STORAGE, 'v1', 'CSIDriver', 'csidrivers', false);
export const csiNodes = resource<CSINode>(STORAGE, 'v1', 'CSINode', 'csinodes', false);
export const volumeAttachments = resource<VolumeAttachment>(
  STORAGE,
  'v1',
  'VolumeAttachment',
  'volumeattachments',
  false,
);
export const csiStorageCapacities = resource<CSIStorageCapacity>(
  STORAGE,
  'v1',
  'CSIStorageCapacity',
  'csistoragecapacities',
  true,
);
export const volumeAttributesClasses = resource<VolumeAttributesClass>(
  STORAGE,
  'v1',
  'VolumeAttributesClass',
  'volumeattributesclasses',
  false,
);

// csi.storage.k8s.io/v1alpha1: the design documents' CRDs

export type CSINodeInfo = KubeObject & {
  csiDrivers?: { name: string; nodeID: string; topologyKeys?: string[] }[];
};
export const csiNodeInfos = resource<CSINodeInfo>(
  'csi.storage.k8s.io',
  'v1alpha1',
  'CSINodeInfo',
  'csinodeinfos',
  false,
);

/** The design documents' CSIDriver; today's object of that kind is the source of truth. */
export type CSIDriverDesign = KubeObject & {
  spec: {
    attachRequired?: boolean;
    podInfoOnMountVersion?: string;
    lifecycle?: 'persistent' | 'ephemeral';
  };
};
export const csiDriverDesigns = resource<CSIDriverDesign>(
  'csi.storage.k8s.io',
  'v1alpha1',
  'CSIDriver',
  'csidrivers',
  false,
);

// coordination, rbac, apps, apiextensions

export type Lease = Stored<coordination.Lease>;
export type Role = Stored<rbac.Role>;
export type ClusterRole = Stored<rbac.ClusterRole>;
export type RoleBinding = Stored<rbac.RoleBinding>;
export type ClusterRoleBinding = Stored<rbac.ClusterRoleBinding>;
export type StatefulSet = Stored<apps.StatefulSet>;
export type Deployment = Stored<apps.Deployment>;
export type DaemonSet = Stored<apps.DaemonSet>;
export type CustomResourceDefinition = Stored<apiextensions.CustomResourceDefinition>;

const RBAC = 'rbac.authorization.k8s.io';
export const leases = resource<Lease>('coordination.k8s.io', 'v1', 'Lease', 'leases', true);
export const roles = resource<Role>(RBAC, 'v1', 'Role', 'roles', true);
export const clusterRoles = resource<ClusterRole>(RBAC, 'v1', 'ClusterRole', 'clusterroles', false);
export const roleBindings = resource<RoleBinding>(RBAC, 'v1', 'RoleBinding', 'rolebindings', true);
export const clusterRoleBindings = resource<ClusterRoleBinding>(
  RBAC,
  'v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
  false,
);
export const statefulSets = resource<StatefulSet>('apps', 'v1', 'StatefulSet', 'statefulsets', true);
export const deployments = resource<Deployment>('apps', 'v1', 'Deployment', 'deployments', true);
export const daemonSets = resource<DaemonSet>('apps', 'v1', 'DaemonSet', 'daemonsets', true);
export const customResourceDefinitions = resource<CustomResourceDefinition>(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
);

// snapshot.storage.k8s.io/v1

export interface SnapshotError {
  time?: string;
  message?: string;
}
export type VolumeSnapshot = KubeObject & {
  spec: {
    source: { persistentVolumeClaimName?: string; volumeSnapshotContentName?: string };
    volumeSnapshotClassName?: string;
  };
  status?: {
    boundVolumeSnapshotContentName?: string;
    creationTime?: string;
    readyToUse?: boolean;
    restoreSize?: string;
    error?: SnapshotError;
    volumeGroupSnapshotName?: string;
  };
};
export type VolumeSnapshotContent = KubeObject & {
  spec: {
    deletionPolicy: 'Delete' | 'Retain';
    driver: string;
    source: { volumeHandle?: string; snapshotHandle?: string };
    sourceVolumeMode?: string;
    volumeSnapshotClassName?: string;
    volumeSnapshotRef: core.ObjectReference;
  };
  status?: {
    /** In nanoseconds since 1970: more than a number holds exactly, so it is never rewritten. */
    creationTime?: number;
    readyToUse?: boolean;
    restoreSize?: number;
    snapshotHandle?: string;
    error?: SnapshotError;
    volumeGroupSnapshotHandle?: string;
  };
};
export type VolumeSnapshotClass = KubeObject & {
  driver: string;
  deletionPolicy: 'Delete' | 'Retain';
  parameters?: Record<string, string>;
};

const SNAPSHOT = 'snapshot.storage.k8s.io';
export const volumeSnapshots = resource<VolumeSnapshot>(
  SNAPSHOT,
  'v1',
  'VolumeSnapshot',
  'volumesnapshots',
  true,
);
export const volumeSnapshotContents = resource<VolumeSnapshotContent>(
  SNAPSHOT,
  'v1',
  'VolumeSnapshotContent',
  'volumesnapshotcontents',
  false,
);
export const volumeSnapshotClasses = resource<VolumeSnapshotClass>(
  SNAPSHOT,
  'v1',
  'VolumeSnapshotClass',
  'volumesnapshotclasses',
  false,
);

// groupsnapshot.storage.k8s.io/v1

export type VolumeGroupSnapshot = KubeObject & {
  spec: {
    source: { selector?: meta.LabelSelector; volumeGroupSnapshotContentName?: string };
    volumeGroupSnapshotClassName?: string;
  };
  status?: {
    boundVolumeGroupSnapshotContentName?: string;
    creationTime?: string;
    readyToUse?: boolean;
    error?: SnapshotError;
  };
};
/** One member, as the driver reported it. */
export interface VolumeSnapshotInfo {
  volumeHandle?: string;
  snapshotHandle?: string;
  /** In nanoseconds since 1970, as in VolumeSnapshotContent. */
  creationTime?: number;
  readyToUse?: boolean;
  restoreSize?: number;
}
export type VolumeGroupSnapshotContent = KubeObject & {
  spec: {
    deletionPolicy: 'Delete' | 'Retain';
    driver: string;
    source: {
      volumeHandles?: string[];
      groupSnapshotHandles?: { volumeGroupSnapshotHandle: string; volumeSnapshotHandles: string[] };
    };
    volumeGroupSnapshotClassName?: string;
    volumeGroupSnapshotRef: core.ObjectReference;
  };
  status?: {
    volumeGroupSnapshotHandle?: string;
    creationTime?: string;
    readyToUse?: boolean;
    error?: SnapshotError;
    volumeSnapshotInfoList?: VolumeSnapshotInfo[];
  };
};
export type VolumeGroupSnapshotClass = KubeObject & {
  driver: string;
  deletionPolicy: 'Delete' | 'Retain';
  parameters?: Record<string, string>;
};

const GROUP_SNAPSHOT = 'groupsnapshot.storage.k8s.io';
export const volumeGroupSnapshots = resource<VolumeGroupSnapshot>(
  GROUP_SNAPSHOT,
  'v1',
  'VolumeGroupSnapshot',
  'volumegroupsnapshots',
  true,
);
export const volumeGroupSnapshotContents = resource<VolumeGroupSnapshotContent>(
  GROUP_SNAPSHOT,
  'v1',
  'VolumeGroupSnapshotContent',
  'volumegroupsnapshotcontents',
  false,
);
export const volumeGroupSnapshotClasses = resource<VolumeGroupSnapshotClass>(
  GROUP_SNAPSHOT,
  'v1',
  'VolumeGroupSnapshotClass',
  'volumegroupsnapshotclasses',
  false,
);

// populator.storage.k8s.io/v1beta1

export type VolumePopulator = KubeObject & { sourceKind: { group: string; kind: string } };
export const volumePopulators = resource<VolumePopulator>(
  'populator.storage.k8s.io',
  'v1beta1',
  'VolumePopulator',
  'volumepopulators',
  false,
);

// gateway.networking.k8s.io/v1beta1

export type ReferenceGrant = KubeObject & {
  spec: {
    from: { group: string; kind: string; namespace: string }[];
    /** Without a name: all objects of the kind. */
    to: { group: string; kind: string; name?: string }[];
  };
};
export const referenceGrants = resource<ReferenceGrant>(
  'gateway.networking.k8s.io',
  'v1beta1',
  'ReferenceGrant',
  'referencegrants',
  true,
);

// cbt.storage.k8s.io/v1beta1

export type SnapshotMetadataService = KubeObject & {
  spec: {
    address: string;
    audience: string;
    /** PEM in base64. */
    caCert: string;
  };
};
export const snapshotMetadataServices = resource<SnapshotMetadataService>(
  'cbt.storage.k8s.io',
  'v1beta1',
  'SnapshotMetadataService',
  'snapshotmetadataservices',
  false,
);

// authentication.k8s.io/v1 and authorization.k8s.io/v1: created, answered, never stored

export type TokenReview = KubeObject & Pick<authentication.TokenReview, 'spec' | 'status'>;
export const tokenReviews = resource<TokenReview>(
  'authentication.k8s.io',
  'v1',
  'TokenReview',
  'tokenreviews',
  false,
);
export type SelfSubjectReview = KubeObject & { status?: { userInfo?: authentication.UserInfo } };
export const selfSubjectReviews = resource<SelfSubjectReview>(
  'authentication.k8s.io',
  'v1',
  'SelfSubjectReview',
  'selfsubjectreviews',
  false,
);
export type SubjectAccessReview = KubeObject & Pick<authorization.SubjectAccessReview, 'spec' | 'status'>;
export const subjectAccessReviews = resource<SubjectAccessReview>(
  'authorization.k8s.io',
  'v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
  false,
);

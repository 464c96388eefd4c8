// The names that Kubernetes' volume components agree on: annotations, finalizers, labels, reserved keys.
// They are a contract with other controllers, dashboards and runbooks; where a name has an older spelling that is
// still read or written, both stand here.

// On claims
export const ANN_STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
export const ANN_STORAGE_PROVISIONER_BETA = 'volume.beta.kubernetes.io/storage-provisioner';
export const ANN_SELECTED_NODE = 'volume.kubernetes.io/selected-node';
export const ANN_SELECTED_NODE_ALPHA = 'volume.alpha.kubernetes.io/selected-node';
export const ANN_BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/** On claims and volumes: the binder, not the user, chose the other side. */
export const ANN_BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** While a volume may exist for the claim: a digest of the CreateVolume request. */
export const ANN_PROVISIONING_REQUEST = 'csi.berth/provisioning-request';
/** Legacy spelling of `spec.storageClassName`, on claims and volumes. */
export const ANN_STORAGE_CLASS_BETA = 'volume.beta.kubernetes.io/storage-class';

/** The controller expanded the volume, and no node expansion is needed. */
export const ANN_NODE_EXPANSION_NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required';

// On volumes
/** The claim's capacity before the expansion, while the filesystem has not been resized yet. */
export const ANN_PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity';
export const ANN_PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
export const ANN_DELETION_SECRET_NAME = 'volume.kubernetes.io/provisioner-deletion-secret-name';
export const ANN_DELETION_SECRET_NAMESPACE = 'volume.kubernetes.io/provisioner-deletion-secret-namespace';
export const ANN_MODIFY_SECRET_NAME = 'volume.kubernetes.io/controller-modify-secret-name';
export const ANN_MODIFY_SECRET_NAMESPACE = 'volume.kubernetes.io/controller-modify-secret-namespace';

// On classes
export const ANN_DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

// On snapshot classes
export const ANN_DEFAULT_SNAPSHOT_CLASS = 'snapshot.storage.kubernetes.io/is-default-class';

// On snapshot contents
/** While a snapshot may exist on the storage that no handle records yet. */
export const ANN_SNAPSHOT_BEING_CREATED = 'snapshot.storage.kubernetes.io/volumesnapshot-being-created';
/** JSON: the parameters of the CreateSnapshot call, so that it can be repeated without the class. */
export const ANN_SNAPSHOT_PARAMETERS = 'csi.berth/snapshot-parameters';
/** The snapshot of this content is being deleted: the content may go too, as its policy says. */
export const ANN_SNAPSHOT_BEING_DELETED = 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted';
export const ANN_SNAPSHOT_SECRET_NAME = 'snapshot.storage.kubernetes.io/deletion-secret-name';
export const ANN_SNAPSHOT_SECRET_NAMESPACE = 'snapshot.storage.kubernetes.io/deletion-secret-namespace';
/** On contents that a group snapshot made. */
export const ANN_GROUP_SNAPSHOT_HANDLE = 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle';

// On group snapshot classes
export const ANN_DEFAULT_GROUP_SNAPSHOT_CLASS = 'groupsnapshot.storage.kubernetes.io/is-default-class';

// On group snapshot contents; the same meanings as on snapshot contents
export const ANN_GROUP_SNAPSHOT_BEING_CREATED =
  'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created';
export const ANN_GROUP_SNAPSHOT_PARAMETERS = 'csi.berth/group-snapshot-parameters';
export const ANN_GROUP_SNAPSHOT_BEING_DELETED =
  'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted';
export const ANN_GROUP_SNAPSHOT_SECRET_NAME = 'groupsnapshot.storage.kubernetes.io/deletion-secret-name';
export const ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE =
  'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace';

/** The node whose snapshotter is to make the snapshot, where there is one on each node. */
export const LABEL_SNAPSHOT_MANAGED_BY = 'snapshot.storage.kubernetes.io/managed-by';

// On claims, VolumeAttachments and contents of snapshots
/** Any new value: what fails is tried again at once, instead of when the backoff is over. */
export const ANN_RETRY = 'csi.berth/retry';

// On the provisioner's Lease of intents
/** JSON: the claims with a CreateVolume call in flight. */
export const ANN_PROVISIONING_INTENTS = 'csi.berth/provisioning-intents';

// On nodes
export const ANN_CSI_NODE_ID = 'csi.volume.kubernetes.io/nodeid';
export const TAINT_OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

// On pods
/** JSON of volume name to published path, written by the node. */
export const ANN_PUBLISHED_VOLUMES = 'csi.berth/published-volumes';

// On CSIDrivers
/**
 * "allowed": pods may name existing volumes of the driver by their handle. Without it they may not: whoever may create
 * pods could mount any volume of the driver, also one that is another tenant's.
 */
export const ANN_INLINE_HANDLES = 'csi.berth/inline-handles';
/** The faults that are set on purpose, as text: `f1: CreateVolume delay 5s; f2: …`. */
export const ANN_FAULTS = 'csi.berth/faults';

// On VolumeAttachments
/** JSON: name and UID of the pod whose inline volume it is for. */
export const ANN_INLINE_POD = 'csi.berth/inline-pod';
/** The node ID that ControllerPublishVolume was called with. The official attacher's name for it. */
export const ANN_ATTACHED_NODE_ID = 'csi.alpha.kubernetes.io/node-id';
/** JSON: the handle that ControllerPublishVolume was called with, and the reference to its Secret. */
export const ANN_ATTACHED_VOLUME = 'csi.berth/published-volume';

// Finalizers
export const FINALIZER_PVC_PROTECTION = 'kubernetes.io/pvc-protection';
export const FINALIZER_PV_PROTECTION = 'kubernetes.io/pv-protection';
export const FINALIZER_VAC_PROTECTION = 'kubernetes.io/vac-protection';
/** On a volume: its backing storage has not been deleted yet. */
export const FINALIZER_PROVISIONER = 'external-provisioner.volume.kubernetes.io/finalizer';
/** On a claim: a volume may exist for it that no PersistentVolume records yet. */
export const FINALIZER_PROVISIONING = 'csi.berth/provisioning';
export const FINALIZER_CLONE_PROTECTION = 'provisioner.storage.kubernetes.io/cloning-protection';
export const FINALIZER_SNAPSHOT_SOURCE_PROTECTION =
  'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection';
/** On a claim: a snapshot of its volume is being made. */
export const FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE = 'snapshot.storage.kubernetes.io/pvc-as-source-protection';
/** On a snapshot: it may be the source of a volume. */
export const FINALIZER_SNAPSHOT_AS_SOURCE =
  'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection';
/** On a snapshot: its content must be deleted first. */
export const FINALIZER_SNAPSHOT_BOUND = 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection';
/** On a snapshot that is part of a group. */
export const FINALIZER_SNAPSHOT_IN_GROUP =
  'snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection';
/** On a content: the snapshot may exist on the storage. */
export const FINALIZER_SNAPSHOT_CONTENT =
  'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection';
/** On a group snapshot: its content must be deleted first. */
export const FINALIZER_GROUP_SNAPSHOT_BOUND =
  'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection';
/** On a group content: the group snapshot may exist on the storage. */
export const FINALIZER_GROUP_SNAPSHOT_CONTENT =
  'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection';

/** The attacher's finalizer, on VolumeAttachments and on volumes: one per driver. */
export function attacherFinalizer(driver: string): string {
  return `external-attacher/${driver.replace(/[^a-zA-Z0-9-]/g, '-').replace(/-$/, '-X')}`;
}

// Keys in CSI parameters and contexts
/** StorageClass parameters under this prefix are for the sidecars and never reach the driver. */
export const RESERVED_PARAMETER_PREFIX = 'csi.storage.k8s.io/';
export const KEY_FSTYPE = 'csi.storage.k8s.io/fstype';
export const KEY_EPHEMERAL = 'csi.storage.k8s.io/ephemeral';
export const KEY_PVC_NAME = 'csi.storage.k8s.io/pvc/name';
export const KEY_PVC_NAMESPACE = 'csi.storage.k8s.io/pvc/namespace';
export const KEY_PV_NAME = 'csi.storage.k8s.io/pv/name';
export const KEY_SERVICE_ACCOUNT_TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';
/** Today's prefix and the pod-information design's: the same keys are sent under both. */
export const POD_INFO_PREFIXES = ['csi.storage.k8s.io/', 'csi.kubernetes.io/'] as const;

// What one look at a driver's storage and at the cluster found, reduced to the fields that the comparison reads: ten thousand
// volumes with their claims, pods and attachments take a few megabytes.

import type { ControllerCapability, GroupControllerCapability } from '../csi/messages/capabilities.ts';

export interface StorageVolume {
  readonly id: string;
  readonly bytes: bigint;
  /** Node IDs; undefined where the driver does not say. */
  readonly publishedOn: readonly string[] | undefined;
  readonly context: Readonly<Record<string, string>>;
}

export interface StorageSnapshot {
  readonly id: string;
  readonly source: string;
  readonly bytes: bigint;
  readonly createdMs: number | undefined;
  /** Empty for a snapshot that is no member of a group. */
  readonly group: string;
}

export interface StorageFacts {
  readonly driver: string;
  readonly can: ReadonlySet<ControllerCapability | GroupControllerCapability>;
  /** Undefined where the driver lists none or its list cannot be trusted: nothing is concluded from its absence. */
  readonly volumes: ReadonlyMap<string, StorageVolume> | undefined;
  readonly snapshots: ReadonlyMap<string, StorageSnapshot> | undefined;
  /** What the driver cannot tell. */
  readonly limits: readonly string[];
  /** What it should have told: lists that failed or cannot be trusted. Nothing is acted on then. */
  readonly problems: readonly string[];
}

/** Of any object. */
export interface ObjectRow {
  /** `namespace/name`, or `name`. */
  readonly key: string;
  readonly uid: string;
  readonly createdMs: number;
  readonly deletedMs?: number;
  readonly finalizers: readonly string[];
}

/** A PersistentVolume of the driver. */
export interface VolumeRow extends ObjectRow {
  readonly handle: string;
  readonly phase: string;
  readonly policy: string;
  readonly bytes: bigint;
  readonly claim: string;
  readonly claimUid: string;
  readonly className: string;
  readonly phaseSinceMs?: number;
  readonly publishSecret?: { readonly name: string; readonly namespace: string };
  /** Attributes whose name says that they identify a cluster. */
  readonly clusterMarks: Readonly<Record<string, string>>;
}

export interface ClaimRow extends ObjectRow {
  readonly phase: string;
  readonly volumeName: string;
  /** The driver that is to make its volume; empty if none was asked. */
  readonly provisioner: string;
  /** `namespace/name` of the claim or snapshot that it copies; empty if none. */
  readonly sourceClaim: string;
  readonly sourceSnapshot: string;
}

/** A VolumeAttachment of the driver. */
export interface AttachmentRow extends ObjectRow {
  readonly nodeName: string;
  /** As recorded when it was attached; empty if it was not. */
  readonly nodeId: string;
  /** Empty for an inline volume. */
  readonly volumeName: string;
  /** Recorded or inline; empty where only the PersistentVolume knows it. */
  readonly handle: string;
  readonly isAttached: boolean;
}

export interface NodeRow {
  readonly name: string;
  /** Of this driver; empty where it is not registered. */
  readonly nodeId: string;
  /** Handles of this driver that the node reports as in use. */
  readonly inUse: ReadonlySet<string>;
}

export interface PodRow {
  readonly key: string;
  readonly nodeName: string;
  readonly claims: readonly string[];
  /** Volumes of this driver that it names itself. */
  readonly handles: readonly string[];
}

/** A VolumeSnapshotContent of the driver. */
export interface ContentRow extends ObjectRow {
  readonly handle: string;
  /** The volume to be cut; empty for a content that was given its snapshot. */
  readonly source: string;
  readonly policy: string;
  readonly snapshot: string;
  readonly snapshotUid: string;
  readonly isBeingCreated: boolean;
  readonly isBeingDeleted: boolean;
  readonly isOfGroup: boolean;
}

/** A VolumeGroupSnapshotContent of the driver. */
export interface GroupContentRow extends ObjectRow {
  readonly handle: string;
  readonly sources: readonly string[];
  readonly members: readonly string[];
  readonly policy: string;
  readonly group: string;
  readonly groupUid: string;
  readonly isBeingCreated: boolean;
  readonly isBeingDeleted: boolean;
}

/** A VolumeSnapshot or VolumeGroupSnapshot. */
export interface SnapshotRow extends ObjectRow {
  readonly content: string;
}

/** A CreateVolume call that a provisioner has recorded as under way. */
export interface IntentRow {
  readonly claim: string;
  readonly uid: string;
}

/** The newest event about the provisioning of a claim. */
export interface ProvisioningEvent {
  readonly claim: string;
  readonly uid: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface ClassRow {
  readonly name: string;
  readonly policy: string;
  readonly clusterMarks: Readonly<Record<string, string>>;
}

export interface ClusterFacts {
  /** The UID of the namespace kube-system: it tells clusters apart. */
  readonly cluster: string;
  readonly volumes: readonly VolumeRow[];
  /** Texts in PersistentVolumes and pods whose volumes are not of CSI: with migration the driver lists those volumes, too. */
  readonly otherSources: readonly string[];
  readonly claims: readonly ClaimRow[];
  readonly attachments: readonly AttachmentRow[];
  readonly nodes: readonly NodeRow[];
  readonly pods: readonly PodRow[];
  readonly classes: readonly ClassRow[];
  /** False: the driver's volumes are used without VolumeAttachments. */
  readonly attachRequired: boolean;
  /** Undefined where the cluster has no such kind. */
  readonly contents: readonly ContentRow[] | undefined;
  readonly groupContents: readonly GroupContentRow[] | undefined;
  readonly snapshots: readonly SnapshotRow[] | undefined;
  readonly groupSnapshots: readonly SnapshotRow[] | undefined;
  readonly snapshotClasses: readonly ClassRow[] | undefined;
  readonly intents: readonly IntentRow[];
  readonly events: readonly ProvisioningEvent[];
  /** Kinds that this account may not list, and records that cannot be read. */
  readonly unread: readonly string[];
}

export interface AuditFacts {
  /** When the look began. */
  readonly nowMs: number;
  readonly storage: StorageFacts;
  readonly cluster: ClusterFacts;
}

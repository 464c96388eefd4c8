// Pure facts about claims, volumes, pods and attachments that more than one component needs to agree on.

import { hash } from 'node:crypto';
import type {
  CSINode,
  CSINodeInfo,
  CSIPersistentVolumeSource,
  CSIVolumeSource,
  Node,
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  VolumeAttachment,
} from './kinds.ts';
import { getOwn } from './own-property.ts';
import {
  ANN_CSI_NODE_ID,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  ANN_STORAGE_CLASS_BETA,
  ANN_STORAGE_PROVISIONER,
  ANN_STORAGE_PROVISIONER_BETA,
} from './well-known.ts';

function sha256Hex(text: string): string {
  return hash('sha256', text);
}

// Claims and volumes

/** The class of a claim or volume: '' means "no class", undefined means "the default class, once there is one". */
export function storageClassOf(object: PersistentVolumeClaim | PersistentVolume): string | undefined {
  return object.metadata.annotations?.[ANN_STORAGE_CLASS_BETA] ?? object.spec.storageClassName;
}

/** The node that the scheduler chose for a claim with delayed binding. Today's annotation wins over the alpha one. */
export function selectedNodeOf(claim: PersistentVolumeClaim): string | undefined {
  const annotations = claim.metadata.annotations;
  return annotations?.[ANN_SELECTED_NODE] || annotations?.[ANN_SELECTED_NODE_ALPHA] || undefined;
}

/** Which provisioner the binder asked to make a volume for this claim. */
export function provisionerOf(claim: PersistentVolumeClaim): string | undefined {
  const annotations = claim.metadata.annotations;
  return annotations?.[ANN_STORAGE_PROVISIONER] || annotations?.[ANN_STORAGE_PROVISIONER_BETA] || undefined;
}

/** Whether `claimRef` names this claim and, where it says so, this very incarnation of it. */
export function refersToClaim(claimRef: ObjectReference | undefined, claim: PersistentVolumeClaim): boolean {
  return (
    claimRef !== undefined &&
    claimRef.name === claim.metadata.name &&
    claimRef.namespace === claim.metadata.namespace &&
    (claimRef.uid === undefined || claimRef.uid === '' || claimRef.uid === claim.metadata.uid)
  );
}

export function isBlock(volume: { spec: { volumeMode?: string } }): boolean {
  return volume.spec.volumeMode === 'Block';
}

// Pods

/** The claim behind a pod's volume: named, or made from an ephemeral template and then named after pod and volume. */
export function claimNameOf(pod: Pod, volume: PodVolume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  if (volume.ephemeral) return `${pod.metadata.name}-${volume.name}`;
  return undefined;
}

/** No container of the pod runs or will run again. */
export function isTerminated(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

/** The handle of an ephemeral inline volume: unique per pod and volume, the same at every call. */
export function ephemeralVolumeHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256Hex(`${podUid}${volumeName}`)}`;
}

// Attachments

const CSI_VOLUME_PREFIX = 'kubernetes.io/csi/';

/** A volume's name in `volumesAttached` and `volumesInUse` of a Node: what one driver calls one volume. */
export function uniqueVolumeName(driver: string, volumeHandle: string): string {
  return `${CSI_VOLUME_PREFIX}${driver}^${volumeHandle}`;
}

export function isCsiVolumeName(uniqueName: string): boolean {
  return uniqueName.startsWith(CSI_VOLUME_PREFIX);
}

/** The name that kubelets compute, for inline volumes too: one object for a volume on a node, whoever asks for it. */
export function attachmentName(volume: { driver: string; volumeHandle: string; nodeName: string }): string {
  const { driver, volumeHandle, nodeName } = volume;
  return `csi-${sha256Hex(`${volumeHandle}${driver}${nodeName}`)}`;
}

/** The name in the original design. No longer written; an existing object under it is used until it is deleted. */
export function seedAttachmentName(pvName: string, nodeName: string): string {
  return `pv-${sha256Hex(`${pvName}${nodeName}`)}`;
}

/** The name of inline attachments in earlier versions of Berth. No longer written; an existing one is used. */
export function oldInlineAttachmentName(volume: {
  namespace: string;
  driver: string;
  volumeHandle: string;
  nodeName: string;
}): string {
  const { namespace, driver, volumeHandle, nodeName } = volume;
  return `inline-${sha256Hex(JSON.stringify([namespace, driver, volumeHandle, nodeName]))}`;
}

/** An inline source in either spelling. */
export type InlineAttachmentSource =
  | { kind: 'source'; csi: CSIVolumeSource; namespace: string }
  | { kind: 'spec'; csi: CSIPersistentVolumeSource };

export function inlineSourceOf(attachment: VolumeAttachment): InlineAttachmentSource | undefined {
  const { inlineVolumeSource, inlineVolumeSpec } = attachment.spec.source;
  if (inlineVolumeSource) {
    return {
      kind: 'source',
      csi: inlineVolumeSource.volumeSource.csi,
      namespace: inlineVolumeSource.namespace,
    };
  }
  return inlineVolumeSpec?.csi ? { kind: 'spec', csi: inlineVolumeSpec.csi } : undefined;
}

// Drivers on nodes

export interface DriverOnNode {
  nodeId: string;
  topologyKeys: readonly string[];
}

/** A node's entry for a driver: from CSINode, else CSINodeInfo, else (node ID only) the Node's annotation. */
export function driverOnNode(
  driver: string,
  sources: { csiNode?: CSINode | undefined; csiNodeInfo?: CSINodeInfo | undefined; node?: Node | undefined },
): DriverOnNode | undefined {
  const today = sources.csiNode?.spec?.drivers?.find((d) => d.name === driver);
  if (today?.nodeID) return { nodeId: today.nodeID, topologyKeys: today.topologyKeys ?? [] };
  const alpha = sources.csiNodeInfo?.csiDrivers?.find((d) => d.name === driver);
  if (alpha?.nodeID) return { nodeId: alpha.nodeID, topologyKeys: alpha.topologyKeys ?? [] };
  const annotated = getOwn(nodeIdsOf(sources.node), driver);
  return annotated ? { nodeId: annotated, topologyKeys: [] } : undefined;
}

/** The node ID annotation as a map; empty when absent or not a JSON object of strings. */
export function nodeIdsOf(node: Node | undefined): Record<string, string> {
  const text = node?.metadata.annotations?.[ANN_CSI_NODE_ID];
  if (!text) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}

// What is recorded on a VolumeAttachment. The attacher writes before its first ControllerPublishVolume to which node,
// and which volume. Detaching then works when the node or the PersistentVolume is gone, and never takes another volume that has
// come to bear the same name. Pure.

import type { VolumeAttachment } from '../../api/kinds.ts';
import {
  ANN_INLINE_POD,
  ANN_ATTACHED_NODE_ID as ANN_NODE_ID,
  ANN_ATTACHED_VOLUME as ANN_VOLUME,
} from '../../api/well-known.ts';
import { type NodeId, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import type { EventSubject } from '../../runtime/events/event-record.ts';
import type { PublishedVolume } from './volume-source.ts';

export { ANN_NODE_ID, ANN_VOLUME };

export function recordedNodeId(attachment: VolumeAttachment): NodeId | undefined {
  return (attachment.metadata.annotations?.[ANN_NODE_ID] || undefined) as NodeId | undefined;
}

/** Undefined when nothing, or nothing readable, was recorded: the official attacher records no volume. */
export function recordedVolume(attachment: VolumeAttachment): PublishedVolume | undefined {
  const text = attachment.metadata.annotations?.[ANN_VOLUME];
  if (text === undefined) return undefined;
  try {
    const { handle, secret } = JSON.parse(text) as { handle?: unknown; secret?: unknown };
    if (typeof handle !== 'string' || handle === '') return undefined;
    const { name, namespace } = (secret ?? {}) as { name?: unknown; namespace?: unknown };
    const known = typeof name === 'string' && typeof namespace === 'string';
    return { handle: parseVolumeHandle(handle), secret: known ? { name, namespace } : undefined };
  } catch {
    return undefined;
  }
}

/** Annotations for the record; a reference to a Secret is no secret. Inline volumes are in the object already. */
export function recordAnnotations(
  attachment: VolumeAttachment,
  nodeId: NodeId,
  { handle, secret }: PublishedVolume,
): Record<string, string> {
  return {
    [ANN_NODE_ID]: nodeId,
    ...(attachment.spec.source.persistentVolumeName === undefined
      ? {}
      : { [ANN_VOLUME]: JSON.stringify({ handle, ...(secret && { secret }) }) }),
  };
}

/** The pod that an inline volume was attached for, where that is recorded. It may be gone. */
export function recordedPod(attachment: VolumeAttachment): EventSubject | undefined {
  const namespace = attachment.spec.source.inlineVolumeSource?.namespace;
  const text = attachment.metadata.annotations?.[ANN_INLINE_POD];
  if (namespace === undefined || text === undefined) return undefined;
  try {
    const { name, uid } = JSON.parse(text) as { name?: unknown; uid?: unknown };
    if (typeof name !== 'string' || typeof uid !== 'string') return undefined;
    return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid } };
  } catch {
    return undefined;
  }
}

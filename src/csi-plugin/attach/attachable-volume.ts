// A volume that can be attached: a PersistentVolume, or a persistent inline volume of a pod. An inline volume has no
// object, so its spec is copied into the VolumeAttachment, with the pod's name for error reports. Also the names of
// attachments.

import type { CSIVolumeSource, PersistentVolume, Pod, VolumeAttachment } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import {
  attachmentName,
  inlineSourceOf,
  oldInlineAttachmentName,
  seedAttachmentName,
} from '../../api/volumes.ts';
import { ANN_INLINE_POD } from '../../api/well-known.ts';
import { type VolumeNames, volumeNamesOf } from '../../csi/names/driver-name.ts';

/** The fields of a volume that its attachment needs. */
export type AttachmentSubject =
  | (VolumeNames & { kind: 'persistent-volume'; pvName: string })
  | (VolumeNames & { kind: 'inline'; namespace: string });

export type AttachableVolume =
  | Extract<AttachmentSubject, { kind: 'persistent-volume' }>
  | (Extract<AttachmentSubject, { kind: 'inline' }> & { csi: CSIVolumeSource; pod?: PodName });

type PodName = Pick<Pod['metadata'], 'name' | 'uid'>;

export function attachablePersistentVolume(volume: PersistentVolume): AttachableVolume | undefined {
  const { csi } = volume.spec;
  if (!csi) return undefined;
  return { kind: 'persistent-volume', ...volumeNamesOf(csi), pvName: volume.metadata.name };
}

/** Without a handle there is nothing to attach: the volume is ephemeral and created on the node. */
export function attachableInlineVolume(
  csi: CSIVolumeSource,
  { namespace = '', name, uid }: Pod['metadata'],
): AttachableVolume | undefined {
  const { driver, volumeHandle } = csi;
  if (!volumeHandle) return undefined;
  return { kind: 'inline', ...volumeNamesOf({ driver, volumeHandle }), namespace, csi, pod: { name, uid } };
}

/** The current name, then the name that an older attachment may have. */
export function attachmentNames(volume: AttachmentSubject, nodeName: string): [string, string] {
  return [
    attachmentName({ ...volume, nodeName }),
    volume.kind === 'persistent-volume'
      ? seedAttachmentName(volume.pvName, nodeName)
      : oldInlineAttachmentName({ ...volume, nodeName }),
  ];
}

/**
 * Whether an object found under one of those names is this volume's attachment to this node. The current name is a hash
 * of handle, driver and node, so the PersistentVolume or pod in it does not matter. The name of the original design
 * joins two names without a separator, and does not contain the handle.
 */
export function isAttachmentOf(
  attachment: VolumeAttachment,
  volume: AttachmentSubject,
  nodeName: string,
): boolean {
  const { metadata, spec } = attachment;
  if (spec.attacher !== volume.driver || spec.nodeName !== nodeName) return false;
  if (metadata.name === attachmentName({ ...volume, nodeName })) return true;
  if (volume.kind === 'persistent-volume') return spec.source.persistentVolumeName === volume.pvName;
  const inline = inlineSourceOf(attachment);
  return inline?.kind === 'source' && inline.csi.volumeHandle === volume.volumeHandle;
}

/** The volume's attachment to the node, under either name. */
export function findAttachment(
  attachments: { get(name: string): VolumeAttachment | undefined },
  volume: AttachmentSubject,
  nodeName: string,
): VolumeAttachment | undefined {
  for (const name of attachmentNames(volume, nodeName)) {
    const found = attachments.get(name);
    if (found && isAttachmentOf(found, volume, nodeName)) return found;
  }
  return undefined;
}

export function attachmentDraft(volume: AttachableVolume, nodeName: string): Draft<VolumeAttachment> {
  const source =
    volume.kind === 'persistent-volume'
      ? { persistentVolumeName: volume.pvName }
      : { inlineVolumeSource: { volumeSource: { csi: volume.csi }, namespace: volume.namespace } };
  const pod = volume.kind === 'inline' ? volume.pod : undefined;
  return {
    metadata: {
      name: attachmentName({ ...volume, nodeName }),
      ...(pod && { annotations: { [ANN_INLINE_POD]: JSON.stringify(pod) } }),
    },
    spec: { attacher: volume.driver, nodeName, source },
  };
}

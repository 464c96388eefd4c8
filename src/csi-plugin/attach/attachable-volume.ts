// A volume that can be attached: a PersistentVolume, or a persistent inline volume of a pod, which has no object of
// its own and is therefore copied whole into its VolumeAttachment.

import type { CSIVolumeSource, PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { attachmentName, inlineAttachmentName } from '../../api/volumes.ts';

export type AttachableVolume =
  | { kind: 'persistent-volume'; driver: string; volumeHandle: string; pvName: string }
  | { kind: 'inline'; driver: string; volumeHandle: string; namespace: string; csi: CSIVolumeSource };

export function attachablePersistentVolume(volume: PersistentVolume): AttachableVolume | undefined {
  const { csi } = volume.spec;
  if (!csi) return undefined;
  const { driver, volumeHandle } = csi;
  return { kind: 'persistent-volume', driver, volumeHandle, pvName: volume.metadata.name };
}

/** Without a handle there is nothing to attach: the volume is made on the node, for the pod. */
export function attachableInlineVolume(
  csi: CSIVolumeSource,
  namespace: string,
): AttachableVolume | undefined {
  const { driver, volumeHandle } = csi;
  return volumeHandle ? { kind: 'inline', driver, volumeHandle, namespace, csi } : undefined;
}

export function attachmentNameOf(volume: AttachableVolume, nodeName: string): string {
  return volume.kind === 'persistent-volume'
    ? attachmentName(volume.pvName, nodeName)
    : inlineAttachmentName({ ...volume, nodeName });
}

export function attachmentDraft(volume: AttachableVolume, nodeName: string): Draft<VolumeAttachment> {
  const source =
    volume.kind === 'persistent-volume'
      ? { persistentVolumeName: volume.pvName }
      : { inlineVolumeSource: { volumeSource: { csi: volume.csi }, namespace: volume.namespace } };
  return {
    metadata: { name: attachmentNameOf(volume, nodeName) },
    spec: { attacher: volume.driver, nodeName, source },
  };
}

// The volume that a VolumeAttachment is about, in the terms of ControllerPublishVolume, whichever way it is named: by a
// PersistentVolume, or inline in either spelling. Pure.

import type { PersistentVolume, VolumeAttachment } from '../../api/kinds.ts';
import { inlineSourceOf } from '../../api/volumes.ts';
import { type DriverName, type VolumeHandle, volumeNamesOf } from '../../csi/names/driver-name.ts';

export interface SecretName {
  name: string;
  namespace: string;
}

/** What detaching needs. */
export interface PublishedVolume {
  handle: VolumeHandle;
  secret: SecretName | undefined;
}

/** What attaching needs. */
export interface VolumeToPublish extends PublishedVolume {
  readOnly: boolean;
  attributes: Record<string, string>;
  accessModes: readonly string[];
  volumeMode: string | undefined;
  fsType: string | undefined;
  mountOptions: readonly string[];
}

/** A volume, or what is wrong with the source, in words for the user. */
export type VolumeSource = { volume: VolumeToPublish } | { problem: string };

/** Inline volumes belong to one pod on one node and have no access modes of their own. */
const INLINE_ACCESS_MODES = ['ReadWriteOnce'];

export function volumeSourceOf(
  attachment: VolumeAttachment,
  persistentVolume: PersistentVolume | undefined,
): VolumeSource {
  const { persistentVolumeName, inlineVolumeSpec, inlineVolumeSource } = attachment.spec.source;
  const given = [persistentVolumeName, inlineVolumeSpec, inlineVolumeSource].filter((source) => source);
  if (given.length !== 1) {
    return {
      problem: `spec.source must name exactly one of persistentVolumeName, inlineVolumeSpec and inlineVolumeSource, it names ${given.length}`,
    };
  }
  const source =
    persistentVolumeName === undefined
      ? inlineVolume(attachment)
      : volumeOf(persistentVolumeName, persistentVolume);
  if ('problem' in source) return source;
  if (source.driver !== attachment.spec.attacher) {
    return {
      problem: `the volume is of driver "${source.driver}", but the attachment asks for "${attachment.spec.attacher}"`,
    };
  }
  if (source.volume.handle === '') return { problem: 'the volume has an empty volumeHandle' };
  return { volume: source.volume };
}

type Found = { driver: DriverName; volume: VolumeToPublish } | { problem: string };

function volumeOf(name: string, persistentVolume: PersistentVolume | undefined): Found {
  if (persistentVolume === undefined) return { problem: `PersistentVolume "${name}" does not exist` };
  const { csi, accessModes, volumeMode, mountOptions } = persistentVolume.spec;
  if (csi === undefined) return { problem: `PersistentVolume "${name}" has no CSI volume source` };
  const { driver, volumeHandle } = volumeNamesOf(csi);
  return {
    driver,
    volume: {
      handle: volumeHandle,
      secret: fullName(csi.controllerPublishSecretRef),
      readOnly: csi.readOnly ?? false,
      attributes: csi.volumeAttributes ?? {},
      accessModes: accessModes ?? [],
      volumeMode,
      fsType: csi.fsType,
      mountOptions: mountOptions ?? [],
    },
  };
}

function inlineVolume(attachment: VolumeAttachment): Found {
  const inline = inlineSourceOf(attachment);
  if (inline?.csi === undefined)
    return { problem: 'the inline volume has no CSI source; only CSI is supported' };
  const { csi } = inline;
  const { driver, volumeHandle } = volumeNamesOf({
    driver: csi.driver,
    volumeHandle: csi.volumeHandle ?? '',
  });
  const spec = attachment.spec.source.inlineVolumeSpec;
  return {
    driver,
    volume: {
      handle: volumeHandle,
      secret:
        inline.kind === 'spec'
          ? fullName(inline.csi.controllerPublishSecretRef)
          : localName(inline.csi.controllerPublishSecretRef?.name, inline.namespace),
      readOnly: csi.readOnly ?? false,
      attributes: csi.volumeAttributes ?? {},
      accessModes: spec?.accessModes?.length ? spec.accessModes : INLINE_ACCESS_MODES,
      volumeMode: spec?.volumeMode,
      fsType: csi.fsType,
      mountOptions: spec?.mountOptions ?? [],
    },
  };
}

/** Half a reference is kept as it is: reading it says what is missing. */
function fullName(reference: { name?: string; namespace?: string } | undefined): SecretName | undefined {
  return reference && { name: reference.name ?? '', namespace: reference.namespace ?? '' };
}

/** A pod's references are local: whatever else stands in them, the Secret is looked for beside the pod. */
function localName(name: string | undefined, namespace: string): SecretName | undefined {
  return name === undefined ? undefined : { name, namespace };
}

// Where the caches show a volume in use, so that it must not be deleted yet. For drivers that attach: VolumeAttachments,
// by PersistentVolume or inline by handle. For others: `volumesInUse` of Nodes, where Berth's node lists what it has
// staged; a kubelet lists only attachable volumes, so there the driver itself must reject DeleteVolume. A node that is
// gone or out of service uses nothing. Watches; writes nothing.

import {
  type Node,
  nodes,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../../api/kinds.ts';
import { inlineSourceOf, uniqueVolumeName } from '../../../api/volumes.ts';
import { TAINT_OUT_OF_SERVICE } from '../../../api/well-known.ts';
import type { DriverName, VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { Informers } from '../../../runtime/informer/informer.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';

const BY_VOLUME = 'provisioner/use-by-volume';
const BY_HANDLE = 'provisioner/handle';

/** The driver's PersistentVolumes with a handle. */
export type VolumesByHandle = (handle: VolumeHandle) => readonly PersistentVolume[];

/** Call once per set of informers. */
export function indexByHandle(informers: Informers, driver: DriverName): VolumesByHandle {
  const volumes = informers.of(persistentVolumes);
  volumes.addIndex(BY_HANDLE, ({ spec: { csi } }) => (csi?.driver === driver ? [csi.volumeHandle] : []));
  return (handle) => volumes.byIndex(BY_HANDLE, handle);
}

/** `onFreed` is called with the names of PersistentVolumes that may no longer be in use. */
export function watchVolumeUse(
  { informers, byHandle, driver: { name: driver } }: ProvisionerContext,
  attaches: boolean,
  onFreed: (volumeName: string) => void,
) {
  const prefix = uniqueVolumeName(driver, '');
  const nameOf = ({ spec }: PersistentVolume): string => `${prefix}${spec.csi?.volumeHandle ?? ''}`;
  const freed = (key: string): void => {
    if (!key.startsWith(prefix)) onFreed(key);
    else {
      const handle = key.slice(prefix.length) as VolumeHandle;
      for (const { metadata } of byHandle(handle)) onFreed(metadata.name);
    }
  };

  function keyOf(attachment: VolumeAttachment): string | undefined {
    const { persistentVolumeName } = attachment.spec.source;
    if (persistentVolumeName) return persistentVolumeName;
    const inline = inlineSourceOf(attachment)?.csi;
    return inline?.driver === driver && inline.volumeHandle ? `${prefix}${inline.volumeHandle}` : undefined;
  }
  const keysOf = (attachment: VolumeAttachment): string[] => [keyOf(attachment) ?? ''].filter(Boolean);

  function namesInUse({ spec, status }: Node): string[] {
    if (spec?.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE)) return [];
    return (status?.volumesInUse ?? []).filter((name) => name.startsWith(prefix));
  }

  const attachments = attaches ? informers.of(volumeAttachments) : undefined;
  attachments?.addIndex(BY_VOLUME, keysOf);
  attachments?.subscribe({ deleted: (attachment) => keysOf(attachment).forEach(freed) });

  const users = attaches ? undefined : informers.of<Node>(nodes, { optional: true, trim: onlyUse });
  users?.addIndex(BY_VOLUME, namesInUse);
  users?.subscribe({
    updated(before, after) {
      const left = new Set(namesInUse(after));
      for (const name of namesInUse(before)) if (!left.has(name)) freed(name);
    },
    deleted: (node) => namesInUse(node).forEach(freed),
  });

  return {
    /** As text for the user; undefined when the caches show no use. */
    of(volume: PersistentVolume): string | undefined {
      const keys = [volume.metadata.name, nameOf(volume)];
      const [attachment] = keys.flatMap((key) => attachments?.byIndex(BY_VOLUME, key) ?? []);
      if (attachment) return `still attached to node ${attachment.spec.nodeName}`;
      const [node] = users?.byIndex(BY_VOLUME, nameOf(volume)) ?? [];
      return node && `still staged on node ${node.metadata.name}`;
    },
    isOf: (attachment: VolumeAttachment, volume: PersistentVolume): boolean =>
      [volume.metadata.name, nameOf(volume)].includes(keyOf(attachment) ?? ''),
  };
}

function onlyUse({ metadata, spec, status }: Node): Node {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: { ...(spec?.taints && { taints: spec.taints }) },
    status: { ...(status?.volumesInUse && { volumesInUse: status.volumesInUse }) },
  };
}

// The VolumeCapability of the node's calls: stage, publish and expand. Pure.

import type { Pod } from '../../api/kinds.ts';
import type { VolumeCapability } from '../../csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../csi/messages/volume-capability.ts';
import type { NodeDriver } from './mount-plugin.ts';
import type { MountableVolume } from './mountable-volume.ts';

/**
 * `pod`, for stage and publish: its fsGroup is passed to drivers that apply it themselves (`VOLUME_MOUNT_GROUP`), its
 * SELinux label as a mount option.
 */
export function nodeCapability(volume: MountableVolume, driver: NodeDriver, pod?: Pod): VolumeCapability {
  // Quoted: a label may contain commas.
  const label = pod && volume.seLinuxLabel;
  const gid = pod?.spec.securityContext?.fsGroup;
  const isGivenToGroup = gid !== undefined && driver.capabilities.has('VOLUME_MOUNT_GROUP');
  return volumeCapability({
    accessModes: volume.accessModes,
    volumeMode: volume.block ? 'Block' : 'Filesystem',
    fsType: volume.fsType,
    mountFlags: [...volume.mountOptions, ...(label ? [`context=${JSON.stringify(label)}`] : [])],
    ...(isGivenToGroup && { volumeMountGroup: String(gid) }),
    singleNodeMultiWriter: driver.capabilities.has('SINGLE_NODE_MULTI_WRITER'),
  });
}

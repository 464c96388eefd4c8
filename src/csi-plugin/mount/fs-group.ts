// Decides who applies the pod's fsGroup to a volume: the driver, the node, or nobody. Pure.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import type { MountableVolume } from './mountable-volume.ts';

export type FsGroupPlan =
  | { by: 'nobody' }
  /** The driver gets it as volume_mount_group at stage and publish. */
  | { by: 'driver' }
  | { by: 'node'; gid: number; onlyIfRootDiffers: boolean };

export function planFsGroup(given: {
  pod: Pod;
  volume: MountableVolume;
  readOnly: boolean;
  driver: CSIDriver | undefined;
  /** The driver has VOLUME_MOUNT_GROUP. */
  mountsGroup: boolean;
}): FsGroupPlan {
  const { pod, volume, driver } = given;
  const gid = pod.spec.securityContext?.fsGroup;
  if (gid === undefined || volume.block) return { by: 'nobody' };
  if (given.mountsGroup) return { by: 'driver' };
  if (given.readOnly) return { by: 'nobody' };
  const policy = driver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  const applies =
    policy === 'File' ||
    (policy === 'ReadWriteOnceWithFSType' && volume.fsType !== '' && isSingleNode(volume.accessModes));
  if (!applies) return { by: 'nobody' };
  const onlyIfRootDiffers = pod.spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
  return { by: 'node', gid, onlyIfRootDiffers };
}

function isSingleNode(accessModes: readonly string[]): boolean {
  return accessModes.includes('ReadWriteOnce') || accessModes.includes('ReadWriteOncePod');
}

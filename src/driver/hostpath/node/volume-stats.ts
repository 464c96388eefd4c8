// NodeGetVolumeStats: usage and condition of a volume at a published path.

import { VolumeUsage_Unit as Unit } from '../../../csi/index.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { errorCode, isCorruptedMountError } from '../../../runtime/mount/mount-error.ts';
import type { NodeOperations } from '../../driver.ts';
import { refuse } from '../../refuse.ts';
import { type Condition, conditionOf } from '../controller/volume-status.ts';
import { existingVolume } from '../core.ts';
import { recordKey, type VolumeRecord } from '../state/records.ts';
import type { HostpathNode } from './node-core.ts';

export function nodeGetVolumeStats(node: HostpathNode): NonNullable<NodeOperations['nodeGetVolumeStats']> {
  const { core } = node;
  return async ({ volumeId, volumePath }) => {
    const volume = existingVolume(core, volumeId);
    const path = await publishedPath(node, volumeId, volumePath);
    const condition = await nodeCondition(node, volume, path);
    const usage = condition.abnormal ? [] : await usageOf(node, volume, path);
    return { usage, ...(core.can.volumeCondition && { volumeCondition: condition }) };
  };
}

/** Returns the path if the volume is published or staged there; otherwise NOT_FOUND. */
export async function publishedPath(
  node: HostpathNode,
  volumeId: VolumeHandle,
  path: string,
): Promise<string> {
  const { core, nodeId } = node;
  const staging = core.records.stagings.get(recordKey(nodeId, volumeId));
  const isPublished = core.records.targets.get(recordKey(nodeId, path))?.volumeId === volumeId;
  if (isPublished || staging?.path === path) return path;
  throw refuse.notFound(`volume ${volumeId} is not published at ${path} on this node`);
}

async function nodeCondition(node: HostpathNode, volume: VolumeRecord, path: string): Promise<Condition> {
  const { core } = node;
  const storage = await conditionOf(core, volume);
  if (storage.abnormal) return storage;
  // A raw block volume is staged without a mount.
  const isDeviceStaging =
    volume.accessType === 'block' && core.records.targets.get(recordKey(node.nodeId, path)) === undefined;
  const state = isDeviceStaging ? 'mounted' : await core.mounter.inspect(path);
  if (state === 'corrupted') {
    return {
      abnormal: true,
      message: `the mount at ${path} is corrupted; unpublish and publish the volume again`,
    };
  }
  if (state !== 'mounted') {
    return { abnormal: true, message: `nothing is mounted at ${path} any more; publish the volume again` };
  }
  const entry = volume.backing === 'image' ? (await core.mounter.mountsAt(path)).at(-1) : undefined;
  if (volume.accessType === 'mount' && entry?.superOptions.includes('ro')) {
    return { abnormal: true, message: `the filesystem at ${path} turned read-only after an error; check it` };
  }
  return storage;
}

async function usageOf({ core }: HostpathNode, volume: VolumeRecord, path: string) {
  if (volume.accessType === 'block') return [{ unit: Unit.BYTES, total: volume.sizeBytes }];
  try {
    const usage = await core.mounter.usage(path);
    return [
      { unit: Unit.BYTES, total: usage.totalBytes, available: usage.availableBytes, used: usage.usedBytes },
      { unit: Unit.INODES, total: usage.totalInodes, available: usage.freeInodes, used: usage.usedInodes },
    ];
  } catch (error) {
    if (errorCode(error) === 'ENOENT')
      throw refuse.notFound(`volume ${volume.id} is not published at ${path}`);
    if (isCorruptedMountError(error)) return [];
    throw error;
  }
}

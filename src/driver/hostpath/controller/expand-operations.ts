// ControllerExpandVolume and NodeExpandVolume: the controller enlarges the directory's limit or the image, the node the
// loop device and the filesystem. Each step is idempotent; none shrinks anything.

import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { chooseSize, sizeFits } from '../../capacity.ts';
import type { ControllerOperations, NodeOperations } from '../../driver.ts';
import { refuse } from '../../refuse.ts';
import { checkSecrets, existingVolume, type HostpathCore, volumeLock } from '../core.ts';
import type { HostpathNode } from '../node/node-core.ts';
import { publishedPath } from '../node/volume-stats.ts';
import { recordKey, type VolumeRecord } from '../state/records.ts';
import { freeBytes } from './placement.ts';
import { volumeSizeLimits } from './plan-volume.ts';

export function controllerExpandVolume(
  core: HostpathCore,
): NonNullable<ControllerOperations['controllerExpandVolume']> {
  return async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    const { volumeId, capacityRange } = request;
    existingVolume(core, volumeId);
    return core.locks.exclusive(
      volumeLock(volumeId),
      async () => {
        const volume = existingVolume(core, volumeId);
        if (!core.can.onlineExpansion && core.records.attachments.find('volume', volumeId) !== undefined) {
          throw refuse.failedPrecondition(
            `volume ${volumeId} is in use, and this driver only expands volumes that are not`,
          );
        }
        const grown =
          volume.sizeBytes >= capacityRange.requiredBytes ? volume : await grow(core, volume, capacityRange);
        if (!sizeFits(grown.sizeBytes, capacityRange)) {
          throw refuse.outOfRange(`volume ${volumeId} has ${grown.sizeBytes} bytes and cannot be shrunk`);
        }
        return {
          capacityBytes: grown.sizeBytes,
          nodeExpansionRequired: core.can.nodeExpand && grown.backing === 'image',
        };
      },
      signal,
    );
  };
}

async function grow(
  core: HostpathCore,
  volume: VolumeRecord,
  range: { requiredBytes: bigint; limitBytes: bigint },
): Promise<VolumeRecord> {
  const sizeBytes = chooseSize(range, { ...volumeSizeLimits(volume, core), minBytes: volume.sizeBytes });
  const free = freeBytes(core, volume.topology);
  if (free !== undefined && sizeBytes - volume.sizeBytes > free) {
    throw refuse.resourceExhausted(
      `the expansion needs ${sizeBytes - volume.sizeBytes} more bytes, ${free} are left; delete volumes or raise the limit`,
    );
  }
  await core.step('expand: grow image');
  if (volume.backing === 'image') await core.files.growImage(core.layout.volume(volume.id), sizeBytes);
  await core.step('expand: record');
  // A node that stages it later finds a filesystem smaller than its device.
  const grown: VolumeRecord = { ...volume, sizeBytes, ...(volume.fsType && { growBeforeUse: true }) };
  core.records.volumes.put(volume.id, grown);
  return grown;
}

export function nodeExpandVolume(node: HostpathNode): NonNullable<NodeOperations['nodeExpandVolume']> {
  const { core } = node;
  return async (request, { signal }) => {
    const { volumeId, volumePath } = request;
    existingVolume(core, volumeId);
    return core.locks.exclusive(
      volumeLock(volumeId),
      async () => {
        const volume = existingVolume(core, volumeId);
        const path = await publishedPath(node, volumeId, volumePath);
        if (!sizeFits(volume.sizeBytes, request.capacityRange)) {
          throw refuse.outOfRange(
            `volume ${volumeId} has ${volume.sizeBytes} bytes; call ControllerExpandVolume first`,
          );
        }
        if (volume.backing === 'image') await growDevice(node, volume, path);
        return { capacityBytes: volume.sizeBytes };
      },
      signal,
    );
  };
}

async function growDevice({ core, nodeId }: HostpathNode, volume: VolumeRecord, path: string): Promise<void> {
  for (const device of await core.mounter.loop.find(core.layout.volume(volume.id))) {
    await core.step('expand: loop device');
    await core.mounter.loop.refreshSize(device);
    if (volume.fsType === undefined) continue;
    await core.step('expand: filesystem');
    // The resize needs a writable mount: the staged one, not a read-only bind mount.
    const staged = core.records.stagings.get(recordKey(nodeId, volume.id))?.path ?? path;
    await core.tools.grow({ device, path: staged, fsType: volume.fsType });
  }
  await core.step('expand: grown');
  forgetGrowth(core, volume.id);
}

/** Records that the filesystem is as large as its device. */
export function forgetGrowth(core: HostpathCore, volumeId: VolumeHandle): void {
  const volume = core.records.volumes.get(volumeId);
  if (volume?.growBeforeUse) core.records.volumes.put(volumeId, { ...volume, growBeforeUse: false });
}

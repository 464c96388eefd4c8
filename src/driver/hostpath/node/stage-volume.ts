// NodeStageVolume and NodeUnstageVolume. At the staging path a directory is bind-mounted, or the filesystem of an image
// is mounted; for raw block only the loop device is attached. The staging record is written before the first mount and
// removed after the last unmount.

import type { VolumeCapability } from '../../../csi/index.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { formatIfBlank } from '../../filesystem/filesystem-tools.ts';
import { refuse } from '../../refuse.ts';
import { forgetGrowth } from '../controller/expand-operations.ts';
import { DEFAULT_FS_TYPE } from '../controller/plan-volume.ts';
import { volumeLock } from '../core.ts';
import { recordKey, type StagingRecord, type VolumeRecord } from '../state/records.ts';
import type { HostpathNode } from './node-core.ts';

export interface StageRequest {
  volume: VolumeRecord;
  path: string;
  capability: VolumeCapability;
}

/** Idempotent; repairs what an earlier attempt left. */
export async function stageVolume(
  node: HostpathNode,
  request: StageRequest,
  signal?: AbortSignal,
): Promise<void> {
  const { core, nodeId } = node;
  const { volume, path, capability } = request;
  const key = recordKey(nodeId, volume.id);
  const wanted: StagingRecord = {
    nodeId,
    volumeId: volume.id,
    path,
    accessType: volume.accessType,
    accessMode: capability.accessMode?.mode ?? 0,
    mountFlags: mountFlags(capability),
    done: false,
  };
  // All nodes of the machine share the image and its loop device.
  await core.locks.exclusive(
    volumeLock(volume.id),
    async () => {
      const existing = core.records.stagings.get(key);
      if (existing !== undefined && existing.path !== path) {
        if (await isInUse(node, existing)) {
          throw refuse.alreadyExists(
            `volume ${volume.id} is staged at ${existing.path} on this node, not at ${path}; unstage it first`,
          );
        }
      }
      if (existing?.done && (await isStaged(node, volume, existing))) return checkSame(existing, wanted);
      await core.step('stage: record');
      core.records.stagings.put(key, wanted);
      try {
        await makeStaging(node, request, existing !== undefined);
      } catch (error) {
        await undoStaging(node, volume, path);
        core.records.stagings.delete(key);
        throw error;
      }
      await core.step('stage: done');
      core.records.stagings.put(key, { ...wanted, done: true });
    },
    signal,
  );
}

export async function unstageVolume(
  node: HostpathNode,
  { volumeId, path }: { volumeId: VolumeHandle; path: string },
  signal?: AbortSignal,
): Promise<void> {
  const { core, nodeId } = node;
  const key = recordKey(nodeId, volumeId);
  await core.locks.exclusive(
    volumeLock(volumeId),
    async () => {
      const volume = core.records.volumes.get(volumeId);
      const staging = core.records.stagings.get(key);
      await core.step('unstage: unmount');
      await undoStaging(node, volume, path);
      if (staging !== undefined && staging.path !== path) await undoStaging(node, volume, staging.path);
      await core.step('unstage: record');
      core.records.stagings.delete(key);
    },
    signal,
  );
}

function checkSame(existing: StagingRecord, wanted: StagingRecord): void {
  const isSame =
    existing.accessMode === wanted.accessMode && existing.mountFlags.join() === wanted.mountFlags.join();
  if (isSame) return;
  throw refuse.alreadyExists(
    `volume ${wanted.volumeId} is staged at ${wanted.path} with another capability; unstage it first`,
  );
}

async function makeStaging(node: HostpathNode, request: StageRequest, isRepair: boolean): Promise<void> {
  const { core } = node;
  const { volume, path } = request;
  if (volume.accessType === 'block') {
    await core.step('stage: loop device');
    await sharedLoopDevice(node, volume, false);
    return;
  }
  const state = await core.mounter.inspect(path);
  if (state === 'mounted' && !isRepair) {
    throw refuse.failedPrecondition(
      `something else is mounted at the staging path ${path}; unmount it first`,
    );
  }
  if (state === 'corrupted' || state === 'mounted') {
    await core.step('stage: clean');
    await core.mounter.unmount(path, { lazy: true });
  }
  if ((await core.files.kindOf(path)) === 'absent') await core.files.makeDirectory(path);
  else if ((await core.files.kindOf(path)) !== 'directory') {
    throw refuse.invalidArgument(`the staging path ${path} is not a directory`);
  }
  await core.step('stage: mount');
  if (volume.backing === 'directory') {
    await core.mounter.bind(core.layout.volume(volume.id), path, { options: mountFlags(request.capability) });
  } else {
    await mountImage(node, request);
  }
}

async function mountImage(node: HostpathNode, { volume, path, capability }: StageRequest): Promise<void> {
  const { core } = node;
  const fsType = volume.fsType ?? DEFAULT_FS_TYPE;
  const image = core.layout.volume(volume.id);
  // xfs refuses to mount a UUID that is already mounted, and a clone has its source's UUID.
  const options = [...mountFlags(capability), ...(fsType === 'xfs' ? ['nouuid'] : [])];
  const shared = await mountedLoopDevice(node, image);
  if (shared !== undefined) {
    // Already mounted by another node of this machine: no check needed, the kernel shares the filesystem.
    await core.mounter.mount({ source: shared, target: path, fsType, options });
    return;
  }
  await core.step('stage: attach');
  const { device, release } = await core.mounter.loop.attach(image, { autoClear: true });
  try {
    if (volume.formatting || (await core.tools.detect(device)) === 'blank') {
      core.records.volumes.put(volume.id, { ...volume, formatting: true });
      await core.step('stage: format');
      await formatIfBlank(core.tools, { device, fsType, resume: true });
      await core.step('stage: formatted');
      core.records.volumes.put(volume.id, { ...volume, formatting: false });
    } else {
      await formatIfBlank(core.tools, { device, fsType, resume: false });
      await core.step('stage: check');
      await core.tools.check(device, fsType);
    }
    await core.step('stage: grow');
    const isGrown = !volume.growBeforeUse || (await core.tools.growUnmounted(device, fsType));
    await core.step('stage: mount image');
    await core.mounter.mount({ source: device, target: path, fsType, options });
    await core.step('stage: grow mounted');
    if (!isGrown) await core.tools.grow({ device, path, fsType });
    forgetGrowth(core, volume.id);
  } finally {
    await release();
  }
}

/** The loop device through which another node of this machine has the image mounted. Detaches an unused one. */
async function mountedLoopDevice({ core }: HostpathNode, image: string): Promise<string | undefined> {
  const devices = await core.mounter.loop.find(image);
  if (devices.length === 0) return undefined;
  const mounts = await core.mounter.list();
  const mounted = devices.find((device) => mounts.some(({ source }) => source === device));
  if (mounted !== undefined) return mounted;
  for (const device of devices) await core.mounter.loop.detach(device, image);
  // A program started by an earlier process may still use it; a second device over the image would corrupt it.
  if ((await core.mounter.loop.find(image)).length > 0) {
    throw refuse.aborted(`the loop device of ${image} is still in use; the call is retried`);
  }
  return undefined;
}

/**
 * The image's loop device on this machine: one writable device, since two would not see each other's writes, and one
 * read-only device, since a read-only bind mount does not prevent writes to a device node.
 */
export async function sharedLoopDevice(
  { core }: HostpathNode,
  volume: VolumeRecord,
  readOnly: boolean,
): Promise<string> {
  const image = core.layout.volume(volume.id);
  const [existing] = await core.mounter.loop.find(image, { readOnly });
  if (existing !== undefined) return existing;
  const { device, release } = await core.mounter.loop.attach(image, { readOnly });
  await release();
  return device;
}

async function undoStaging(
  node: HostpathNode,
  volume: VolumeRecord | undefined,
  path: string,
): Promise<void> {
  const { core, nodeId } = node;
  if (volume?.accessType !== 'block') {
    const lazy = (await core.mounter.inspect(path)) === 'corrupted';
    await core.mounter.unmount(path, { lazy });
    // Without the native binding there is no auto-clear.
    if (volume?.backing !== 'image') return;
  }
  const othersUse = core.records.stagings
    .findAll('volume', volume.id)
    .some(({ record }) => record.nodeId !== nodeId);
  if (othersUse) return;
  const image = core.layout.volume(volume.id);
  for (const device of await core.mounter.loop.find(image)) await core.mounter.loop.detach(device, image);
}

async function isStaged(node: HostpathNode, volume: VolumeRecord, staging: StagingRecord): Promise<boolean> {
  const { core } = node;
  if (volume.accessType === 'block') {
    const image = core.layout.volume(volume.id);
    return (await core.mounter.loop.find(image, { readOnly: false })).length > 0;
  }
  return (await core.mounter.inspect(staging.path)) === 'mounted';
}

async function isInUse(node: HostpathNode, staging: StagingRecord): Promise<boolean> {
  if (staging.accessType === 'block') return true;
  return (
    (await node.core.mounter.inspect(staging.path)) !== 'absent' &&
    (await node.core.mounter.isMountPoint(staging.path))
  );
}

export function mountFlags(capability: VolumeCapability): string[] {
  return capability.accessType.case === 'mount' ? capability.accessType.value.mountFlags : [];
}

// The node service of hostpath: checks whether a volume may be staged or published here. stage-volume.ts and
// publish-volume.ts do the mounting.

import type { VolumeCapability_AccessMode_Mode as Mode } from '../../../csi/index.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import type { NodeOperations } from '../../driver.ts';
import { refuse } from '../../refuse.ts';
import { nodeExpandVolume } from '../controller/expand-operations.ts';
import { isReaderOnly, unusable } from '../controller/plan-volume.ts';
import { requireAttached } from '../controller/publish-operations.ts';
import { checkSecrets, existingVolume, volumeLock } from '../core.ts';
import { recordKey, type VolumeRecord } from '../state/records.ts';
import { ephemeralVolume, isEphemeralRequest, removeEphemeral } from './ephemeral-volumes.ts';
import type { HostpathNode } from './node-core.ts';
import { publishVolume, unpublishVolume } from './publish-volume.ts';
import { stageVolume, unstageVolume } from './stage-volume.ts';
import { nodeGetVolumeStats } from './volume-stats.ts';

export function nodeOperations(node: HostpathNode): NodeOperations {
  const { core, nodeId, options } = node;
  const { can } = core;

  const nodeStageVolume: NodeOperations['nodeStageVolume'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    const { volumeId, stagingTargetPath: path, volumeCapability: capability } = request;
    const volume = existingVolume(core, volumeId);
    requireUsable(volume, capability);
    requireAttached(core, volumeId, nodeId);
    await stageVolume(node, { volume, path, capability }, signal);
    return {};
  };

  const nodeUnstageVolume: NodeOperations['nodeUnstageVolume'] = async (request, { signal }) => {
    await unstageVolume(node, { volumeId: request.volumeId, path: request.stagingTargetPath }, signal);
    return {};
  };

  const nodePublishVolume: NodeOperations['nodePublishVolume'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    try {
      await publish(request, signal);
    } catch (error) {
      await tidyUp(node, request.volumeId);
      throw error;
    }
    return {};
  };

  const publish = async (request: PublishCall, signal: AbortSignal): Promise<void> => {
    const { volumeId, targetPath: path, volumeCapability: capability } = request;
    const isEphemeral = isEphemeralRequest(request.volumeContext);
    const volume = isEphemeral
      ? await ephemeralVolume(node, request, signal)
      : existingVolume(core, volumeId);
    requireUsable(volume, capability);
    const attachment = isEphemeral ? undefined : requireAttached(core, volumeId, nodeId);
    const from =
      can.stage && !isEphemeral
        ? requireStaged(node, volume, request.stagingTargetPath)
        : await stageForOurselves(node, { volume, capability }, signal);
    const readOnly =
      request.readonly || attachment?.readOnly === true || isReaderOnly(capability.accessMode?.mode as Mode);
    await core.locks.exclusive(
      volumeLock(volumeId),
      async () => {
        if (!isEphemeral) existingVolume(core, volumeId);
        await publishVolume(node, { volume, path, capability, readOnly, from });
      },
      signal,
    );
  };

  const nodeUnpublishVolume: NodeOperations['nodeUnpublishVolume'] = async (request, { signal }) => {
    const { volumeId, targetPath: path } = request;
    await core.locks.exclusive(volumeLock(volumeId), () => unpublishVolume(node, path), signal);
    await tidyUp(node, volumeId);
    return {};
  };

  const nodeGetInfo: NodeOperations['nodeGetInfo'] = () => ({
    nodeId,
    maxVolumesPerNode: BigInt(options.maxVolumesPerNode ?? 0),
    ...(options.topology && { accessibleTopology: { segments: { ...options.topology } } }),
  });

  return {
    nodePublishVolume,
    nodeUnpublishVolume,
    nodeGetInfo,
    ...(can.stage && { nodeStageVolume, nodeUnstageVolume }),
    ...(can.volumeStats && { nodeGetVolumeStats: nodeGetVolumeStats(node) }),
    ...(can.nodeExpand && { nodeExpandVolume: nodeExpandVolume(node) }),
  };
}

type PublishCall = Parameters<NodeOperations['nodePublishVolume']>[0];

/** After a volume's last unpublish: removes the driver's own staging mount, and deletes an inline volume. */
async function tidyUp(node: HostpathNode, volumeId: VolumeHandle): Promise<void> {
  const { core, nodeId } = node;
  if (core.records.targets.find('volumeOnNode', recordKey(nodeId, volumeId)) !== undefined) return;
  const ownMount = core.layout.ownMount(nodeId, volumeId);
  if (core.records.stagings.get(recordKey(nodeId, volumeId))?.path === ownMount) {
    await unstageVolume(node, { volumeId, path: ownMount });
    await core.files.removeMountPoint(ownMount);
  }
  await removeEphemeral(node, volumeId);
}

function requireUsable(volume: VolumeRecord, capability: Parameters<typeof unusable>[1]): void {
  const problem = unusable(volume, capability);
  if (problem !== undefined) throw refuse.failedPrecondition(problem);
}

function requireStaged({ core, nodeId }: HostpathNode, volume: VolumeRecord, path: string): string {
  const staging = core.records.stagings.get(recordKey(nodeId, volume.id));
  if (staging?.done && staging.path === path) return path;
  throw refuse.failedPrecondition(
    `volume ${volume.id} is not staged at ${path || '(no staging_target_path was given)'} on this node; call NodeStageVolume first`,
  );
}

/** Without staging by the caller, a directory is published directly; an image is mounted below the state directory. */
async function stageForOurselves(
  node: HostpathNode,
  { volume, capability }: { volume: VolumeRecord; capability: Parameters<typeof unusable>[1] },
  signal: AbortSignal,
): Promise<string> {
  const { core, nodeId } = node;
  if (volume.backing === 'directory') return core.layout.volume(volume.id);
  const path = core.layout.ownMount(nodeId, volume.id);
  await stageVolume(node, { volume, path, capability }, signal);
  return path;
}

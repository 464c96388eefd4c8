// CreateVolume, DeleteVolume, and the calls that read volumes. create-volume.ts and remove-volume.ts do the work on
// disk.

import type { VolumeSchema } from '../../../csi/index.ts';
import type { MessageInitShape } from '../../../wire/protobuf/descriptor.ts';
import { smaller } from '../../capacity.ts';
import type { ControllerOperations } from '../../driver.ts';
import { paginate } from '../../pagination.ts';
import { checkSecrets, existingVolume, type HostpathCore, volumeLock } from '../core.ts';
import { readPassing, type VolumeRecord, type VolumeSource } from '../state/records.ts';
import { createPlainDirectory, finishCreation, isPlainDirectory, recordVolume } from './create-volume.ts';
import { freeBytes } from './placement.ts';
import { unusable } from './plan-volume.ts';
import { removeVolume } from './remove-volume.ts';
import { conditionOf, publishedNodeIds } from './volume-status.ts';

export function volumeOperations(core: HostpathCore) {
  const { records, can } = core;

  const createVolume: ControllerOperations['createVolume'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    const record = isPlainDirectory(core, request)
      ? await createPlainDirectory(core, request)
      : recordVolume(core, request, 'creating');
    return { volume: volumeMessage(await finishCreation(core, record, signal)) };
  };

  const deleteVolume: ControllerOperations['deleteVolume'] = async (request, { signal }) => {
    checkSecrets(core, request.secrets);
    await core.locks.exclusive(
      volumeLock(request.volumeId),
      () => removeVolume(core, request.volumeId),
      signal,
    );
    return {};
  };

  const listVolumes: ControllerOperations['listVolumes'] = async (request) => {
    const page = paginate(request, {
      read: (after, limit) =>
        readPassing(records.volumes.list, ({ state, ephemeralOn }) => state === 'ready' && !ephemeralOn, {
          after,
          limit,
        }),
      keyOf: ({ id }) => id,
    });
    const entries = await Promise.all(
      page.items.map(async (volume) => ({
        volume: volumeMessage(volume),
        status: await statusOf(core, volume),
      })),
    );
    return { entries, nextToken: page.nextToken };
  };

  const controllerGetVolume: ControllerOperations['controllerGetVolume'] = async ({ volumeId }) => {
    const volume = existingVolume(core, volumeId);
    return { volume: volumeMessage(volume), status: await statusOf(core, volume) };
  };

  const validateVolumeCapabilities: ControllerOperations['validateVolumeCapabilities'] = (request) => {
    checkSecrets(core, request.secrets);
    const volume = existingVolume(core, request.volumeId);
    const problem = request.volumeCapabilities
      .map((capability) => unusable(volume, capability))
      .find(Boolean);
    if (problem !== undefined) return { message: problem };
    const { volumeContext, volumeCapabilities, parameters, mutableParameters } = request;
    return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters } };
  };

  const getCapacity: ControllerOperations['getCapacity'] = async (request) => {
    const { availableBytes } = await core.mounter.usage(core.stateDir);
    const free = freeBytes(core, request.accessibleTopology?.segments);
    const availableCapacity = smaller(free ?? availableBytes, availableBytes);
    const { maxVolumeBytes } = core;
    return {
      availableCapacity,
      ...(maxVolumeBytes !== undefined && {
        maximumVolumeSize: smaller(maxVolumeBytes, availableCapacity),
      }),
    };
  };

  return {
    createVolume,
    deleteVolume,
    validateVolumeCapabilities,
    ...(can.listVolumes && { listVolumes }),
    ...(can.getVolume && { controllerGetVolume }),
    ...(can.getCapacity && { getCapacity }),
  };
}

async function statusOf(core: HostpathCore, volume: VolumeRecord) {
  return {
    ...(core.can.publishedNodes && { publishedNodeIds: publishedNodeIds(core, volume.id) }),
    ...(core.can.volumeCondition && { volumeCondition: await conditionOf(core, volume) }),
  };
}

function volumeMessage(volume: VolumeRecord): MessageInitShape<typeof VolumeSchema> {
  return {
    volumeId: volume.id,
    capacityBytes: volume.sizeBytes,
    volumeContext: { backing: volume.backing },
    ...(volume.topology && { accessibleTopology: [{ segments: volume.topology }] }),
    ...(volume.source && { contentSource: { type: sourceMessage(volume.source) } }),
  };
}

function sourceMessage(source: VolumeSource) {
  return 'volumeId' in source
    ? { case: 'volume' as const, value: source }
    : { case: 'snapshot' as const, value: source };
}

// CreateVolume, DeleteVolume and what is told about volumes. A record in state `creating` or `deleting` surrounds every
// change on disk: whoever finds one, by the next call or at start-up, finishes or undoes it.

import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TopologyRequirement, VolumeSchema } from '../../csi/index.ts';
import { smaller } from '../capacity.ts';
import type { ControllerOperations } from '../driver.ts';
import { paginate } from '../pagination.ts';
import { refuse } from '../refuse.ts';
import { copySource } from './copy-source.ts';
import { checkSecrets, existingVolume, type HostpathCore, volumeLock } from './core.ts';
import { freeBytes, placeVolume } from './placement.ts';
import {
  difference,
  planVolume,
  type SourceRecord,
  sourceOf,
  unusable,
  type VolumeRequest,
} from './plan-volume.ts';
import { readPassing, type VolumeRecord, type VolumeSource } from './records.ts';
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
    if (records.volumes.get(request.volumeId) === undefined) return {};
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

type CreateRequest = VolumeRequest & { accessibilityRequirements?: TopologyRequirement | undefined };

function existingByName(core: HostpathCore, request: CreateRequest): VolumeRecord | undefined {
  const existing = core.records.volumes.find('name', request.name)?.record;
  if (existing === undefined) return undefined;
  const differs = difference(existing, request, core);
  if (differs === undefined) return existing;
  throw refuse.alreadyExists(
    `volume ${request.name} exists and is not what is asked for: ${differs}; delete it or use another name`,
  );
}

/** In one transaction: the volume of that name, or else where there is room, and the record of a new one. */
function recordVolume(
  core: HostpathCore,
  request: CreateRequest,
  state: 'creating' | 'ready',
  id = core.random.uuid(),
): VolumeRecord {
  return core.store.transaction(() => {
    const existing = existingByName(core, request);
    if (existing !== undefined) return existing;
    const source = sourceRecord(core, sourceOf(request.volumeContentSource));
    const plan = planVolume(request, core, source);
    const topology = placeVolume(core, plan.sizeBytes, request.accessibilityRequirements);
    const made: VolumeRecord = { id, name: request.name, state, ...plan, ...(topology && { topology }) };
    core.records.volumes.put(id, made);
    return made;
  });
}

function isPlainDirectory(core: HostpathCore, request: CreateRequest): boolean {
  return request.volumeContentSource === undefined && planVolume(request, core).backing === 'directory';
}

/**
 * The common case, with one transaction instead of two: the directory first, then its record. A directory whose record
 * was not written is nobody's, and is removed at start-up; the lock tells it from one that is being made.
 */
function createPlainDirectory(core: HostpathCore, request: CreateRequest): Promise<VolumeRecord> {
  const id = core.random.uuid();
  const path = core.layout.volume(id);
  return core.locks.exclusive(volumeLock(id), async () => {
    await core.step('volume: make');
    await core.files.makeVolumeDirectory(path);
    let record: VolumeRecord | undefined;
    try {
      await core.step('volume: record');
      record = recordVolume(core, request, 'ready', id);
    } finally {
      // There was a volume of that name, or there is no room for one.
      if (record?.id !== id) await core.files.removeTree(path);
    }
    return record;
  });
}

/** Makes what a record in state `creating` speaks of. Leaves nothing behind if it cannot. */
export async function finishCreation(
  core: HostpathCore,
  record: VolumeRecord,
  signal?: AbortSignal,
): Promise<VolumeRecord> {
  if (record.state === 'ready') return record;
  return core.locks.exclusive(
    volumeLock(record.id),
    async () => {
      // Since the record was read it may have been made ready, or cleaned up, by another process.
      const current = core.records.volumes.get(record.id);
      if (current?.state === 'ready') return current;
      if (current?.state !== 'creating') {
        throw refuse.aborted(`volume ${record.name} is being deleted; try again when that has ended`);
      }
      try {
        await makeContent(core, current);
      } catch (error) {
        await discardVolume(core, current);
        throw error;
      }
      await core.step('volume: mark ready');
      const ready: VolumeRecord = { ...current, state: 'ready' };
      core.records.volumes.put(ready.id, ready);
      return ready;
    },
    signal,
  );
}

async function makeContent(core: HostpathCore, volume: VolumeRecord): Promise<void> {
  const path = core.layout.volume(volume.id);
  if (volume.source !== undefined) return copySource(core, volume, volume.source);
  await core.step('volume: make');
  if (volume.backing === 'directory') await core.files.makeVolumeDirectory(path);
  else await core.files.makeImage(path, volume.sizeBytes);
}

/** Call it as the holder of the volume's lock. */
async function removeVolume(core: HostpathCore, volumeId: string): Promise<void> {
  const volume = core.records.volumes.get(volumeId);
  if (volume === undefined) return;
  if (volume.state === 'ready') {
    if (volume.backing === 'directory' && (await forgetIfUnused(core, volumeId))) {
      await core.step('volume: remove empty');
      await core.files.removeTree(core.layout.volume(volumeId));
      return;
    }
    const user = await userOf(core, volumeId);
    if (user !== undefined) {
      throw refuse.failedPrecondition(
        `volume ${volumeId} is in use: ${user}; it can be deleted when that has ended`,
      );
    }
    await core.step('volume: mark deleting');
    core.records.volumes.put(volumeId, { ...volume, state: 'deleting' });
  }
  await discardVolume(core, volume);
}

/** Removes whatever there is of a volume, then its record. */
export async function discardVolume(core: HostpathCore, volume: VolumeRecord): Promise<void> {
  const path = core.layout.volume(volume.id);
  await core.step('volume: remove content');
  if (volume.backing === 'image') {
    for (const device of await core.mounter.loop.find(path)) await core.mounter.loop.detach(device, path);
  }
  if (volume.source !== undefined) await core.files.removeTree(core.layout.unfinished(path));
  await core.files.removeTree(path);
  await forgetVolume(core, volume.id);
}

/**
 * Removes the record of an empty directory that nobody uses. An empty directory without a record is removed at start-up,
 * so its record may go first, and there is no need to note that it is being deleted.
 */
async function forgetIfUnused(core: HostpathCore, volumeId: string): Promise<boolean> {
  if ((await core.files.list(core.layout.volume(volumeId))).length > 0) return false;
  await core.step('volume: remove record');
  return core.store.transaction(() => {
    if (usesOf(core, volumeId).length > 0) return false;
    core.records.volumes.delete(volumeId);
    return true;
  });
}

async function forgetVolume(core: HostpathCore, volumeId: string): Promise<void> {
  await core.step('volume: remove record');
  core.store.transaction(() => {
    for (const { uses, key } of usesOf(core, volumeId)) uses.delete(key);
    core.records.volumes.delete(volumeId);
  });
}

function usesOf({ records }: HostpathCore, volumeId: string) {
  return [records.attachments, records.stagings, records.targets].flatMap((uses) =>
    uses.findAll('volume', volumeId).map(({ key, record }) => ({ uses, key, record })),
  );
}

/** Who still uses the volume. Records of mounts that a reboot took away do not count. */
async function userOf(core: HostpathCore, volumeId: string): Promise<string | undefined> {
  for (const { record } of usesOf(core, volumeId)) {
    if (!('path' in record)) return `it is published to node ${record.nodeId}`;
    if ((await core.mounter.inspect(record.path)) === 'mounted') {
      return `it is mounted at ${record.path} on node ${record.nodeId}`;
    }
  }
  return undefined;
}

function sourceRecord(core: HostpathCore, source: VolumeSource | undefined): SourceRecord | undefined {
  if (source === undefined) return undefined;
  if ('volumeId' in source) return existingVolume(core, source.volumeId);
  const snapshot = core.records.snapshots.get(source.snapshotId);
  if (snapshot?.state !== 'ready') throw refuse.notFound(`snapshot ${source.snapshotId} does not exist`);
  return snapshot;
}

async function statusOf(core: HostpathCore, volume: VolumeRecord) {
  return {
    ...(core.can.publishedNodes && { publishedNodeIds: publishedNodeIds(core, volume.id) }),
    ...(core.can.volumeCondition && { volumeCondition: await conditionOf(core, volume) }),
  };
}

export function volumeMessage(volume: VolumeRecord): MessageInitShape<typeof VolumeSchema> {
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

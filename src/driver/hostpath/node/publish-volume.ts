// NodePublishVolume and NodeUnpublishVolume: a bind mount of the staged directory, or of the loop device for raw block,
// at a pod's path. The target record is written before the path is created and removed after the path is removed.

import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from '../../../csi/index.ts';
import { refuse } from '../../refuse.ts';
import { recordKey, type TargetRecord, type VolumeRecord } from '../state/records.ts';
import type { HostpathNode } from './node-core.ts';
import { mountFlags, sharedLoopDevice } from './stage-volume.ts';

export interface PublishRequest {
  volume: VolumeRecord;
  path: string;
  capability: VolumeCapability;
  readOnly: boolean;
  /** The staged directory. */
  from: string;
}

export async function publishVolume(node: HostpathNode, request: PublishRequest): Promise<void> {
  const { core, nodeId } = node;
  const { volume, path, capability, readOnly } = request;
  const key = recordKey(nodeId, path);
  const wanted: TargetRecord = {
    nodeId,
    volumeId: volume.id,
    path,
    readOnly,
    accessType: volume.accessType,
    accessMode: capability.accessMode?.mode ?? Mode.UNKNOWN,
    done: false,
  };
  const existing = core.records.targets.get(key);
  const state = await core.mounter.inspect(path);
  if (existing?.done && state === 'mounted') return checkSame(existing, wanted);
  if (existing === undefined && state === 'mounted') {
    throw refuse.failedPrecondition(`something else is mounted at ${path}; unmount it first`);
  }
  await checkSingleWriter(node, wanted);
  await core.step('publish: record');
  core.records.targets.put(key, wanted);
  // A path that existed before is not ours, and is kept if publishing fails.
  let madePath = existing !== undefined;
  try {
    if (state === 'mounted' || state === 'corrupted') await core.mounter.unmount(path, { lazy: true });
    madePath = (await makeTarget(node, request)) || madePath;
    await core.step('publish: mount');
    await mountTarget(node, request);
  } catch (error) {
    await core.mounter.unmount(path);
    if (madePath) await core.files.removeMountPoint(path);
    core.records.targets.delete(key);
    throw error;
  }
  await core.step('publish: done');
  core.records.targets.put(key, { ...wanted, done: true });
}

export async function unpublishVolume({ core, nodeId }: HostpathNode, path: string): Promise<void> {
  await core.step('unpublish: unmount');
  const lazy = (await core.mounter.inspect(path)) === 'corrupted';
  await core.mounter.unmount(path, { lazy });
  await core.step('unpublish: remove path');
  await core.files.removeMountPoint(path);
  await core.step('unpublish: record');
  core.records.targets.delete(recordKey(nodeId, path));
}

/** Creates the directory or file to mount on; true if it did not exist. */
async function makeTarget({ core }: HostpathNode, { volume, path }: PublishRequest): Promise<boolean> {
  const wanted = volume.accessType === 'block' ? 'file' : 'directory';
  const found = await core.files.kindOf(path);
  if (found === wanted) return false;
  if (found !== 'absent') {
    throw refuse.invalidArgument(
      `the target path ${path} must be a ${wanted} or not exist, it is a ${found}`,
    );
  }
  await core.step('publish: make path');
  if (wanted === 'directory') await core.files.makeDirectory(path);
  else await core.files.makeFile(path);
  return true;
}

async function mountTarget(node: HostpathNode, request: PublishRequest): Promise<void> {
  const { core } = node;
  const { volume, path, capability, readOnly } = request;
  if (volume.accessType === 'block') {
    await core.mounter.bind(await sharedLoopDevice(node, volume, readOnly), path, { readOnly });
    return;
  }
  await core.mounter.bind(request.from, path, { readOnly, options: bindFlags(capability) });
}

// The options that apply to a bind mount; filesystem options were applied when it was staged.
const perMountOptions = new Set([
  'nosuid',
  'suid',
  'nodev',
  'dev',
  'noexec',
  'exec',
  'noatime',
  'atime',
  'nodiratime',
  'diratime',
  'relatime',
  'ro',
  'nosymfollow',
]);

function bindFlags(capability: VolumeCapability): string[] {
  return mountFlags(capability)
    .flatMap((flag) => flag.split(','))
    .filter((flag) => perMountOptions.has(flag));
}

function checkSame(existing: TargetRecord, wanted: TargetRecord): void {
  if (existing.volumeId !== wanted.volumeId) {
    throw refuse.failedPrecondition(
      `volume ${existing.volumeId} is published at ${wanted.path}, not volume ${wanted.volumeId}; unpublish it first`,
    );
  }
  if (existing.readOnly !== wanted.readOnly || existing.accessType !== wanted.accessType) {
    throw refuse.alreadyExists(
      `volume ${wanted.volumeId} is published at ${wanted.path} ${existing.readOnly ? 'read-only' : 'writable'}; unpublish it first`,
    );
  }
}

/** SINGLE_NODE_SINGLE_WRITER: one path on the node; the first one wins. */
async function checkSingleWriter({ core, nodeId }: HostpathNode, wanted: TargetRecord): Promise<void> {
  const single = Mode.SINGLE_NODE_SINGLE_WRITER;
  for (const { record } of core.records.targets.findAll('volumeOnNode', recordKey(nodeId, wanted.volumeId))) {
    if (record.path === wanted.path) continue;
    if (wanted.accessMode !== single && record.accessMode !== single) continue;
    // A reboot removes the mount but not the record.
    if (!(await core.mounter.isMountPoint(record.path))) continue;
    throw refuse.failedPrecondition(
      `volume ${wanted.volumeId} has access mode SINGLE_NODE_SINGLE_WRITER and is already published at ${record.path} on this node`,
    );
  }
}

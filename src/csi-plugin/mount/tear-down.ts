// NodeUnpublishVolume. Removes the directories and the record once it is certain that nothing is mounted. Only empty
// directories are removed, never data.

import { MountMissingError, type MountPorts, type NodeDriver, nodeClient } from './mount-plugin.ts';
import { RECORD_FILE } from './volume-paths.ts';
import type { KnownVolume } from './volume-record.ts';

export interface TearDownRequest {
  podUid: string;
  volume: KnownVolume;
  driver: NodeDriver;
}

export async function tearDown(
  ports: MountPorts,
  request: TearDownRequest,
  signal: AbortSignal,
): Promise<void> {
  const { podUid, volume, driver } = request;
  const { target } = ports.paths.mount(podUid, volume);
  await nodeClient(driver).nodeUnpublishVolume({ volumeId: volume.handle, targetPath: target }, { signal });
  signal.throwIfAborted();
  await removeMount(ports, podUid, volume);
}

/** Removes the files of a volume that is not published. */
export async function removeMount(ports: MountPorts, podUid: string, volume: KnownVolume): Promise<void> {
  const { files, paths } = ports;
  const { target, parent, recordDir } = paths.mount(podUid, volume);
  await removeMountPoint(ports, target, volume.block);
  await files.removeRecord(`${recordDir}/${RECORD_FILE}`);
  await files.removeDirectory(recordDir);
  // Other pods on this node may use the same block device.
  if (parent !== recordDir && (await files.list(parent)).length === 0) await files.removeDirectory(parent);
}

/** Asks the kernel: while something is mounted there, removing could delete data of the volume. */
export async function removeMountPoint(ports: MountPorts, path: string, isFile = false): Promise<void> {
  const state = await ports.mounter.inspect(path);
  if (state === 'absent') return;
  if (state !== 'plain') {
    throw new MountMissingError(
      `the driver answered that nothing is mounted at ${path} any more, but something is; it is asked again`,
    );
  }
  if (isFile && (await ports.files.kindOf(path)) !== 'directory') await ports.files.removeEmptyFile(path);
  else await ports.files.removeDirectory(path);
}

// NodeUnstageVolume. Removes the staging directory and the record once it is certain that nothing is mounted.

import { dirname } from 'node:path';
import { type MountPorts, type NodeDriver, nodeClient } from './mount-plugin.ts';
import { removeMountPoint } from './tear-down.ts';
import { RECORD_FILE } from './volume-paths.ts';
import type { KnownVolume } from './volume-record.ts';

export async function unmountDevice(
  ports: MountPorts,
  { volume, driver }: { volume: KnownVolume; driver: NodeDriver },
  signal: AbortSignal,
): Promise<void> {
  const { staging } = ports.paths.device(volume);
  if (driver.capabilities.has('STAGE_UNSTAGE_VOLUME')) {
    await nodeClient(driver).nodeUnstageVolume(
      { volumeId: volume.handle, stagingTargetPath: staging },
      { signal },
    );
  }
  signal.throwIfAborted();
  await removeDevice(ports, volume);
}

/** Removes the files of a volume that is not staged. */
export async function removeDevice(ports: MountPorts, volume: KnownVolume): Promise<void> {
  const { files, paths } = ports;
  const { staging, recordDir } = paths.device(volume);
  await removeMountPoint(ports, staging);
  await files.removeRecord(`${recordDir}/${RECORD_FILE}`);
  await files.removeDirectory(recordDir);
  if (volume.block) await files.removeDirectory(dirname(recordDir));
}

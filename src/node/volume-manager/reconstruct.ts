// Rebuilds the actual state after a restart from the records on disk. All of it is uncertain: what a pod still needs is
// set up again (CSI calls are idempotent), the rest is torn down. Removes empty leftover directories; calls no driver.

import { join } from 'node:path';
import type { MountPorts } from '../../csi-plugin/mount/mount-plugin.ts';
import { removeMountPoint } from '../../csi-plugin/mount/tear-down.ts';
import { RECORD_FILE } from '../../csi-plugin/mount/volume-paths.ts';
import { type KnownVolume, parseRecord, volumeOf } from '../../csi-plugin/mount/volume-record.ts';
import type { Log } from '../../runtime/ports.ts';
import type { ActualState } from './actual-state.ts';

/** Resolves with the UIDs of the pods that have a directory. */
export async function reconstruct(plugin: MountPorts, actual: ActualState, log: Log): Promise<string[]> {
  const { paths, files } = plugin;
  for (const driver of await files.list(paths.pluginDir)) {
    if (driver === 'volumeDevices') continue;
    for (const volume of await files.list(join(paths.pluginDir, driver))) {
      await readDevice(plugin, join(paths.pluginDir, driver, volume), false, actual, log);
    }
  }
  for (const volume of await files.list(paths.blockDir)) {
    if (volume === 'publish' || volume === 'staging') continue;
    await readDevice(plugin, join(paths.blockDir, volume, 'data'), true, actual, log);
  }
  const podUids = await files.list(paths.pods);
  for (const podUid of podUids) {
    const { filesystem, block } = paths.podVolumes(podUid);
    for (const name of await files.list(filesystem)) {
      await readMount(plugin, { podUid, directory: join(filesystem, name), block: false }, actual, log);
    }
    for (const name of await files.list(block)) {
      await readMount(plugin, { podUid, directory: join(block, name), block: true }, actual, log);
    }
  }
  return podUids;
}

async function readDevice(
  plugin: MountPorts,
  directory: string,
  block: boolean,
  actual: ActualState,
  log: Log,
): Promise<void> {
  const volume = await readVolume(plugin, directory, block);
  if (volume === undefined || plugin.paths.device(volume).recordDir !== directory) {
    await removeLeftovers(plugin, directory, 'globalmount', log);
    return;
  }
  actual.setDevice(volume, 'uncertain');
}

async function readMount(
  plugin: MountPorts,
  { podUid, directory, block }: { podUid: string; directory: string; block: boolean },
  actual: ActualState,
  log: Log,
): Promise<void> {
  const volume = await readVolume(plugin, directory, block);
  if (volume === undefined || plugin.paths.mount(podUid, volume).recordDir !== directory) {
    await removeLeftovers(plugin, directory, 'mount', log);
    return;
  }
  const path = plugin.paths.mount(podUid, volume).target;
  actual.setMount({ podUid, volume, path, readOnly: false, state: 'uncertain' });
}

async function readVolume(
  plugin: MountPorts,
  directory: string,
  block: boolean,
): Promise<KnownVolume | undefined> {
  const record = parseRecord(await plugin.files.readRecord(join(directory, RECORD_FILE)));
  // The directory tells block from filesystem: the kubelet's records do not.
  return record && { ...volumeOf(record), block };
}

/** Directories without a record: from a crash before it was written or after it was removed. Foreign content stays. */
async function removeLeftovers(
  plugin: MountPorts,
  directory: string,
  mountPoint: string,
  log: Log,
): Promise<void> {
  const record = join(directory, RECORD_FILE);
  try {
    await removeMountPoint(plugin, join(directory, mountPoint));
    // An empty record is an unfinished write of this node; one that cannot be parsed is foreign.
    if ((await plugin.files.readRecord(record)) === undefined) await plugin.files.removeRecord(record);
    await plugin.files.removeDirectory(directory);
  } catch (error) {
    log.warn('a volume directory without a record of this node is not empty and is left alone', {
      directory,
      err: error,
    });
  }
}

// Deletes a volume: rejects the request while it is in use, marks it `deleting`, removes its content and then its
// record.

import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { refuse } from '../../refuse.ts';
import type { HostpathCore } from '../core.ts';
import type { VolumeRecord } from '../state/records.ts';

/** The caller holds the volume's lock. */
export async function removeVolume(core: HostpathCore, volumeId: VolumeHandle): Promise<void> {
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

/** Removes the content of a volume, then its record. */
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
 * Removes the record of an empty directory that is not in use. Start-up removes an empty directory without a record, so
 * the record may be removed first, and no `deleting` state is needed.
 */
async function forgetIfUnused(core: HostpathCore, volumeId: VolumeHandle): Promise<boolean> {
  if ((await core.files.list(core.layout.volume(volumeId))).length > 0) return false;
  await core.step('volume: remove record');
  return core.store.transaction(() => {
    if (usesOf(core, volumeId).length > 0) return false;
    core.records.volumes.delete(volumeId);
    return true;
  });
}

async function forgetVolume(core: HostpathCore, volumeId: VolumeHandle): Promise<void> {
  await core.step('volume: remove record');
  core.store.transaction(() => {
    for (const { uses, key } of usesOf(core, volumeId)) uses.delete(key);
    core.records.volumes.delete(volumeId);
  });
}

function usesOf({ records }: HostpathCore, volumeId: VolumeHandle) {
  return [records.attachments, records.stagings, records.targets].flatMap((uses) =>
    uses.findAll('volume', volumeId).map(({ key, record }) => ({ uses, key, record })),
  );
}

/** The user of the volume, if any. Records of mounts that a reboot removed do not count. */
async function userOf(core: HostpathCore, volumeId: VolumeHandle): Promise<string | undefined> {
  for (const { record } of usesOf(core, volumeId)) {
    if (!('path' in record)) return `it is published to node ${record.nodeId}`;
    if ((await core.mounter.inspect(record.path)) === 'mounted') {
      return `it is mounted at ${record.path} on node ${record.nodeId}`;
    }
  }
  return undefined;
}

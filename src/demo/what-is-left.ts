// Finds leftovers after the demo deleted everything: objects, mounts, volumes on disk.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { persistentVolumeClaims, persistentVolumes, pods, volumeAttachments } from '../api/kinds.ts';
import { keyOf, type Resource } from '../api/object.ts';
import type { Reader } from '../apiserver/pipeline.ts';
import type { DataDirectory } from '../cluster/data-directory.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';

export async function whatIsLeft(options: {
  reader: Reader;
  directory: DataDirectory;
  nodeNames: readonly string[];
  mounter: Mounter;
}): Promise<string[]> {
  const { reader, directory, nodeNames, mounter } = options;
  const kinds: Resource[] = [pods, persistentVolumeClaims, persistentVolumes, volumeAttachments];
  const objects = kinds.flatMap((resource) =>
    [...reader.list(resource)].map((object) => `${resource.kind} ${keyOf(object)}`),
  );
  const mounts = (await mounter.list())
    .map(({ mountPoint }) => mountPoint)
    .filter((path) => path.startsWith(`${directory.path}/`) && path !== directory.nodes);
  const state = join(directory.driver('hostpath'), 'state');
  const files = await Promise.all([
    ...['volumes', 'snapshots', 'mounts'].map((name) => entriesOf(join(state, name))),
    ...nodeNames.map((name) => entriesOf(join(directory.nodeRoot(name), 'pods'))),
  ]);
  return [...objects, ...mounts.map((path) => `mount ${path}`), ...files.flat()];
}

async function entriesOf(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).map((name) => join(directory, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

// Reads the volume directories below a kubelet's root, the mount table, and the pods that the cluster has for the node.

import { join } from 'node:path';
import { nodes, type Pod, persistentVolumeClaims, persistentVolumes, pods } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf, ephemeralVolumeHandle, uniqueVolumeName } from '../../api/volumes.ts';
import type { VolumeFiles } from '../../csi-plugin/mount/volume-files.ts';
import { RECORD_FILE, volumePaths } from '../../csi-plugin/mount/volume-paths.ts';
import { parseRecord } from '../../csi-plugin/mount/volume-record.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { readRows } from '../gather/read-rows.ts';
import { type NodeFacts, type PodVolume, type StagedVolume, usedKey } from './find-orphans.ts';

export interface NodeReader {
  readonly kube: Pick<KubeClient, 'list' | 'get'>;
  readonly files: Pick<VolumeFiles, 'list' | 'readRecord'>;
  readonly mountPoints: () => Promise<readonly string[]>;
  readonly node: string;
  readonly root: string;
  readonly signal: AbortSignal;
}

/** The kubelet's UID of a pod that it was given in a file, which is not that of the object that mirrors it. */
const ANN_STATIC_POD = 'kubernetes.io/config.hash';

export async function readNode(reader: NodeReader): Promise<NodeFacts> {
  const { node } = reader;
  // The disk first: what is set up meanwhile has its pod by the time that pods are read.
  const { podVolumes, staged } = await readDisk(reader);
  const mountPoints = new Set(await reader.mountPoints());
  const found: Pod[] = await readRows(reader, pods, (pod) => pod, { fieldSelector: `spec.nodeName=${node}` });
  return {
    node,
    pods: new Set(
      found.flatMap(({ metadata: { uid, annotations } }) => [
        uid,
        ...(annotations?.[ANN_STATIC_POD] ? [annotations[ANN_STATIC_POD]] : []),
      ]),
    ),
    used: await usedBy(reader, found),
    podVolumes,
    staged,
    mountPoints,
    podsDirectory: volumePaths(reader.root).pods,
  };
}

async function readDisk({ files, root }: NodeReader) {
  const paths = volumePaths(root);
  const podVolumes: PodVolume[] = [];
  const staged: StagedVolume[] = [];
  for (const podUid of await files.list(paths.pods)) {
    const { filesystem, block } = paths.podVolumes(podUid);
    for (const name of await files.list(filesystem)) {
      const directory = join(filesystem, name);
      podVolumes.push({ podUid, directory, target: join(directory, 'mount') });
    }
    for (const name of await files.list(block)) {
      const target = join(paths.blockDir, 'publish', name, podUid);
      podVolumes.push({ podUid, directory: join(block, name), target });
    }
  }
  const readStaged = async (driver: string, directory: string, staging: string): Promise<void> => {
    const record = parseRecord(await files.readRecord(join(directory, RECORD_FILE)));
    staged.push({
      driver: record?.driverName ?? driver,
      handle: record?.volumeHandle ?? '',
      directory,
      staging,
    });
  };
  for (const driver of await files.list(paths.pluginDir)) {
    if (driver === 'volumeDevices') continue;
    for (const name of await files.list(join(paths.pluginDir, driver))) {
      const directory = join(paths.pluginDir, driver, name);
      await readStaged(driver, directory, join(directory, 'globalmount'));
    }
  }
  for (const name of await files.list(paths.blockDir)) {
    if (name === 'publish' || name === 'staging') continue;
    await readStaged(
      'an unknown driver',
      join(paths.blockDir, name, 'data'),
      join(paths.blockDir, 'staging', name),
    );
  }
  return { podVolumes, staged };
}

/** By the node's pods, also those that have ended and whose volumes are being torn down, or as the Node says. */
async function usedBy(reader: NodeReader, found: readonly Pod[]): Promise<Set<string>> {
  const { kube, node, signal } = reader;
  const used = new Set<string>();
  const claims = new Set<string>();
  for (const pod of found) {
    for (const volume of pod.spec.volumes ?? []) {
      const claim = claimNameOf(pod, volume);
      if (claim !== undefined) claims.add(`${pod.metadata.namespace}/${claim}`);
      if (volume.csi)
        used.add(
          usedKey(
            volume.csi.driver,
            volume.csi.volumeHandle ?? ephemeralVolumeHandle(pod.metadata.uid, volume.name),
          ),
        );
    }
  }
  const wanted = new Set(
    await readRows(reader, persistentVolumeClaims, (claim) =>
      claims.has(keyOf(claim)) ? (claim.spec.volumeName ?? '') : undefined,
    ),
  );
  for (const csi of await readRows(reader, persistentVolumes, ({ metadata, spec }) =>
    wanted.has(metadata.name) ? spec.csi : undefined,
  ))
    used.add(usedKey(csi.driver, csi.volumeHandle));
  const prefix = uniqueVolumeName('', '').slice(0, -1);
  const status = (await ifThere(kube.get(nodes, { name: node }, { signal })))?.status;
  for (const name of status?.volumesInUse ?? [])
    if (name.startsWith(prefix)) used.add(name.slice(prefix.length));
  return used;
}

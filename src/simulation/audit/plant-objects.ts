// Plants objects that only the cluster has: a PersistentVolume without a volume, a VolumeAttachment of a node that never was, and
// a finalizer that nobody removes.

import {
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttachments,
} from '../../api/kinds.ts';
import { attachmentName } from '../../api/volumes.ts';
import { FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE } from '../../api/well-known.ts';
import type { SeededRandom } from '../../runtime/random.ts';
import { NAMESPACE } from '../drafts.ts';
import type { StorageBackend } from '../storage-backend.ts';
import type { World } from '../world.ts';
import type { Planted } from './plant.ts';

/** A PersistentVolume that nobody uses, of a volume that never was. */
export async function goneVolume(
  world: World,
  backend: StorageBackend,
  random: SeededRandom,
): Promise<Planted | undefined> {
  if (!backend.plan.lists) return undefined;
  const name = `planted-${random.suffix(6)}`;
  await world.admin.create(persistentVolumes, {
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'nobody',
      csi: { driver: backend.plan.name, volumeHandle: `gone-${random.suffix(6)}` },
    },
  });
  return {
    finding: `volume-missing/${name}`,
    severity: 'leak',
    isActionable: true,
    exists: () => world.server.reader.get(persistentVolumes, { name }) !== undefined,
    remove: () => world.admin.delete(persistentVolumes, { name }),
  };
}

/** Of a node that never was. */
export async function staleAttachment(
  world: World,
  backend: StorageBackend,
  volume: PersistentVolume | undefined,
): Promise<Planted | undefined> {
  const { plan } = backend;
  if (!plan.attaches || volume?.spec.csi === undefined) return undefined;
  const nodeName = 'gone-node';
  const name = attachmentName({ driver: plan.name, volumeHandle: volume.spec.csi.volumeHandle, nodeName });
  await world.admin.create(volumeAttachments, {
    metadata: { name },
    spec: { attacher: plan.name, nodeName, source: { persistentVolumeName: volume.metadata.name } },
  });
  return {
    finding: `attachment-stale/${name}`,
    severity: 'leak',
    isActionable: true,
    exists: () => world.server.reader.get(volumeAttachments, { name }) !== undefined,
    remove: () => world.admin.delete(volumeAttachments, { name }),
  };
}

/** A claim that waits for the snapshot controller, in a cluster without one. */
export async function stuckFinalizer(
  world: World,
  volume: PersistentVolume | undefined,
): Promise<Planted | undefined> {
  const name = volume?.spec.claimRef?.name;
  if (name === undefined || world.plan.snapshotClasses.length > 0) return undefined;
  const at = { name, namespace: NAMESPACE };
  const { metadata } = await world.admin.get(persistentVolumeClaims, at);
  const finalizers = [...(metadata.finalizers ?? []), FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE];
  await world.admin.patch(persistentVolumeClaims, at, { metadata: { finalizers } }, { type: 'merge' });
  await world.admin.delete(persistentVolumeClaims, at);
  const current = () => world.server.reader.get(persistentVolumeClaims, at);
  return {
    finding: `finalizer-stuck/persistentvolumeclaims/${NAMESPACE}/${name}`,
    severity: 'leak',
    isActionable: true,
    exists: () => current()?.metadata.uid === metadata.uid,
    remove: async () =>
      void (await world.admin.patch(
        persistentVolumeClaims,
        at,
        { metadata: { finalizers: null } },
        { type: 'merge' },
      )),
  };
}

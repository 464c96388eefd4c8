// Plants what an auditor must find into a cluster at rest: volumes, snapshots and attachments that only the storage has, objects
// that only the cluster has, and a finalizer that nobody removes. Each plant says which finding it must become.

import {
  events,
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  volumeAttachments,
  volumeSnapshotClasses,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf } from '../../api/volumes.ts';
import { csiClient } from '../../csi/client/csi-client.ts';
import { Controller, GroupController } from '../../csi/generated/csi/v1/csi_pb.ts';
import type { SeededRandom } from '../../runtime/random.ts';
import { NAMESPACE } from '../drafts.ts';
import { GIB, type StorageBackend } from '../storage-backend.ts';
import type { World } from '../world.ts';
import { type Plant, type Planted, storagesOf } from './plant.ts';
import { goneVolume, staleAttachment, stuckFinalizer } from './plant-objects.ts';

const CALL = { timeoutMs: 600_000 };
/** Of the plants that a cluster has room for. */
const SHARE = 0.6;

export async function plantLeaks(world: World, random: SeededRandom): Promise<Plant[]> {
  const plants: Plant[] = [];
  for (const backend of storagesOf(world)) {
    const unused = unusedVolumes(world, backend);
    const makers: readonly (() => Promise<Planted | undefined>)[] = [
      () => leakedVolume(world, backend, random),
      () => foreignVolume(backend, random, 'pvc'),
      () => foreignVolume(backend, random, 'elsewhere'),
      () => leakedSnapshot(world, backend, random),
      () => leakedGroup(world, backend, random),
      () => goneVolume(world, backend, random),
      () => vanishedVolume(world, backend, unused.pop()),
      () => leakedAttachment(world, backend, unused.pop()),
      () => staleAttachment(world, backend, unused.at(-1)),
      () => stuckFinalizer(world, unused.pop()),
    ];
    for (const make of makers) {
      const isWanted = random.next() < SHARE;
      const plant = isWanted ? await make() : undefined;
      if (plant) plants.push({ ...plant, driver: backend.plan.name });
    }
  }
  return plants;
}

/** Bound, and neither used by a pod nor attached nor being deleted. */
function unusedVolumes(world: World, backend: StorageBackend): PersistentVolume[] {
  const { reader } = world.server;
  const used = new Set(
    [...reader.list(pods)].flatMap((pod) =>
      (pod.spec.volumes ?? []).map((each) => `${NAMESPACE}/${claimNameOf(pod, each)}`),
    ),
  );
  const attached = new Set(
    [...reader.list(volumeAttachments)].map(({ spec }) => spec.source.persistentVolumeName),
  );
  return [...reader.list(persistentVolumes)].filter(({ metadata, spec, status }) => {
    const claim = reader.get(persistentVolumeClaims, {
      name: spec.claimRef?.name ?? '',
      namespace: NAMESPACE,
    });
    const volume = backend.volumes.get(spec.csi?.volumeHandle ?? '');
    return (
      spec.csi?.driver === backend.plan.name &&
      status?.phase === 'Bound' &&
      metadata.deletionTimestamp === undefined &&
      claim !== undefined &&
      claim.metadata.deletionTimestamp === undefined &&
      !used.has(keyOf(claim)) &&
      !attached.has(metadata.name) &&
      volume !== undefined &&
      volume.attached.size + volume.lingering.size === 0
    );
  });
}

function addVolume(backend: StorageBackend, name: string, random: SeededRandom): string {
  const id = `${backend.plan.short}-planted-${random.suffix(6)}`;
  backend.volumes.set(id, {
    id,
    name,
    bytes: GIB,
    isShared: false,
    source: '',
    zone: backend.plan.topology ? 'a' : '',
    attached: new Set(),
    lingering: new Set(),
  });
  backend.changed('created', id, { name, bytes: GIB });
  return id;
}

function dropVolume(backend: StorageBackend, id: string): void {
  if (backend.volumes.delete(id)) backend.changed('deleted', id);
}

/** Made for a claim that is gone: only an event remembers it. */
async function leakedVolume(
  world: World,
  backend: StorageBackend,
  random: SeededRandom,
): Promise<Planted | undefined> {
  if (!backend.plan.lists) return undefined;
  const uid = random.uuid();
  const about = { kind: 'PersistentVolumeClaim', namespace: NAMESPACE, name: 'gone', uid };
  const at = new Date(world.clock.now()).toISOString();
  await world.admin.create(events, {
    metadata: { name: `gone.${random.suffix(8)}`, namespace: NAMESPACE },
    involvedObject: about,
    reason: 'Provisioning',
    type: 'Normal',
    firstTimestamp: at,
    lastTimestamp: at,
  });
  const id = addVolume(backend, `pvc-${uid}`, random);
  const classes = [...world.server.reader.list(storageClasses)].filter(
    ({ provisioner }) => provisioner === backend.plan.name,
  );
  const isKept = classes.length === 0 || classes.some(({ reclaimPolicy }) => reclaimPolicy === 'Retain');
  return {
    finding: `volume-leaked/${id}`,
    severity: isKept ? 'doubt' : 'leak',
    isActionable: !isKept,
    exists: () => backend.volumes.has(id),
    remove: async () => dropVolume(backend, id),
  };
}

/** Nothing shows that it is this cluster's. */
async function foreignVolume(
  backend: StorageBackend,
  random: SeededRandom,
  prefix: string,
): Promise<Planted | undefined> {
  if (!backend.plan.lists) return undefined;
  const id = addVolume(backend, `${prefix}-${random.uuid()}`, random);
  return {
    finding: `volume-leaked/${id}`,
    severity: 'doubt',
    isNameless: prefix !== 'pvc',
    isActionable: false,
    exists: () => backend.volumes.has(id),
    remove: async () => dropVolume(backend, id),
  };
}

/** IDs of the driver's volumes that have a PersistentVolume, which stays. */
function recorded(world: World, backend: StorageBackend): string[] {
  return [...world.server.reader.list(persistentVolumes)].flatMap(({ spec, metadata, status }) => {
    const id = spec.csi?.driver === backend.plan.name ? spec.csi.volumeHandle : undefined;
    const stays = status?.phase === 'Bound' && !metadata.deletionTimestamp;
    return id && backend.volumes.has(id) && stays ? [id] : [];
  });
}

function keepsSnapshots(world: World, backend: StorageBackend): boolean {
  return [...world.server.reader.list(volumeSnapshotClasses)].some(
    ({ driver, deletionPolicy }) => driver === backend.plan.name && deletionPolicy === 'Retain',
  );
}

async function leakedSnapshot(
  world: World,
  backend: StorageBackend,
  random: SeededRandom,
): Promise<Planted | undefined> {
  const [sourceVolumeId] = recorded(world, backend);
  if (!backend.plan.lists || !backend.plan.snapshots || sourceVolumeId === undefined) return undefined;
  const client = csiClient(Controller, backend.controller, CALL);
  const { snapshot } = await client.createSnapshot({ name: `snapshot-${random.uuid()}`, sourceVolumeId });
  const snapshotId = snapshot?.snapshotId ?? '';
  const isKept = keepsSnapshots(world, backend);
  return {
    finding: `snapshot-leaked/${snapshotId}`,
    severity: isKept ? 'doubt' : 'leak',
    isActionable: !isKept,
    exists: () => [...backend.snapshots.all].some(({ id }) => id === snapshotId),
    remove: async () => void (await client.deleteSnapshot({ snapshotId })),
  };
}

async function leakedGroup(
  world: World,
  backend: StorageBackend,
  random: SeededRandom,
): Promise<Planted | undefined> {
  const sourceVolumeIds = recorded(world, backend).slice(0, 2);
  const { plan } = backend;
  if (!plan.lists || plan.snapshots !== 'groups' || sourceVolumeIds.length === 0) return undefined;
  const client = csiClient(GroupController, backend.controller, CALL);
  const { groupSnapshot } = await client.createVolumeGroupSnapshot({
    name: `groupsnapshot-${random.uuid()}`,
    sourceVolumeIds,
  });
  const groupSnapshotId = groupSnapshot?.groupSnapshotId ?? '';
  const isKept = keepsSnapshots(world, backend);
  return {
    finding: `snapshot-leaked/group/${groupSnapshotId}`,
    severity: isKept ? 'doubt' : 'leak',
    isActionable: !isKept,
    exists: () => [...backend.snapshots.all].some(({ group }) => group === groupSnapshotId),
    remove: async () => void (await client.deleteVolumeGroupSnapshot({ groupSnapshotId })),
  };
}

/** The volume of a bound claim is gone: somebody has to look, nothing is done. */
async function vanishedVolume(
  world: World,
  backend: StorageBackend,
  volume: PersistentVolume | undefined,
): Promise<Planted | undefined> {
  if (!backend.plan.lists || volume === undefined) return undefined;
  // Its clock was set back since: it looks new.
  if (Date.parse(volume.metadata.creationTimestamp) > world.clock.now()) return undefined;
  dropVolume(backend, volume.spec.csi?.volumeHandle ?? '');
  const { name } = volume.metadata;
  return {
    finding: `volume-missing/${name}`,
    severity: 'leak',
    isActionable: false,
    exists: () => world.server.reader.get(persistentVolumes, { name }) !== undefined,
    remove: async () => {},
  };
}

async function leakedAttachment(
  world: World,
  backend: StorageBackend,
  volume: PersistentVolume | undefined,
): Promise<Planted | undefined> {
  const stored = backend.volumes.get(volume?.spec.csi?.volumeHandle ?? '');
  const [machine] = world.nodes.keys();
  if (!backend.plan.lists || !backend.plan.attaches || !stored || machine === undefined) return undefined;
  const nodeId = backend.nodeIdOf(machine);
  stored.attached.add(nodeId);
  backend.changed('attached', stored.id, { node: machine });
  return {
    finding: `attachment-leaked/${stored.id}@${nodeId}`,
    severity: 'leak',
    isActionable: true,
    exists: () => stored.attached.has(nodeId),
    remove: async () => {
      if (stored.attached.delete(nodeId)) backend.changed('detached', stored.id, { node: machine });
    },
  };
}

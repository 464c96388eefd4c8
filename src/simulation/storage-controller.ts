// The controller operations of a simulated driver: volumes are made, attached, grown and deleted.

import {
  type CreateVolumeRequest,
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from '../csi/generated/csi/v1/csi_pb.ts';
import type { ControllerOperations } from '../driver/driver.ts';
import { refuse } from '../driver/refuse.ts';
import {
  type BackendVolume,
  GIB,
  MOST_GIB,
  machineOf,
  type StorageBackend,
  ZONE_KEY,
} from './storage-backend.ts';

export function controllerOperations(backend: StorageBackend): ControllerOperations {
  const { plan } = backend;
  return {
    createVolume: async (request) => {
      const source = restoredFrom(request);
      await backend.work('CreateVolume', request.name, source === '' ? {} : { copyMs: plan.copyMs ?? 0 });
      const known = backend.byName(request.name);
      if (known) return described(known);
      if (source !== '') backend.snapshots.find(source);
      if (backend.isFull) throw refuse.resourceExhausted('no room left');
      const id = `${plan.short}-${backend.random.suffix(6)}`;
      const requisite = request.accessibilityRequirements?.preferred ?? [];
      const all = [...requisite, ...(request.accessibilityRequirements?.requisite ?? [])];
      const bytes = request.capacityRange?.requiredBytes ?? GIB;
      const volume: BackendVolume = {
        id,
        name: request.name,
        bytes,
        isShared: request.volumeCapabilities.some(isShared),
        source,
        zone: plan.topology ? (all[0]?.segments[ZONE_KEY] ?? 'a') : '',
        attached: new Set(),
        lingering: new Set(),
      };
      backend.volumes.set(id, volume);
      backend.changed('created', id, { name: request.name, bytes, source });
      return described(volume);
    },
    deleteVolume: async ({ volumeId }) => {
      await backend.work('DeleteVolume', volumeId);
      const volume = backend.volumes.get(volumeId);
      if (volume === undefined) return {};
      if (volume.attached.size + volume.lingering.size > 0) {
        throw refuse.failedPrecondition(`volume ${volumeId} is attached`);
      }
      backend.volumes.delete(volumeId);
      backend.changed('deleted', volumeId, { name: volume.name });
      return {};
    },
    ...(plan.expands && {
      controllerExpandVolume: async ({ volumeId, capacityRange }) => {
        await backend.work('ControllerExpandVolume', volumeId);
        const volume = backend.find(volumeId);
        const { requiredBytes } = capacityRange;
        if (requiredBytes > BigInt(MOST_GIB) * GIB) throw refuse.outOfRange('there is none so large');
        if (backend.isFull && requiredBytes > volume.bytes) throw refuse.resourceExhausted('no room left');
        if (requiredBytes > volume.bytes) {
          volume.bytes = requiredBytes;
          backend.changed('grown', volumeId, { bytes: requiredBytes });
        }
        return { capacityBytes: volume.bytes, nodeExpansionRequired: plan.expands === 'node' };
      },
    }),
    validateVolumeCapabilities: ({ volumeCapabilities }) => ({ confirmed: { volumeCapabilities } }),
    ...(plan.attaches && {
      controllerPublishVolume: async ({ volumeId, nodeId }) => {
        await backend.work('ControllerPublishVolume', volumeId);
        const volume = backend.find(volumeId);
        const machine = machineOf(nodeId);
        const isKnown = backend.hasNode(machine) && nodeId === backend.nodeIdOf(machine);
        if (!isKnown && !volume.attached.has(nodeId)) throw refuse.notFound(`node ${nodeId} does not exist`);
        const others = [...volume.attached, ...volume.lingering].filter((each) => each !== nodeId);
        if (others.length > 0 && !volume.isShared) {
          throw refuse.failedPrecondition(`volume ${volumeId} is attached to ${others.join(', ')}`);
        }
        if (backend.fullNodes.has(machine) && !volume.attached.has(nodeId) && !volume.lingering.has(nodeId))
          throw refuse.resourceExhausted(`node ${nodeId} has no room for another volume`);
        volume.lingering.delete(nodeId);
        if (!volume.attached.has(nodeId)) {
          volume.attached.add(nodeId);
          backend.changed('attached', volumeId, { node: machine });
        }
        return { publishContext: { device: `/dev/${volumeId}` } };
      },
      controllerUnpublishVolume: async ({ volumeId, nodeId }) => {
        await backend.work('ControllerUnpublishVolume', volumeId);
        const volume = backend.volumes.get(volumeId);
        if (!volume?.attached.delete(nodeId)) return {};
        const machine = machineOf(nodeId);
        if (!backend.isAttached(volumeId, machine)) backend.changed('detached', volumeId, { node: machine });
        if (backend.lieMs > 0) {
          volume.lingering.add(nodeId);
          backend.clock.setTimeout(() => volume.lingering.delete(nodeId), backend.lieMs);
        }
        return {};
      },
    }),
    ...(plan.lists && {
      listVolumes: async () => {
        const entries = [...backend.volumes.values()].map((volume) => ({
          volume: {
            volumeId: volume.id,
            capacityBytes: volume.bytes,
            volumeContext: { name: volume.name },
          },
          status: { publishedNodeIds: [...volume.attached].sort() },
        }));
        return { entries };
      },
    }),
  };
}

function described(volume: BackendVolume) {
  return {
    volume: {
      volumeId: volume.id,
      capacityBytes: volume.bytes,
      volumeContext: { name: volume.name },
      ...(volume.source && {
        contentSource: { type: { case: 'snapshot' as const, value: { snapshotId: volume.source } } },
      }),
      ...(volume.zone !== '' && { accessibleTopology: [{ segments: { [ZONE_KEY]: volume.zone } }] }),
    },
  };
}

function isShared({ accessMode }: VolumeCapability): boolean {
  const mode = accessMode?.mode ?? Mode.UNKNOWN;
  return (
    mode === Mode.MULTI_NODE_MULTI_WRITER ||
    mode === Mode.MULTI_NODE_READER_ONLY ||
    mode === Mode.MULTI_NODE_SINGLE_WRITER
  );
}

/** The ID of the snapshot that a volume is to be made from; empty if from none. */
function restoredFrom({ volumeContentSource }: Pick<CreateVolumeRequest, 'volumeContentSource'>): string {
  const { type } = volumeContentSource ?? {};
  return type?.case === 'snapshot' ? type.value.snapshotId : '';
}

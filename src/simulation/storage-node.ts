// The node operations of a simulated driver: volumes are staged, published and expanded on one machine.

import { dirname } from 'node:path';
import type { NodeOperations } from '../driver/driver.ts';
import { refuse } from '../driver/refuse.ts';
import type { NodeStorage, StorageBackend } from './storage-backend.ts';

export function nodeOperations(backend: StorageBackend, node: NodeStorage): NodeOperations {
  const { plan } = backend;
  const isAttached = (volumeId: string): boolean => !plan.attaches || backend.isAttached(volumeId, node.name);
  return {
    nodeGetInfo: () => ({
      nodeId: backend.nodeIdOf(node.name),
      maxVolumesPerNode: BigInt(backend.maxVolumes),
      ...(plan.topology && { accessibleTopology: { segments: backend.segmentsIn(node.zone) } }),
    }),
    ...(plan.stages && {
      nodeStageVolume: async (request) => {
        const { volumeId, stagingTargetPath } = request;
        await backend.work('NodeStageVolume', volumeId);
        backend.find(volumeId);
        if (!isAttached(volumeId)) throw refuse.failedPrecondition(`volume ${volumeId} is not attached here`);
        if (node.staged.has(volumeId)) return {};
        await node.mounter.mount({ source: `/dev/${volumeId}`, target: stagingTargetPath, fsType: 'ext4' });
        node.staged.set(volumeId, stagingTargetPath);
        backend.changed('staged', volumeId, { node: node.name, path: stagingTargetPath });
        return {};
      },
      nodeUnstageVolume: async ({ volumeId, stagingTargetPath }) => {
        await backend.work('NodeUnstageVolume', volumeId);
        if (!node.staged.delete(volumeId)) return {};
        await node.mounter.unmount(stagingTargetPath);
        backend.changed('unstaged', volumeId, { node: node.name, path: stagingTargetPath });
        return {};
      },
    }),
    nodePublishVolume: async (request) => {
      const { volumeId, targetPath, stagingTargetPath, volumeContext, readonly } = request;
      await backend.work('NodePublishVolume', volumeId);
      const isEphemeral = volumeContext['csi.storage.k8s.io/ephemeral'] === 'true';
      if (!isEphemeral) backend.find(volumeId);
      if (!isEphemeral && plan.stages && !node.staged.has(volumeId)) {
        throw refuse.failedPrecondition(`volume ${volumeId} is not staged here`);
      }
      if (!isEphemeral && !isAttached(volumeId)) {
        throw refuse.failedPrecondition(`volume ${volumeId} is not attached here`);
      }
      if (node.published.has(targetPath)) return {};
      await node.files.makeDirectory(dirname(targetPath));
      if (request.volumeCapability?.accessType.case === 'block') await node.files.writeRecord(targetPath, '');
      else await node.files.makeDirectory(targetPath);
      await node.mounter.bind(stagingTargetPath || `/dev/${volumeId}`, targetPath, { readOnly: readonly });
      node.published.set(targetPath, volumeId);
      const where = { node: node.name, path: targetPath, isReadOnly: readonly };
      backend.changed('published', volumeId, where);
      return {};
    },
    ...(plan.expands === 'node' && {
      nodeExpandVolume: async ({ volumeId, volumePath }) => {
        await backend.work('NodeExpandVolume', volumeId);
        const volume = backend.find(volumeId);
        if (node.published.get(volumePath) !== volumeId)
          throw refuse.notFound(`volume ${volumeId} is not published at ${volumePath}`);
        backend.changed('expanded', volumeId, { node: node.name, bytes: volume.bytes });
        return { capacityBytes: volume.bytes };
      },
    }),
    nodeUnpublishVolume: async ({ volumeId, targetPath }) => {
      await backend.work('NodeUnpublishVolume', volumeId);
      if (node.published.delete(targetPath)) {
        await node.mounter.unmount(targetPath);
        backend.changed('unpublished', volumeId, { node: node.name, path: targetPath });
      }
      if ((await node.files.kindOf(targetPath)) === 'file') await node.files.removeEmptyFile(targetPath);
      else await node.files.removeDirectory(targetPath);
      return {};
    },
  };
}

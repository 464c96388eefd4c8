// ControllerPublishVolume and ControllerUnpublishVolume: only record which volume is attached to which node, in place
// of a real attach. One transaction each, so there is nothing to recover.

import type { VolumeCapability_AccessMode_Mode as Mode } from '../../../csi/index.ts';
import type { NodeId, VolumeHandle } from '../../../csi/names/driver-name.ts';
import { accessModeName } from '../../capabilities.ts';
import type { ControllerOperations } from '../../driver.ts';
import { refuse } from '../../refuse.ts';
import { checkSecrets, existingVolume, type HostpathCore } from '../core.ts';
import { type AttachmentRecord, type NodeRecord, recordKey, type VolumeRecord } from '../state/records.ts';
import { contains, spelling } from './placement.ts';
import { isReaderOnly, isSingleNode, unusable } from './plan-volume.ts';

export function publishOperations(core: HostpathCore) {
  const { records, store } = core;

  const controllerPublishVolume: ControllerOperations['controllerPublishVolume'] = (request) => {
    checkSecrets(core, request.secrets);
    const { volumeId, nodeId, volumeCapability } = request;
    const wanted: AttachmentRecord = {
      volumeId,
      nodeId,
      readOnly: request.readonly || isReaderOnly(modeOf(volumeCapability)),
      accessMode: modeOf(volumeCapability),
      accessType: volumeCapability.accessType.case === 'block' ? 'block' : 'mount',
    };
    store.transaction(() => {
      const volume = existingVolume(core, volumeId);
      const node = records.nodes.get(nodeId);
      if (node === undefined) throw refuse.notFound(`node ${nodeId} is not known to the driver`);
      const problem = unusable(volume, volumeCapability);
      if (problem !== undefined) throw refuse.invalidArgument(problem);
      const attachments = records.attachments.findAll('volume', volumeId).map(({ record }) => record);
      const here = attachments.find((attachment) => attachment.nodeId === nodeId);
      if (here !== undefined) return checkSame(here, wanted);
      checkPlace(volume, node);
      checkOthers(wanted, attachments);
      checkLimit(node, records.attachments.findAll('node', nodeId).length);
      records.attachments.put(recordKey(volumeId, nodeId), wanted);
    });
    return { publishContext: { node: nodeId, readonly: String(wanted.readOnly) } };
  };

  const controllerUnpublishVolume: ControllerOperations['controllerUnpublishVolume'] = (request) => {
    checkSecrets(core, request.secrets);
    const { volumeId, nodeId } = request;
    store.transaction(() => {
      if (nodeId !== '') return records.attachments.delete(recordKey(volumeId, nodeId));
      // An empty node ID means all nodes.
      for (const { key } of records.attachments.findAll('volume', volumeId)) records.attachments.delete(key);
    });
    return {};
  };

  return core.can.attach ? { controllerPublishVolume, controllerUnpublishVolume } : {};
}

/** With `attach`, a volume must be published to the node before it is used there. */
export function requireAttached(
  core: HostpathCore,
  volumeId: VolumeHandle,
  nodeId: NodeId,
): AttachmentRecord | undefined {
  if (!core.can.attach) return undefined;
  const attachment = core.records.attachments.get(recordKey(volumeId, nodeId));
  if (attachment === undefined) {
    throw refuse.failedPrecondition(
      `volume ${volumeId} is not published to node ${nodeId}; call ControllerPublishVolume first`,
    );
  }
  return attachment;
}

function modeOf(capability: { accessMode?: { mode: Mode } | undefined }): Mode {
  return capability.accessMode?.mode ?? 0;
}

function checkSame(existing: AttachmentRecord, wanted: AttachmentRecord): void {
  if (existing.readOnly === wanted.readOnly && existing.accessMode === wanted.accessMode) return;
  throw refuse.alreadyExists(
    `volume ${wanted.volumeId} is published to node ${wanted.nodeId} as ${describe(existing)}, not as ${describe(wanted)}; unpublish it first`,
  );
}

function describe({ accessMode, readOnly }: AttachmentRecord): string {
  return `${accessModeName(accessMode as Mode)}${readOnly ? ', read-only' : ''}`;
}

function checkPlace(volume: VolumeRecord, node: NodeRecord): void {
  if (volume.topology === undefined || contains(node.topology, volume.topology)) return;
  throw refuse.failedPrecondition(
    `volume ${volume.id} is in ${spelling(volume.topology)}, node ${node.nodeId} in ${spelling(node.topology)}`,
  );
}

function checkOthers(wanted: AttachmentRecord, others: readonly AttachmentRecord[]): void {
  const conflict = others.find(
    (other) =>
      isSingleNode(other.accessMode as Mode) ||
      isSingleNode(wanted.accessMode as Mode) ||
      (isSingleWriter(wanted) && !other.readOnly && !wanted.readOnly),
  );
  if (conflict !== undefined) {
    throw refuse.failedPrecondition(
      `volume ${wanted.volumeId} is published to node ${conflict.nodeId} as ${describe(conflict)}; unpublish it there first`,
    );
  }
}

function isSingleWriter({ accessMode }: AttachmentRecord): boolean {
  return accessModeName(accessMode as Mode) === 'MULTI_NODE_SINGLE_WRITER';
}

function checkLimit(node: NodeRecord, count: number): void {
  if (node.maxVolumesPerNode > 0 && count >= node.maxVolumesPerNode) {
    throw refuse.resourceExhausted(
      `node ${node.nodeId} has ${count} volumes, its limit is ${node.maxVolumesPerNode}; unpublish one first`,
    );
  }
}

// For each operation: the checks of its request, made before the driver sees it, and the keys that it locks while it
// runs. An operation without a row needs neither.

import {
  type Check,
  capacityRange,
  contentSource,
  identifier,
  identifiers,
  location,
  maxEntries,
  maxResults,
  mutableParameters,
  name,
  nodeId,
  nodeVolumeCapability,
  optionalIdentifier,
  optionalVolumeCapability,
  path,
  type RequestFields,
  readOnlyPublish,
  startingOffset,
  supportedVolumeCapabilities,
  volumeCapabilities,
  volumeCapability,
} from './field-checks.ts';

export interface OperationRule {
  readonly checks: readonly Check[];
  /** Keys to lock while the operation runs. */
  readonly locks?: (request: RequestFields) => string[];
}

const volume = (request: RequestFields) => [`volume ${request.volumeId}`];
const volumeName = (request: RequestFields) => [`volume name ${request.name}`];
const snapshot = (request: RequestFields) => [`snapshot ${request.snapshotId}`];
const snapshotName = (request: RequestFields) => [`snapshot name ${request.name}`];
const groupSnapshot = (request: RequestFields) => [`group snapshot ${request.groupSnapshotId}`];
const groupSnapshotName = (request: RequestFields) => [`group snapshot name ${request.name}`];

const volumeId = identifier('volumeId');

export const operationRules: Readonly<Record<string, OperationRule>> = {
  createVolume: {
    checks: [name, supportedVolumeCapabilities, capacityRange(), contentSource, mutableParameters],
    locks: volumeName,
  },
  deleteVolume: { checks: [volumeId], locks: volume },
  controllerPublishVolume: { checks: [volumeId, nodeId, volumeCapability, readOnlyPublish], locks: volume },
  controllerUnpublishVolume: { checks: [volumeId, optionalIdentifier('nodeId', 256)], locks: volume },
  validateVolumeCapabilities: { checks: [volumeId, volumeCapabilities] },
  listVolumes: { checks: [maxEntries] },
  controllerGetVolume: { checks: [volumeId] },
  controllerModifyVolume: { checks: [volumeId], locks: volume },
  controllerExpandVolume: {
    checks: [volumeId, capacityRange({ required: true }), optionalVolumeCapability],
    locks: volume,
  },
  createSnapshot: { checks: [name, identifier('sourceVolumeId')], locks: snapshotName },
  deleteSnapshot: { checks: [identifier('snapshotId')], locks: snapshot },
  listSnapshots: { checks: [maxEntries] },
  getSnapshot: { checks: [identifier('snapshotId')] },
  createVolumeGroupSnapshot: {
    checks: [name, identifiers('sourceVolumeIds', { atLeastOne: true })],
    locks: groupSnapshotName,
  },
  deleteVolumeGroupSnapshot: {
    checks: [identifier('groupSnapshotId'), identifiers('snapshotIds')],
    locks: groupSnapshot,
  },
  getVolumeGroupSnapshot: { checks: [identifier('groupSnapshotId'), identifiers('snapshotIds')] },
  getMetadataAllocated: { checks: [identifier('snapshotId'), startingOffset, maxResults] },
  getMetadataDelta: {
    checks: [identifier('baseSnapshotId'), identifier('targetSnapshotId'), startingOffset, maxResults],
  },
  nodeStageVolume: { checks: [volumeId, path('stagingTargetPath'), nodeVolumeCapability], locks: volume },
  nodeUnstageVolume: { checks: [volumeId, path('stagingTargetPath')], locks: volume },
  nodePublishVolume: {
    checks: [
      volumeId,
      path('targetPath'),
      nodeVolumeCapability,
      path('stagingTargetPath', { optional: true }),
    ],
    locks: volume,
  },
  nodeUnpublishVolume: { checks: [volumeId, path('targetPath')], locks: volume },
  nodeGetVolumeStats: {
    checks: [volumeId, location('volumePath'), path('stagingTargetPath', { optional: true })],
  },
  nodeExpandVolume: {
    checks: [
      volumeId,
      location('volumePath'),
      capacityRange(),
      optionalVolumeCapability,
      path('stagingTargetPath', { optional: true }),
    ],
    locks: volume,
  },
};

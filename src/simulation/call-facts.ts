// The part of a CSI request that the history keeps.

import type { DescMethodUnary, Message } from '../wire/protobuf/descriptor.ts';
import type { CallFacts } from './history.ts';
import { machineOf } from './storage-backend.ts';

/** Calls whose other fields are kept, too: they must not change from one attempt to the next. */
const SHOWN = new Set([
  'CreateVolume',
  'ControllerExpandVolume',
  'CreateSnapshot',
  'CreateVolumeGroupSnapshot',
]);

interface Fields {
  name?: string;
  volumeId?: string;
  nodeId?: string;
  targetPath?: string;
  stagingTargetPath?: string;
  secrets?: Record<string, string>;
  snapshotId?: string;
  groupSnapshotId?: string;
  sourceVolumeId?: string;
  sourceVolumeIds?: readonly string[];
  volumeContentSource?: { type: { case?: string; value?: { snapshotId?: string } } };
}

const NONE: readonly string[] = [];

export function callFacts(
  method: DescMethodUnary,
  request: Message,
  driver: string,
  node: string,
): CallFacts {
  const { name, volumeId, nodeId, targetPath, stagingTargetPath, secrets, ...rest } = request as Message &
    Fields;
  const { snapshotId, groupSnapshotId, sourceVolumeId, sourceVolumeIds } = rest;
  const restored = rest.volumeContentSource?.type.value?.snapshotId;
  return {
    method: method.name,
    driver,
    volume: volumeId ?? name ?? snapshotId ?? groupSnapshotId ?? '',
    node: nodeId === undefined ? node : machineOf(nodeId),
    path: targetPath ?? '',
    staging: stagingTargetPath ?? '',
    secrets: Object.values(secrets ?? {}),
    rest: SHOWN.has(method.name) ? canonical(rest) : '',
    sources: sourceVolumeIds ?? (sourceVolumeId ? [sourceVolumeId] : restored ? [restored] : NONE),
  };
}

/** Canonical text: equal for equal requests. Without topology, which may change between attempts with the nodes. */
function canonical(value: object): string {
  const skipped = new Set(['$typeName', '$unknown', 'accessibilityRequirements']);
  return JSON.stringify(value, (key, each: unknown) => {
    if (skipped.has(key)) return undefined;
    if (typeof each === 'bigint') return String(each);
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

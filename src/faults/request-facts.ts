// What a request is about, for selecting faults: volumes, snapshots and the node. Never a secret.

import type { FaultableCall } from './fault.ts';

const VOLUMES = [
  'name',
  'volumeId',
  'snapshotId',
  'baseSnapshotId',
  'targetSnapshotId',
  'groupSnapshotId',
  'sourceVolumeId',
] as const;

/** `node` is the one that the call comes from, if it comes from one. */
export function requestFacts(
  request: object | undefined,
  node: string | undefined,
): Pick<FaultableCall, 'volumes' | 'nodes'> {
  const fields = (request ?? {}) as Readonly<Record<string, unknown>>;
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const sources = Array.isArray(fields.sourceVolumeIds) ? fields.sourceVolumeIds : [];
  return {
    volumes: [...VOLUMES.map((field) => fields[field]), ...sources].filter(isText),
    nodes: [node, fields.nodeId].filter(isText),
  };
}

// The records of hostpath. Each is written before the first side effect it describes and removed after the last is
// undone, so everything that a crash leaves behind has a record for recovery.

import type {
  GroupSnapshotHandle,
  NodeId,
  SnapshotHandle,
  VolumeHandle,
} from '../../../csi/names/driver-name.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { Backing } from '../options.ts';

/** `creating` and `deleting` are completed or rolled back by the next call, or at start-up. */
export type RecordState = 'creating' | 'ready' | 'deleting';

export interface VolumeRecord {
  id: VolumeHandle;
  name: string;
  state: RecordState;
  backing: Backing;
  sizeBytes: bigint;
  /** Filesystem of an image that is not raw. */
  fsType?: string;
  accessType: 'mount' | 'block';
  source?: VolumeSource;
  topology?: Record<string, string>;
  mutableParameters: Record<string, string>;
  /** The node whose pod an inline volume belongs to. */
  ephemeralOn?: NodeId;
  /** A format was begun: the content of the device is not user data. */
  formatting?: boolean;
  /** The filesystem is smaller than its device: restored or cloned into a larger volume, or expanded. */
  growBeforeUse?: boolean;
}

export type VolumeSource = { snapshotId: SnapshotHandle } | { volumeId: VolumeHandle };

export interface SnapshotRecord {
  id: SnapshotHandle;
  name: string;
  state: RecordState;
  sourceVolumeId: VolumeHandle;
  backing: Backing;
  accessType: 'mount' | 'block';
  fsType?: string;
  sizeBytes: bigint;
  /** Milliseconds since the epoch. */
  createdAt: number;
  groupSnapshotId?: GroupSnapshotHandle;
}

export interface GroupSnapshotRecord {
  id: GroupSnapshotHandle;
  name: string;
  state: RecordState;
  sourceVolumeIds: VolumeHandle[];
  snapshotIds: SnapshotHandle[];
  createdAt: number;
}

export interface NodeRecord {
  nodeId: NodeId;
  topology: Record<string, string>;
  maxVolumesPerNode: number;
}

/** A volume published to a node by the controller. Key: volume and node. */
export interface AttachmentRecord {
  volumeId: VolumeHandle;
  nodeId: NodeId;
  readOnly: boolean;
  accessMode: number;
  accessType: 'mount' | 'block';
}

/** A volume staged on a node. Key: node and volume. */
export interface StagingRecord {
  nodeId: NodeId;
  volumeId: VolumeHandle;
  path: string;
  accessType: 'mount' | 'block';
  accessMode: number;
  mountFlags: string[];
  /** False until staging is complete. */
  done: boolean;
}

/** A volume published at a path of a node. Key: node and path. */
export interface TargetRecord {
  nodeId: NodeId;
  volumeId: VolumeHandle;
  path: string;
  readOnly: boolean;
  accessType: 'mount' | 'block';
  accessMode: number;
  done: boolean;
}

export function openRecords(store: StateStore) {
  return {
    volumes: store.collection<VolumeRecord>('volumes', {
      indexes: {
        name: { of: (volume) => volume.name, unique: true },
      },
    }),
    snapshots: store.collection<SnapshotRecord>('snapshots', {
      indexes: {
        name: { of: (snapshot) => snapshot.name, unique: true },
        group: { of: (snapshot) => snapshot.groupSnapshotId },
        volume: { of: (snapshot) => snapshot.sourceVolumeId },
      },
    }),
    groups: store.collection<GroupSnapshotRecord>('groupSnapshots', {
      indexes: { name: { of: (group) => group.name, unique: true } },
    }),
    nodes: store.collection<NodeRecord>('nodes'),
    attachments: store.collection<AttachmentRecord>('attachments', {
      indexes: { volume: { of: ({ volumeId }) => volumeId }, node: { of: ({ nodeId }) => nodeId } },
    }),
    stagings: store.collection<StagingRecord>('stagings', {
      indexes: { volume: { of: ({ volumeId }) => volumeId } },
    }),
    targets: store.collection<TargetRecord>('targets', {
      indexes: {
        volume: { of: ({ volumeId }) => volumeId },
        volumeOnNode: { of: (target) => recordKey(target.nodeId, target.volumeId) },
      },
    }),
  };
}

export type Records = ReturnType<typeof openRecords>;

/** A composite key; no part can contain the separator, since fields with control characters are rejected. */
export function recordKey(first: string, second: string): string {
  return `${first}\n${second}`;
}

/** Up to `limit` records that pass the filter, in key order, reading on as long as some do not pass. */
export function readPassing<T>(
  source: (page: { after: string; limit: number }) => { key: string; record: T }[],
  passes: (record: T) => boolean,
  { after, limit }: { after: string; limit: number },
): T[] {
  const passing: T[] = [];
  for (let last = after; passing.length < limit; ) {
    const page = source({ after: last, limit });
    for (const { record } of page) if (passes(record)) passing.push(record);
    if (page.length < limit) break;
    last = page.at(-1)?.key ?? last;
  }
  return passing.slice(0, limit);
}

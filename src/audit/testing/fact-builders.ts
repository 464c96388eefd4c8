// Facts for tables of tests: a driver with volumes, and a cluster that knows some of them.

import type {
  AttachmentRow,
  AuditFacts,
  ClaimRow,
  ClusterFacts,
  ContentRow,
  ObjectRow,
  StorageFacts,
  StorageSnapshot,
  StorageVolume,
  VolumeRow,
} from '../facts.ts';

export const NOW_MS = Date.UTC(2026, 0, 2);
export const OLD_MS = NOW_MS - 24 * 3_600_000;
export const DRIVER = 'd.csi.test';

const row = (key: string): ObjectRow => ({ key, uid: `uid-of-${key}`, createdMs: OLD_MS, finalizers: [] });

export const stored = (id: string, more: Partial<StorageVolume> = {}): StorageVolume => ({
  id,
  bytes: 1n << 30n,
  publishedOn: [],
  context: {},
  ...more,
});

export const cut = (id: string, source: string, more: Partial<StorageSnapshot> = {}): StorageSnapshot => ({
  id,
  source,
  bytes: 1n << 30n,
  createdMs: OLD_MS,
  group: '',
  ...more,
});

export const volume = (key: string, handle: string, more: Partial<VolumeRow> = {}): VolumeRow => ({
  ...row(key),
  handle,
  phase: 'Bound',
  policy: 'Delete',
  bytes: 1n << 30n,
  claim: `default/${key}`,
  claimUid: `uid-of-default/${key}`,
  className: 'fast',
  clusterMarks: {},
  ...more,
});

export const claim = (key: string, more: Partial<ClaimRow> = {}): ClaimRow => ({
  ...row(key),
  phase: 'Bound',
  volumeName: key.replace(/^.*\//, ''),
  provisioner: DRIVER,
  sourceClaim: '',
  sourceSnapshot: '',
  ...more,
});

export const attachment = (key: string, more: Partial<AttachmentRow> = {}): AttachmentRow => ({
  ...row(key),
  nodeName: 'n1',
  nodeId: 'id-1',
  volumeName: 'pv-1',
  handle: 'vol-1',
  isAttached: true,
  ...more,
});

export const content = (key: string, handle: string, more: Partial<ContentRow> = {}): ContentRow => ({
  ...row(key),
  handle,
  source: 'vol-1',
  policy: 'Delete',
  snapshot: 'default/snap',
  snapshotUid: 'uid-of-default/snap',
  isBeingCreated: false,
  isBeingDeleted: false,
  isOfGroup: false,
  ...more,
});

/** A cluster with one volume, vol-1, bound to claim default/pv-1 and attached to node n1. */
export function facts(storage: Partial<StorageFacts> = {}, cluster: Partial<ClusterFacts> = {}): AuditFacts {
  return {
    nowMs: NOW_MS,
    storage: {
      driver: DRIVER,
      can: new Set(['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES', 'LIST_SNAPSHOTS']),
      volumes: listed(stored('vol-1', { publishedOn: ['id-1'] })),
      snapshots: new Map(),
      limits: [],
      problems: [],
      ...storage,
    },
    cluster: {
      cluster: 'c',
      otherSources: [],
      volumes: [volume('pv-1', 'vol-1')],
      claims: [claim('default/pv-1')],
      attachments: [attachment('va-1')],
      nodes: [{ name: 'n1', nodeId: 'id-1', inUse: new Set(['vol-1']) }],
      pods: [{ key: 'default/web', nodeName: 'n1', claims: ['default/pv-1'], handles: [] }],
      classes: [{ name: 'fast', policy: 'Delete', clusterMarks: {} }],
      attachRequired: true,
      contents: [],
      groupContents: [],
      snapshots: [],
      groupSnapshots: [],
      snapshotClasses: [{ name: 'snap', policy: 'Delete', clusterMarks: {} }],
      intents: [],
      events: [],
      unread: [],
      ...cluster,
    },
  };
}

export const listed = <T extends { id: string }>(...all: readonly T[]): Map<string, T> =>
  new Map(all.map((each) => [each.id, each]));

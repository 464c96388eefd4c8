// Lookups in the facts of one look. Pure.

import type {
  AttachmentRow,
  AuditFacts,
  ClaimRow,
  ContentRow,
  GroupContentRow,
  NodeRow,
  ObjectRow,
  PodRow,
  VolumeRow,
} from '../facts.ts';

export interface FactIndex extends AuditFacts {
  readonly volumesByHandle: ReadonlyMap<string, VolumeRow>;
  readonly volumesByName: ReadonlyMap<string, VolumeRow>;
  readonly claimsByKey: ReadonlyMap<string, ClaimRow>;
  readonly claimsByUid: ReadonlyMap<string, ClaimRow>;
  readonly nodesByName: ReadonlyMap<string, NodeRow>;
  readonly nodesById: ReadonlyMap<string, NodeRow>;
  readonly podsByClaim: ReadonlyMap<string, readonly PodRow[]>;
  readonly podsByHandle: ReadonlyMap<string, readonly PodRow[]>;
  readonly attachmentsByVolume: ReadonlyMap<string, readonly AttachmentRow[]>;
  /** Handles that attachments name themselves. */
  readonly attachedHandles: ReadonlySet<string>;
  /** By handle and node ID. */
  readonly attachmentsBySlot: ReadonlyMap<string, readonly AttachmentRow[]>;
  readonly contentsByHandle: ReadonlyMap<string, ContentRow>;
  readonly groupsByHandle: ReadonlyMap<string, GroupContentRow>;
  /** Snapshots that a group content names. */
  readonly groupsByMember: ReadonlyMap<string, GroupContentRow>;
  /** Of claims, snapshots and groups, also of some that are gone. */
  readonly knownUids: ReadonlySet<string>;
}

export const slotOf = (handle: string, nodeId: string): string => `${nodeId}\0${handle}`;

export function indexFacts(facts: AuditFacts): FactIndex {
  const { cluster } = facts;
  const { contents = [], groupContents = [], snapshots = [], groupSnapshots = [] } = cluster;
  const volumesByName = byKey(cluster.volumes);
  const nodesByName = new Map(cluster.nodes.map((node) => [node.name, node]));
  const index = {
    ...facts,
    volumesByName,
    nodesByName,
    volumesByHandle: new Map(cluster.volumes.map((volume) => [volume.handle, volume])),
    claimsByKey: byKey(cluster.claims),
    claimsByUid: new Map(cluster.claims.map((claim) => [claim.uid, claim])),
    nodesById: new Map(cluster.nodes.flatMap((node) => (node.nodeId ? [[node.nodeId, node]] : []))),
    podsByClaim: grouped(cluster.pods, ({ claims }) => claims),
    podsByHandle: grouped(cluster.pods, ({ handles }) => handles),
    attachmentsByVolume: grouped(cluster.attachments, ({ volumeName }) => (volumeName ? [volumeName] : [])),
    attachedHandles: new Set(cluster.attachments.map(({ handle }) => handle)),
    contentsByHandle: new Map(contents.flatMap((each) => (each.handle ? [[each.handle, each]] : []))),
    groupsByHandle: new Map(groupContents.flatMap((each) => (each.handle ? [[each.handle, each]] : []))),
    groupsByMember: new Map(groupContents.flatMap((each) => each.members.map((member) => [member, each]))),
    knownUids: new Set([
      ...cluster.claims.map(({ uid }) => uid),
      ...cluster.volumes.map(({ claimUid }) => claimUid),
      ...cluster.intents.map(({ uid }) => uid),
      ...cluster.events.map(({ uid }) => uid),
      ...[...snapshots, ...groupSnapshots].map(({ uid }) => uid),
      ...contents.map(({ snapshotUid }) => snapshotUid),
      ...groupContents.map(({ groupUid }) => groupUid),
    ]),
  } as Omit<FactIndex, 'attachmentsBySlot'>;
  return {
    ...index,
    attachmentsBySlot: grouped(cluster.attachments, (attachment) => {
      const handle = handleOf(index, attachment);
      // It may have been attached under an earlier ID of its node.
      const now = nodesByName.get(attachment.nodeName)?.nodeId ?? '';
      return [...new Set([attachment.nodeId, now])].filter(Boolean).map((nodeId) => slotOf(handle, nodeId));
    }),
  };
}

/** The volume that an attachment is of; empty where nobody knows. */
export function handleOf(
  { volumesByName }: Pick<FactIndex, 'volumesByName'>,
  { handle, volumeName }: AttachmentRow,
): string {
  return handle || (volumesByName.get(volumeName)?.handle ?? '');
}

/** Pods that use the volume, by a claim or by its handle. Optionally those on one node. */
export function usersOf(index: FactIndex, handle: string, nodeName?: string): PodRow[] {
  const claim = index.volumesByHandle.get(handle)?.claim ?? '';
  const pods = [...(index.podsByClaim.get(claim) ?? []), ...(index.podsByHandle.get(handle) ?? [])];
  return nodeName === undefined ? pods : pods.filter((pod) => pod.nodeName === nodeName);
}

const byKey = <T extends ObjectRow>(rows: readonly T[]): Map<string, T> =>
  new Map(rows.map((row) => [row.key, row]));

function grouped<T>(rows: readonly T[], keysOf: (row: T) => readonly string[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    for (const key of keysOf(row)) {
      const group = groups.get(key);
      if (group) group.push(row);
      else groups.set(key, [row]);
    }
  }
  return groups;
}

// Attachments that only the storage has, that only the cluster has, and VolumeAttachments of nodes or volumes that are gone.
// Pure.

import type { AttachmentRow, StorageVolume } from '../facts.ts';
import type { Finding } from '../finding.ts';
import { type FactIndex, handleOf, slotOf, usersOf } from './fact-index.ts';
import { mayBeInFlight } from './find-volumes.ts';
import type { JudgeOptions } from './options.ts';
import { volumeOwner } from './ownership.ts';
import { isYoung, targetOf } from './parts.ts';
import type { UnderWay } from './under-way.ts';

export function* findAttachments(
  index: FactIndex,
  underWay: readonly UnderWay[],
  options: JudgeOptions,
): Generator<Finding> {
  if (!index.cluster.attachRequired || index.cluster.unread.includes('volumeattachments')) return;
  for (const volume of index.storage.volumes?.values() ?? []) {
    for (const nodeId of volume.publishedOn ?? []) {
      if (index.attachmentsBySlot.has(slotOf(volume.id, nodeId))) continue;
      if (mayBeInFlight(index, volume, underWay, options)) continue;
      const finding = leaked(index, volume, nodeId, options);
      if (finding) yield finding;
    }
  }
  for (const attachment of index.cluster.attachments) {
    const finding = stale(index, attachment, options) ?? missing(index, attachment, options);
    if (finding) yield finding;
  }
}

/** Attached on the storage, without a VolumeAttachment. */
function leaked(
  index: FactIndex,
  volume: StorageVolume,
  nodeId: string,
  options: JudgeOptions,
): Finding | undefined {
  const known = index.volumesByHandle.get(volume.id);
  // A volume that nobody knows is reported as such, with its attachments as evidence, unless it is this cluster's.
  if (!known && volumeOwner(index, volume, options).owner !== 'ours') return undefined;
  const node = index.nodesById.get(nodeId);
  const users = usersOf(index, volume.id, node?.name ?? '');
  const base = {
    id: `attachment-leaked/${volume.id}@${nodeId}`,
    kind: 'attachment-leaked' as const,
    subject: `volume ${volume.id}`,
    says: `the driver lists it as attached to ${nodeId}, and no VolumeAttachment says so`,
    evidence: [
      known ? `it is PersistentVolume ${known.key}` : 'it has no PersistentVolume',
      node ? `${nodeId} is node ${node.name}` : `no node of this cluster has the ID ${nodeId}`,
      ...(users.length > 0 ? [`pods there use it: ${users.map(({ key }) => key).join(', ')}`] : []),
    ],
    fingerprint: [volume.id, nodeId, known?.uid ?? ''].join(' '),
  };
  const doubt = (advice: string): Finding => ({ ...base, severity: 'doubt', advice });
  if (!node && !options.isExclusive)
    return doubt(
      'it may be another cluster’s node: nothing is done; if the storage is this cluster’s alone, say --exclusive',
    );
  if (users.length > 0 || node?.inUse.has(volume.id))
    return {
      ...base,
      severity: 'leak',
      advice: `${node?.name} still uses it: nothing is done before it has let go`,
    };
  const secret = known?.publishSecret;
  return {
    ...base,
    severity: 'leak',
    action: { do: 'ControllerUnpublishVolume', volumeId: volume.id, nodeId, ...(secret && { secret }) },
  };
}

/** Of a node or a volume that is gone. One that is being deleted is judged by its finalizers. */
function stale(index: FactIndex, attachment: AttachmentRow, options: JudgeOptions): Finding | undefined {
  const { key, nodeName, volumeName, createdMs, deletedMs } = attachment;
  if (deletedMs !== undefined || isYoung(index, createdMs, options)) return undefined;
  const { unread } = index.cluster;
  const node = index.nodesByName.get(nodeName);
  const handle = handleOf(index, attachment);
  const gone = [
    ...(!node && !unread.includes('nodes') ? [`node ${nodeName} does not exist`] : []),
    ...(volumeName && !index.volumesByName.has(volumeName)
      ? [`PersistentVolume ${volumeName} does not exist`]
      : []),
    ...(handle && index.storage.volumes && !index.storage.volumes.has(handle)
      ? [`the driver does not list volume ${handle}`]
      : []),
  ];
  if (gone.length === 0) return undefined;
  const users = usersOf(index, handle, nodeName);
  const base = {
    id: `attachment-stale/${key}`,
    kind: 'attachment-stale' as const,
    severity: 'leak' as const,
    subject: `VolumeAttachment ${key}`,
    says: gone.join(', and '),
    evidence: [
      `volume ${handle || volumeName} on node ${nodeName}, ${attachment.isAttached ? 'attached' : 'not attached'}`,
      ...(users.length > 0 ? [`pods there use it: ${users.map((pod) => pod.key).join(', ')}`] : []),
    ],
    fingerprint: [attachment.uid, handle, ...gone].join(' '),
  };
  if (users.length > 0 || node?.inUse.has(handle))
    return {
      ...base,
      advice: `pods or node ${nodeName} still use it: nothing is done before they have let go`,
    };
  if (!handle && node && node.inUse.size > 0)
    return {
      ...base,
      advice: `its volume is unknown and may be one that node ${nodeName} uses: nothing is done before the node uses no volume of the driver`,
    };
  return { ...base, action: { do: 'delete-object', object: targetOf('volumeattachments', attachment) } };
}

/** The cluster says attached, the storage does not. */
function missing(index: FactIndex, attachment: AttachmentRow, options: JudgeOptions): Finding | undefined {
  const { key, nodeName, isAttached, deletedMs, createdMs } = attachment;
  if (!isAttached || deletedMs !== undefined || isYoung(index, createdMs, options)) return undefined;
  const handle = handleOf(index, attachment);
  const where = index.storage.volumes?.get(handle)?.publishedOn;
  const nodeId = attachment.nodeId || (index.nodesByName.get(nodeName)?.nodeId ?? '');
  if (where === undefined || nodeId === '' || where.includes(nodeId)) return undefined;
  return {
    id: `attachment-missing/${key}`,
    kind: 'attachment-missing',
    severity: 'leak',
    subject: `VolumeAttachment ${key}`,
    says: `it says that volume ${handle} is attached to ${nodeName}, and the driver does not`,
    evidence: [where.length > 0 ? `the driver lists ${where.join(', ')}` : 'the driver lists no node'],
    fingerprint: [attachment.uid, handle, ...where].join(' '),
    advice: 'the attacher publishes it again at its next comparison (--reconcile-sync); is it running?',
  };
}

// Objects that are being deleted and wait for a finalizer whose reason is gone. A finalizer whose reason still exists is its
// component's to remove, and is not reported. Pure.

import {
  attacherFinalizer,
  FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE,
  FINALIZER_CLONE_PROTECTION,
  FINALIZER_PROVISIONER,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
  FINALIZER_SNAPSHOT_AS_SOURCE,
  FINALIZER_SNAPSHOT_CONTENT,
  FINALIZER_SNAPSHOT_SOURCE_PROTECTION,
} from '../../api/well-known.ts';
import type { AttachmentRow, ClaimRow, ContentRow, ObjectRow, SnapshotRow, VolumeRow } from '../facts.ts';
import type { Finding } from '../finding.ts';
import { type FactIndex, handleOf } from './fact-index.ts';
import type { JudgeOptions } from './options.ts';
import { isYoung, targetOf } from './parts.ts';

/** A finalizer whose reason is gone, and how that is known. */
interface Idle {
  readonly finalizer: string;
  readonly why: string;
}

export function* findFinalizers(index: FactIndex, options: JudgeOptions): Generator<Finding> {
  const { cluster } = index;
  const rows: [
    kind: string,
    plural: string,
    rows: readonly ObjectRow[],
    idle: (row: never) => Iterable<Idle>,
  ][] = [
    ['PersistentVolume', 'persistentvolumes', cluster.volumes, (row: VolumeRow) => ofVolume(index, row)],
    [
      'PersistentVolumeClaim',
      'persistentvolumeclaims',
      cluster.claims,
      (row: ClaimRow) => ofClaim(index, row),
    ],
    [
      'VolumeAttachment',
      'volumeattachments',
      cluster.attachments,
      (row: AttachmentRow) => ofAttachment(index, row),
    ],
    [
      'VolumeSnapshotContent',
      'volumesnapshotcontents',
      cluster.contents ?? [],
      (row: ContentRow) => ofContent(index, row),
    ],
    [
      'VolumeSnapshot',
      'volumesnapshots',
      cluster.snapshots ?? [],
      (row: SnapshotRow) => ofSnapshot(index, row),
    ],
  ];
  for (const [kind, plural, objects, idleOf] of rows) {
    for (const row of objects) {
      if (row.deletedMs === undefined || isYoung(index, row.deletedMs, options)) continue;
      const idle = [...idleOf(row as never)].filter(({ finalizer }) => row.finalizers.includes(finalizer));
      // Another that is needed, or that nobody here knows, is what the deletion waits for.
      if (idle.length === 0 || idle.length < row.finalizers.length) continue;
      const finalizers = idle.map(({ finalizer }) => finalizer);
      yield {
        id: `finalizer-stuck/${plural}/${row.key}`,
        kind: 'finalizer-stuck',
        severity: 'leak',
        subject: `${kind} ${row.key}`,
        says: `its deletion waits for ${finalizers.join(' and ')}, which nothing needs any more`,
        evidence: idle.map(({ why }) => why),
        sinceMs: row.deletedMs,
        fingerprint: [row.uid, ...row.finalizers].join(' '),
        action: { do: 'remove-finalizers', object: targetOf(plural, row), finalizers },
      };
    }
  }
}

function* ofVolume(index: FactIndex, { key, handle, claim, claimUid, policy }: VolumeRow): Generator<Idle> {
  const { storage, cluster } = index;
  const listed = storage.volumes?.get(handle);
  const isAttached = index.attachmentsByVolume.has(key) || (listed?.publishedOn?.length ?? 0) > 0;
  if (policy === 'Delete' && storage.volumes && !listed)
    yield { finalizer: FINALIZER_PROVISIONER, why: `the driver does not list volume ${handle} any more` };
  if (
    !isAttached &&
    !cluster.unread.includes('volumeattachments') &&
    (!listed || listed.publishedOn !== undefined)
  )
    yield {
      finalizer: attacherFinalizer(storage.driver),
      why: 'no VolumeAttachment refers to it, and the driver lists no node',
    };
  const bound = index.claimsByKey.get(claim);
  if (bound === undefined || bound.uid !== claimUid || bound.volumeName !== key)
    yield { finalizer: FINALIZER_PV_PROTECTION, why: `no claim is bound to it` };
}

function* ofClaim(index: FactIndex, { key, provisioner, volumeName }: ClaimRow): Generator<Idle> {
  const { cluster, storage } = index;
  // Of this driver only.
  const isOurs = provisioner === storage.driver || index.volumesByName.has(volumeName);
  if (!isOurs || cluster.unread.includes('pods')) return;
  if (!index.podsByClaim.has(key)) yield { finalizer: FINALIZER_PVC_PROTECTION, why: 'no pod uses it' };
  if (!cluster.claims.some((each) => each.sourceClaim === key && each.phase === 'Pending'))
    yield { finalizer: FINALIZER_CLONE_PROTECTION, why: 'no claim is being cloned from it' };
  const handle = index.volumesByName.get(volumeName)?.handle;
  const isCut = [...(cluster.contents ?? []), ...(cluster.groupContents ?? [])].some(
    (each) =>
      each.handle === '' && ('source' in each ? each.source === handle : each.sources.includes(handle ?? '')),
  );
  if (!isCut && !cluster.unread.includes('volumesnapshotcontents'))
    yield { finalizer: FINALIZER_CLAIM_AS_SNAPSHOT_SOURCE, why: 'no snapshot of it is being cut' };
}

function* ofAttachment(index: FactIndex, attachment: AttachmentRow): Generator<Idle> {
  const { storage } = index;
  const handle = handleOf(index, attachment);
  const listed = storage.volumes?.get(handle);
  const nodeId = attachment.nodeId || (index.nodesByName.get(attachment.nodeName)?.nodeId ?? '');
  const finalizer = attacherFinalizer(storage.driver);
  if (storage.volumes === undefined || handle === '') return;
  if (!listed) yield { finalizer, why: `the driver does not list volume ${handle} any more` };
  else if (nodeId !== '' && listed.publishedOn && !listed.publishedOn.includes(nodeId))
    yield { finalizer, why: `the driver does not list volume ${handle} as attached to ${nodeId}` };
}

function* ofContent(index: FactIndex, { handle, isOfGroup, isBeingCreated }: ContentRow): Generator<Idle> {
  const { snapshots } = index.storage;
  if (snapshots === undefined || handle === '' || isBeingCreated || isOfGroup || snapshots.has(handle))
    return;
  yield {
    finalizer: FINALIZER_SNAPSHOT_CONTENT,
    why: `the driver does not list snapshot ${handle} any more`,
  };
}

function* ofSnapshot({ cluster }: FactIndex, { key, uid, content }: SnapshotRow): Generator<Idle> {
  const { contents } = cluster;
  // Of this driver only: without its content nobody can tell whose it is.
  if (contents === undefined) return;
  const bound = contents.find((each) => each.key === content || each.snapshotUid === uid);
  if (!bound || bound.handle === '') return;
  const isRestored = cluster.claims.some((each) => each.sourceSnapshot === key && each.phase === 'Pending');
  if (isRestored) return;
  const why = 'no claim is being restored from it';
  yield { finalizer: FINALIZER_SNAPSHOT_AS_SOURCE, why };
  yield { finalizer: FINALIZER_SNAPSHOT_SOURCE_PROTECTION, why };
}

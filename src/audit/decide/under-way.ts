// What is in flight for a driver: it may make, attach or delete something at any moment. Nothing is acted on meanwhile. Pure.

import { FINALIZER_PROVISIONING } from '../../api/well-known.ts';
import type { FactIndex } from './fact-index.ts';
import type { JudgeOptions } from './options.ts';

export interface UnderWay {
  /** `PersistentVolumeClaim default/data`, as findings name their subjects. */
  readonly subject: string;
  readonly what: string;
  /** Of the claim whose volume may appear without a PersistentVolume. */
  readonly claimUid?: string;
}

export function findUnderWay(index: FactIndex, options: JudgeOptions): UnderWay[] {
  return [...provisioning(index, options), ...deletion(index), ...attachment(index), ...snapshots(index)];
}

function* provisioning(index: FactIndex, { minAgeMs }: JudgeOptions): Generator<UnderWay> {
  const { cluster, storage, nowMs } = index;
  const claimed = new Set<string>();
  for (const { key, uid, phase, provisioner, finalizers, volumeName } of cluster.claims) {
    const isPending =
      phase === 'Pending' && provisioner === storage.driver && !index.volumesByName.has(volumeName);
    const isOpen = finalizers.includes(FINALIZER_PROVISIONING) && ['', storage.driver].includes(provisioner);
    if (!isPending && !isOpen) continue;
    claimed.add(uid);
    yield { subject: `PersistentVolumeClaim ${key}`, what: 'its volume is being made', claimUid: uid };
  }
  for (const { claim, uid } of cluster.intents) {
    if (claimed.has(uid)) continue;
    claimed.add(uid);
    yield {
      subject: `PersistentVolumeClaim ${claim}`,
      what: 'the provisioner has recorded a CreateVolume call for it',
      claimUid: uid,
    };
  }
  // A claim may be deleted while the official provisioner makes its volume; only the event tells.
  for (const { claim, uid, reason, atMs } of cluster.events) {
    const isOpen = reason === 'Provisioning' || reason === 'ProvisioningFailed';
    if (!isOpen || claimed.has(uid) || index.claimsByUid.has(uid) || nowMs - atMs >= minAgeMs) continue;
    yield {
      subject: `PersistentVolumeClaim ${claim}`,
      what: `it is gone, and its event ${reason} is not older than the minimum age`,
      claimUid: uid,
    };
  }
}

function* deletion({ cluster }: FactIndex): Generator<UnderWay> {
  for (const { key, deletedMs, phase, policy } of cluster.volumes) {
    const isReclaimed = policy === 'Delete' && (phase === 'Released' || phase === 'Failed');
    // One that a claim has is not deleted before its claim, however long that takes.
    if (isReclaimed || (deletedMs !== undefined && phase !== 'Bound'))
      yield { subject: `PersistentVolume ${key}`, what: 'it is being deleted' };
  }
}

function* attachment({ cluster }: FactIndex): Generator<UnderWay> {
  for (const { key, deletedMs, isAttached, nodeName } of cluster.attachments) {
    const subject = `VolumeAttachment ${key}`;
    if (deletedMs !== undefined) yield { subject, what: `its volume is being detached from ${nodeName}` };
    else if (!isAttached) yield { subject, what: `its volume is being attached to ${nodeName}` };
  }
}

function* snapshots({ cluster }: FactIndex): Generator<UnderWay> {
  const kinds = [
    ['VolumeSnapshotContent', cluster.contents ?? []],
    ['VolumeGroupSnapshotContent', cluster.groupContents ?? []],
  ] as const;
  for (const [kind, contents] of kinds) {
    for (const { key, handle, deletedMs, isBeingCreated, isBeingDeleted, policy } of contents) {
      const subject = `${kind} ${key}`;
      if (deletedMs !== undefined || (isBeingDeleted && policy === 'Delete'))
        yield { subject, what: 'it is being deleted' };
      else if (handle === '' || isBeingCreated) yield { subject, what: 'its snapshot is being cut' };
    }
  }
}

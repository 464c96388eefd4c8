// Volumes without a PersistentVolume, PersistentVolumes without a volume, and released volumes. Pure.

import type { ClassRow, StorageVolume, VolumeRow } from '../facts.ts';
import type { Finding } from '../finding.ts';
import { type FactIndex, usersOf } from './fact-index.ts';
import type { JudgeOptions } from './options.ts';
import { volumeOwner } from './ownership.ts';
import { isYoung, targetOf } from './parts.ts';
import type { UnderWay } from './under-way.ts';

export function* findVolumes(
  index: FactIndex,
  underWay: readonly UnderWay[],
  options: JudgeOptions,
): Generator<Finding> {
  for (const volume of index.storage.volumes?.values() ?? []) {
    if (isKnown(index, volume) || mayBeInFlight(index, volume, underWay, options)) continue;
    yield leaked(index, volume, options);
  }
  for (const volume of index.cluster.volumes) {
    if (index.storage.volumes && !index.storage.volumes.has(volume.handle)) {
      const finding = missing(index, volume, options);
      if (finding) yield finding;
    }
    if (volume.phase === 'Released' && volume.policy === 'Retain' && volume.deletedMs === undefined)
      yield released(volume);
  }
}

function isKnown(
  { volumesByHandle, podsByHandle, attachedHandles, cluster }: FactIndex,
  { id }: StorageVolume,
): boolean {
  if (volumesByHandle.has(id) || podsByHandle.has(id) || attachedHandles.has(id)) return true;
  return cluster.otherSources.some((text) => text.includes(id));
}

/** A volume without a name may be the one of any claim that is being provisioned. */
export function mayBeInFlight(
  index: FactIndex,
  volume: StorageVolume,
  underWay: readonly UnderWay[],
  options: JudgeOptions,
): boolean {
  const claims = underWay.flatMap(({ claimUid }) => claimUid ?? []);
  if (claims.length === 0) return false;
  const { uid, owner } = volumeOwner(index, volume, options);
  if (uid !== undefined) return claims.includes(uid);
  return owner !== 'theirs';
}

function leaked(index: FactIndex, volume: StorageVolume, options: JudgeOptions): Finding {
  const { id, bytes, publishedOn = [] } = volume;
  const { owner, why, uid } = volumeOwner(index, volume, options);
  const claim = index.claimsByUid.get(uid ?? '');
  const isEphemeral = /^csi-[0-9a-f]{64}$/.test(id);
  const base = {
    id: `volume-leaked/${id}`,
    kind: 'volume-leaked' as const,
    subject: `volume ${id}`,
    says: 'the driver lists it, and no PersistentVolume, pod or VolumeAttachment names it',
    bytes,
    fingerprint: [id, String(bytes), owner].join(' '),
  };
  const evidence = [
    why,
    ...(publishedOn.length > 0 ? [`it is attached to ${publishedOn.join(', ')}`] : []),
    ...(claim ? [`claim ${claim.key} (${claim.phase}) has the UID that it was made for`] : []),
  ];
  const doubt = (advice: string): Finding => ({ ...base, severity: 'doubt', evidence, advice });
  if (owner !== 'ours')
    return doubt(
      'it may be another cluster’s: nothing is done; if the storage is this cluster’s alone, say --exclusive',
    );
  if (claim) return doubt(`claim ${claim.key} still exists: nothing is done while it does`);
  if (isEphemeral)
    return doubt('it looks like an ephemeral volume, which its node removes: see `berth audit node` there');
  const kept = keptOnPurpose(index.cluster.classes, 'StorageClass', options);
  if (kept) return doubt(kept);
  if (publishedOn.length > 0)
    return {
      ...base,
      severity: 'leak',
      evidence,
      advice: 'it is attached: detach it first, then audit again',
    };
  return { ...base, severity: 'leak', evidence, action: { do: 'DeleteVolume', volumeId: id } };
}

/** The class that it was made from is not known any more; some class says that volumes stay. */
export function keptOnPurpose(
  classes: readonly ClassRow[] | undefined,
  kind: string,
  { includesKept }: JudgeOptions,
): string | undefined {
  if (includesKept) return undefined;
  const retaining = classes?.find(({ policy }) => policy === 'Retain');
  if (retaining)
    return `${kind} ${retaining.name} retains: it may be kept on purpose; to plan its deletion, say --include-kept`;
  if (!classes?.length)
    return `there is no ${kind} of this driver, so it may be kept on purpose; to plan its deletion, say --include-kept`;
  return undefined;
}

function missing(index: FactIndex, volume: VolumeRow, options: JudgeOptions): Finding | undefined {
  const { key, handle, phase, policy, deletedMs, bytes } = volume;
  // The provisioner deletes the object after the volume.
  if (deletedMs !== undefined) return undefined;
  const isReclaimed = policy === 'Delete' && (phase === 'Released' || phase === 'Failed');
  const sinceMs = isReclaimed ? volume.phaseSinceMs : volume.createdMs;
  if (sinceMs === undefined || isYoung(index, sinceMs, options)) return undefined;
  const claim = index.claimsByKey.get(volume.claim);
  const isClaimed = claim !== undefined && (volume.claimUid === '' || claim.uid === volume.claimUid);
  const users = usersOf(index, handle);
  const isFree = !isClaimed && users.length === 0 && !index.attachmentsByVolume.has(key);
  const base = {
    id: `volume-missing/${key}`,
    kind: 'volume-missing' as const,
    severity: 'leak' as const,
    subject: `PersistentVolume ${key}`,
    says: `its volume ${handle} is not among those that the driver lists`,
    evidence: [
      `it is ${phase}, with reclaim policy ${policy}`,
      ...(isClaimed ? [`claim ${volume.claim} has it`] : []),
      ...(users.length > 0 ? [`pods use it: ${users.map((pod) => pod.key).join(', ')}`] : []),
    ],
    bytes,
    fingerprint: [volume.uid, phase, policy, volume.claimUid].join(' '),
  };
  if (isFree)
    return { ...base, action: { do: 'delete-object', object: targetOf('persistentvolumes', volume) } };
  return {
    ...base,
    advice:
      'its data is gone or out of reach: restore it, or delete pods and claim; nothing is done while they exist',
  };
}

function released(volume: VolumeRow): Finding {
  const { key, bytes, claim, phaseSinceMs } = volume;
  return {
    id: `volume-released/${key}`,
    kind: 'volume-released',
    severity: 'cost',
    subject: `PersistentVolume ${key}`,
    says: `released by claim ${claim}, and kept by its reclaim policy`,
    evidence: [`volume ${volume.handle}`, `class ${volume.className || 'none'}`],
    bytes,
    ...(phaseSinceMs !== undefined && { sinceMs: phaseSinceMs }),
    fingerprint: volume.uid,
    advice:
      `if its data is not needed: kubectl patch pv ${key} -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}', ` +
      'and the provisioner deletes both',
  };
}

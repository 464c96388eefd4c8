// A finalizer is removed after what it protects is gone: the attacher's after attachments, the claim's after pods, the
// volume's after claims, the provisioner's after the storage.

import type { PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/object.ts';
import { claimNameOf, isTerminated } from '../../api/volumes.ts';
import {
  attacherFinalizer,
  FINALIZER_PROVISIONER,
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
} from '../../api/well-known.ts';
import type { Checker, Rules } from './index.ts';

/** Longer than a slow request, which may lie between looking for pods and removing the claim's finalizer. */
const LATE_MS = 15_000;

export function finalizerChecker({ violate }: Rules): Checker {
  const claims = new Map<string, PersistentVolumeClaim>();
  const volumes = new Map<string, PersistentVolume>();
  const pods = new Map<string, Pod>();
  const attachments = new Map<string, VolumeAttachment>();
  const kept: Record<string, Map<string, KubeObject>> = {
    persistentvolumeclaims: claims,
    persistentvolumes: volumes,
    pods,
    volumeattachments: attachments,
  } as never;
  /** By UID: when a pod was scheduled, and when the deletion of a claim began. */
  const placedAtMs = new Map<string, number>();
  const deletedAtMs = new Map<string, number>();
  /** Volume IDs that exist. */
  const stored = new Set<string>();
  /** `id node` that are attached. */
  const attached = new Set<string>();

  const say = (kind: string, key: string, finalizer: string, why: string): void =>
    violate('finalizer-early', `${finalizer} left ${kind} ${key}: ${why}`);

  function lost(plural: string, key: string, before: KubeObject, finalizer: string, atMs: number): void {
    if (plural === 'volumeattachments') {
      const { spec } = before as VolumeAttachment;
      if (finalizer !== attacherFinalizer(spec.attacher)) return;
      const inline = spec.source.inlineVolumeSource?.volumeSource.csi.volumeHandle;
      const handle = inline ?? volumes.get(spec.source.persistentVolumeName ?? '')?.spec.csi?.volumeHandle;
      if (attached.has(`${handle} ${spec.nodeName}`))
        say('VolumeAttachment', key, finalizer, 'its volume is attached');
    } else if (plural === 'persistentvolumes') lostByVolume(key, before as PersistentVolume, finalizer);
    else if (plural === 'persistentvolumeclaims' && finalizer === FINALIZER_PVC_PROTECTION) {
      const deletedMs = deletedAtMs.get(before.metadata.uid) ?? atMs;
      for (const [podKey, pod] of pods) {
        if (isTerminated(pod) || !pod.spec.nodeName || pod.metadata.namespace !== before.metadata.namespace)
          continue;
        const uses = pod.spec.volumes?.some((each) => claimNameOf(pod, each) === before.metadata.name);
        const placedMs = placedAtMs.get(pod.metadata.uid) ?? 0;
        // A pod that was scheduled while the finalizer of its claim was being removed will not get the claim.
        const isLate = placedMs > deletedMs && atMs - placedMs < LATE_MS;
        if (uses && !isLate) say('claim', key, finalizer, `pod ${podKey} uses it`);
      }
    }
  }

  function lostByVolume(key: string, { spec, metadata }: PersistentVolume, finalizer: string): void {
    const { csi, claimRef } = spec;
    if (finalizer === attacherFinalizer(csi?.driver ?? '')) {
      // An attachment without the attacher's finalizer may be newer than the attacher's cache.
      const [user] = [...attachments.values()].filter(
        (each) =>
          each.spec.source.persistentVolumeName === key && each.metadata.finalizers?.includes(finalizer),
      );
      if (user) say('volume', key, finalizer, `VolumeAttachment ${user.metadata.name} refers to it`);
    } else if (finalizer === FINALIZER_PV_PROTECTION) {
      const claim = claims.get(`${claimRef?.namespace}/${claimRef?.name}`);
      const isBound = claim?.metadata.uid === claimRef?.uid && claim?.spec.volumeName === metadata.name;
      if (claim && isBound) say('volume', key, finalizer, `claim ${claim.metadata.name} has it`);
    } else if (finalizer === FINALIZER_PROVISIONER && spec.persistentVolumeReclaimPolicy === 'Delete') {
      if (stored.has(csi?.volumeHandle ?? '')) say('volume', key, finalizer, 'its storage exists');
    }
  }

  return {
    storage({ change, volume, node }) {
      const slot = `${volume} ${node}`;
      if (change === 'created') stored.add(volume);
      else if (change === 'deleted') stored.delete(volume);
      else if (change === 'attached') attached.add(slot);
      else if (change === 'detached') attached.delete(slot);
    },
    api({ atMs, plural, key, before, after }) {
      const known = kept[plural];
      if (known === undefined) return;
      for (const finalizer of before?.metadata.finalizers ?? []) {
        if (before && !after?.metadata.finalizers?.includes(finalizer))
          lost(plural, key, before, finalizer, atMs);
      }
      if (after) {
        const { uid, deletionTimestamp } = after.metadata;
        if (deletionTimestamp && !deletedAtMs.has(uid)) deletedAtMs.set(uid, atMs);
        if (plural === 'pods' && (after as Pod).spec.nodeName && !placedAtMs.has(uid))
          placedAtMs.set(uid, atMs);
        known.set(key, after);
      } else known.delete(key);
    },
  };
}

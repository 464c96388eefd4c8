// Which of a pod's volumes are CSI volumes with a handle, and may therefore have to be attached. Pure.

import type { PersistentVolume, PersistentVolumeClaim, Pod, PodVolume } from '../../api/kinds.ts';
import { claimNameOf, refersToClaim } from '../../api/volumes.ts';
import {
  type AttachableVolume,
  attachableInlineVolume,
  attachablePersistentVolume,
} from '../../csi-plugin/attach/attachable-volume.ts';

import { isMadeFor } from '../pods-by-claim.ts';
import { type SlotVolume, slotVolume } from './slot.ts';

export interface UsedVolume {
  volumeId: SlotVolume;
  volume: AttachableVolume;
  /** How users know it: the PersistentVolume's name, or the pod's own name for an inline volume. */
  shownAs: string;
  /** At most one node may have it. */
  exclusive: boolean;
}

export interface VolumeLookups {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
}

/** By the pod's name for the volume. What is not bound yet, or not CSI, is left out. */
export function volumesOfPod(pod: Pod, lookups: VolumeLookups): Map<string, UsedVolume> {
  const used = new Map<string, UsedVolume>();
  for (const podVolume of pod.spec.volumes ?? []) {
    const found = podVolume.csi ? inline(pod, podVolume) : claimed(pod, podVolume, lookups);
    if (found) used.set(podVolume.name, found);
  }
  return used;
}

function inline(pod: Pod, { name, csi }: PodVolume): UsedVolume | undefined {
  const volume = csi && attachableInlineVolume(csi, pod.metadata);
  if (!volume) return undefined;
  // An inline source says nothing of access modes; a volume that is written on two nodes at once is destroyed.
  return { volumeId: slotVolume(volume), volume, shownAs: name, exclusive: true };
}

function claimed(pod: Pod, podVolume: PodVolume, lookups: VolumeLookups): UsedVolume | undefined {
  const claimName = claimNameOf(pod, podVolume);
  if (claimName === undefined) return undefined;
  const claim = lookups.claim(`${pod.metadata.namespace}/${claimName}`);
  if (!claim?.spec.volumeName) return undefined;
  // A claim of that name that was not created for the pod is not the pod's.
  if (podVolume.ephemeral && !isMadeFor(claim, pod)) return undefined;
  const persistent = lookups.volume(claim.spec.volumeName);
  if (!persistent || !refersToClaim(persistent.spec.claimRef, claim)) return undefined;
  const volume = attachablePersistentVolume(persistent);
  if (!volume) return undefined;
  return {
    volumeId: slotVolume(volume),
    volume,
    shownAs: persistent.metadata.name,
    exclusive: isExclusive(persistent),
  };
}

/** As Kubernetes decides it: shared as soon as one of its modes is. A volume without modes is left to its driver. */
function isExclusive({ spec: { accessModes = [] } }: PersistentVolume): boolean {
  return (
    accessModes.length > 0 && !accessModes.includes('ReadWriteMany') && !accessModes.includes('ReadOnlyMany')
  );
}

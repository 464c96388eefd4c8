// What to do for one volume, from it and the claim it names. Pure: the binder performs the steps.
// The binder never deletes storage: it marks a volume Released, and the volume's provisioner deletes it.

import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { ANN_PROVISIONED_BY } from '../../api/well-known.ts';

export interface VolumeAndClaim {
  volume: PersistentVolume;
  /**
   * The claim that `claimRef` names, by name and UID. `gone` must be read from the server, not from a cache: a claim
   * that the cache has not seen yet exists, and its volume must not be released. Ignored where the volume names no
   * claim by UID.
   */
  claim: PersistentVolumeClaim | 'gone';
}

export type VolumeStep =
  | { do: 'set-phase'; phase: 'Available' | 'Bound' | 'Released' | 'Failed'; message?: string }
  /** Reconcile the claim, which completes a binding. */
  | { do: 'look-at-claim' }
  /** Undo the binder's choice (or remove the UID from a user's reservation): the claim has another volume. */
  | { do: 'unbind' }
  | { do: 'event'; type: 'Normal' | 'Warning'; reason: string; message: string }
  /** The same event on the claim. */
  | { do: 'claim-event'; type: 'Normal' | 'Warning'; reason: string; message: string };

export function decideVolume({ volume, claim }: VolumeAndClaim): VolumeStep[] {
  const { claimRef } = volume.spec;
  if (!claimRef) return [{ do: 'set-phase', phase: 'Available' }];
  // Reserved by the user for a claim that has not been bound to it: free for that claim only.
  if (!claimRef.uid) return [{ do: 'set-phase', phase: 'Available' }, { do: 'look-at-claim' }];
  if (claim === 'gone') return release(volume);
  if (!claim.spec.volumeName) {
    const modes = [volume.spec.volumeMode, claim.spec.volumeMode].map((mode) => mode ?? 'Filesystem');
    if (modes[0] !== modes[1]) {
      const message = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" due to incompatible volumeMode.`;
      const toClaim = `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim due to incompatible volumeMode.`;
      const event = { type: 'Warning', reason: 'VolumeMismatch' } as const;
      return [
        { do: 'event', ...event, message },
        { do: 'claim-event', ...event, message: toClaim },
      ];
    }
    return [{ do: 'look-at-claim' }];
  }
  if (claim.spec.volumeName === volume.metadata.name) return [{ do: 'set-phase', phase: 'Bound' }];
  // The claim has another volume. A volume that was provisioned for it is released; any other becomes available again.
  const isSpare =
    volume.metadata.annotations?.[ANN_PROVISIONED_BY] !== undefined &&
    volume.spec.persistentVolumeReclaimPolicy === 'Delete';
  return isSpare ? release(volume) : [{ do: 'unbind' }];
}

/** The claim is deleted. A Failed phase stays, so that the user sees it. */
function release(volume: PersistentVolume): VolumeStep[] {
  const phase = volume.status?.phase;
  if (phase === 'Failed') return [];
  if (volume.spec.persistentVolumeReclaimPolicy === 'Recycle') {
    const message =
      'reclaim policy Recycle is not supported: the volume keeps its data and is not bound again';
    return [
      { do: 'event', type: 'Warning', reason: 'VolumeFailedRecycle', message },
      { do: 'set-phase', phase: 'Failed', message },
    ];
  }
  return phase === 'Released' ? [] : [{ do: 'set-phase', phase: 'Released' }];
}

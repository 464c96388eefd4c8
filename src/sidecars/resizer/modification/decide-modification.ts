// Whether a claim's volume is to get the parameters of another VolumeAttributesClass now, and of which. Pure. As in
// expansion, a modification that may be in flight is finished before another one starts.

import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';

export interface ModificationSnapshot {
  claim: PersistentVolumeClaim;
  /** The volume that the claim names, if it exists. */
  volume: PersistentVolume | undefined;
  driver: DriverName;
  /** The last call is known to have failed without effect. */
  failedForSure: boolean;
}

export type ModificationDecision =
  | { do: 'nothing'; why: string }
  /** The user withdrew the request: the status no longer shows a modification. */
  | { do: 'cancel' }
  | {
      do: 'modify';
      volume: PersistentVolume;
      /** Name of the class. */
      target: string;
      /** An earlier call for it may be in flight. */
      isContinued: boolean;
    };

const nothing = (why: string): ModificationDecision => ({ do: 'nothing', why });

export const wantedClass = ({ spec }: PersistentVolumeClaim): string => spec.volumeAttributesClassName ?? '';
const currentClass = ({ status }: PersistentVolumeClaim): string =>
  status?.currentVolumeAttributesClassName ?? '';

/** Bound, and its class differs from the requested one, or a modification has started. */
export function wantsModification(claim: PersistentVolumeClaim): boolean {
  return (
    claim.status?.phase === 'Bound' &&
    (claim.status.modifyVolumeStatus !== undefined || wantedClass(claim) !== currentClass(claim))
  );
}

export function decideModification(snapshot: ModificationSnapshot): ModificationDecision {
  const { claim, volume, driver, failedForSure } = snapshot;
  if (!wantsModification(claim)) return nothing('it has the requested class');
  if (volume === undefined) return nothing('its volume does not exist (yet)');
  if (volume.spec.csi?.driver !== driver) return nothing('its volume has another driver');
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) return nothing('its volume is not bound to it');
  const wanted = wantedClass(claim);
  const { status, targetVolumeAttributesClassName: underWay = '' } = claim.status?.modifyVolumeStatus ?? {};
  const isInProgress = status === 'InProgress' && underWay !== '';
  if (isInProgress && (wanted === '' || !failedForSure)) {
    return { do: 'modify', volume, target: underWay, isContinued: true };
  }
  if (wanted !== '') return { do: 'modify', volume, target: wanted, isContinued: false };
  const says = claim.status?.conditions?.some(({ type }) => type === 'ModifyingVolume') ?? false;
  return says ? { do: 'cancel' } : nothing('no class is requested');
}

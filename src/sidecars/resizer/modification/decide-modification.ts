// Whether a claim's volume is to get the parameters of another VolumeAttributesClass now, and of which. Pure. As with
// growing: what may be going on is finished before anything else begins.

import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';

export interface ModificationSnapshot {
  claim: PersistentVolumeClaim;
  /** The one that the claim names, if it exists. */
  volume: PersistentVolume | undefined;
  driver: DriverName;
  /** The last call is known to have ended without effect. */
  failedForSure: boolean;
}

export type ModificationDecision =
  | { do: 'nothing'; why: string }
  /** The user took the wish back: nothing says any more that something is under way. */
  | { do: 'cancel' }
  | {
      do: 'modify';
      volume: PersistentVolume;
      /** Name of the class. */
      target: string;
      /** An earlier call for it may be going on. */
      isContinued: boolean;
    };

const nothing = (why: string): ModificationDecision => ({ do: 'nothing', why });

export const wantedClass = ({ spec }: PersistentVolumeClaim): string => spec.volumeAttributesClassName ?? '';
const currentClass = ({ status }: PersistentVolumeClaim): string =>
  status?.currentVolumeAttributesClassName ?? '';

/** Bound, and of another class than its user wants, or on the way to one. */
export function wantsModification(claim: PersistentVolumeClaim): boolean {
  return (
    claim.status?.phase === 'Bound' &&
    (claim.status.modifyVolumeStatus !== undefined || wantedClass(claim) !== currentClass(claim))
  );
}

export function decideModification(snapshot: ModificationSnapshot): ModificationDecision {
  const { claim, volume, driver, failedForSure } = snapshot;
  if (!wantsModification(claim)) return nothing('it is of the class that was asked for');
  if (volume === undefined) return nothing('its volume is not there (yet)');
  if (volume.spec.csi?.driver !== driver) return nothing("its volume is another driver's");
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) return nothing('its volume is not bound to it');
  const wanted = wantedClass(claim);
  const { status, targetVolumeAttributesClassName: underWay = '' } = claim.status?.modifyVolumeStatus ?? {};
  const isInProgress = status === 'InProgress' && underWay !== '';
  if (isInProgress && (wanted === '' || !failedForSure)) {
    return { do: 'modify', volume, target: underWay, isContinued: true };
  }
  if (wanted !== '') return { do: 'modify', volume, target: wanted, isContinued: false };
  const says = claim.status?.conditions?.some(({ type }) => type === 'ModifyingVolume') ?? false;
  return says ? { do: 'cancel' } : nothing('no class is asked for');
}

// Whether a claim's volume is to be expanded now, and to what size. Pure: the tables in decide-expansion.test.ts are
// the specification. It is more than a comparison of two sizes because a user may change the request during an
// expansion: an expansion that may be in flight is always finished before another one starts.

import {
  allocatedSize,
  expansionState,
  hasCondition,
  requestedSize,
  wantsExpansion,
} from '../../../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';

export interface ExpansionSnapshot {
  claim: PersistentVolumeClaim;
  /** The volume that the claim names, if it exists. */
  volume: PersistentVolume | undefined;
  driver: DriverName;
  /** Where the driver expands volumes: first on the controller, or on the node alone. */
  place: 'controller' | 'node';
  /** The last call is known to have failed without effect. */
  failedForSure: boolean;
  /** Follow `status.allocatedResources`, so that a request that cannot be met may be lowered. */
  recovers: boolean;
}

export type ExpansionDecision =
  | { do: 'nothing'; why: string }
  | { do: 'expand'; volume: PersistentVolume; size: string };

const nothing = (why: string): ExpansionDecision => ({ do: 'nothing', why });

export function decideExpansion(snapshot: ExpansionSnapshot): ExpansionDecision {
  const { claim, volume, driver } = snapshot;
  if (!wantsExpansion(claim)) return nothing('it has the requested size');
  if (volume === undefined) return nothing('its volume does not exist (yet)');
  if (volume.spec.csi?.driver !== driver) return nothing('its volume has another driver');
  const { uid, namespace } = volume.spec.claimRef ?? {};
  if (uid !== claim.metadata.uid || namespace !== claim.metadata.namespace) {
    return nothing('its volume is not bound to it');
  }
  const size = snapshot.recovers ? nextSize(snapshot, volume) : plainSize(snapshot, volume);
  return size === undefined ? nothing('the node has to act next') : { do: 'expand', volume, size };
}

const sizeOf = (volume: PersistentVolume): string => volume.spec.capacity?.storage ?? '0';
const isSmaller = (a: string, b: string): boolean => compareQuantities(a, b) < 0;

/** Undefined: the node has to act first. */
function nextSize(snapshot: ExpansionSnapshot, volume: PersistentVolume): string | undefined {
  const { claim, place, failedForSure } = snapshot;
  const requested = requestedSize(claim);
  const allocated = allocatedSize(claim);
  const state = expansionState(claim);
  const resumed = allocated ?? requested;
  if (isSmaller(sizeOf(volume), requested)) {
    switch (state) {
      case 'NodeResizePending':
      case 'NodeResizeInProgress':
        return isSmaller(sizeOf(volume), resumed) ? resumed : undefined;
      case 'NodeResizeInfeasible':
        return resumed;
      case 'ControllerResizeInProgress':
        return failedForSure ? requested : resumed;
      default:
        return requested;
    }
  }
  // The volume is large enough, but the claim's status does not show it yet.
  switch (state) {
    case 'NodeResizePending':
    case 'NodeResizeInProgress':
      return undefined;
    case 'NodeResizeInfeasible':
      // The driver confirms the size before the node may try again. Where it expands on the node alone, the user may
      // have lowered the request, and nothing has been expanded yet.
      return place === 'controller' ? resumed : requested;
    case 'ControllerResizeInProgress':
    case 'ControllerResizeInfeasible':
      // It was expanded without being recorded, or the request was lowered after it was expanded.
      return resumed;
    default:
      if (allocated !== undefined) return allocated;
      return hasCondition(claim, 'FileSystemResizePending') ? undefined : requested;
  }
}

function plainSize({ claim }: ExpansionSnapshot, volume: PersistentVolume): string | undefined {
  const requested = requestedSize(claim);
  const waits = hasCondition(claim, 'FileSystemResizePending');
  return waits && !isSmaller(sizeOf(volume), requested) ? undefined : requested;
}

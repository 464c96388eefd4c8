// The four writes of a binding. Each function returns the object to write, or undefined when it is right already, so a
// binding that a crash left incomplete is completed by running again. The binder keeps the order: volume spec, volume
// phase, claim spec, claim status. The first write decides: once the volume names the claim, no other claim can have it.
// Pure.

import type { PersistentVolume, PersistentVolumeClaim } from '../../api/kinds.ts';
import { isQuantity } from '../../api/quantity.ts';
import { refersToClaim } from '../../api/volumes.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_BOUND_BY_CONTROLLER,
  ANN_PRE_RESIZE_CAPACITY,
} from '../../api/well-known.ts';

/** The volume with a reference to exactly this claim, by UID. */
export function volumeBoundTo(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): PersistentVolume | undefined {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const current = volume.spec.claimRef;
  const isReserved = refersToClaim(current, claim);
  if (isReserved && current?.uid === uid) return undefined;
  return {
    ...volume,
    // A reservation by the user is kept when the volume is released; a choice of the binder is removed.
    metadata: isReserved ? volume.metadata : annotated(volume.metadata, ANN_BOUND_BY_CONTROLLER),
    spec: {
      ...volume.spec,
      claimRef: {
        kind: 'PersistentVolumeClaim',
        apiVersion: 'v1',
        name,
        ...(namespace !== undefined && { namespace }),
        uid,
        resourceVersion,
      },
    },
  };
}

/** The claim with the name of this volume. */
export function claimBoundTo(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): PersistentVolumeClaim | undefined {
  const chosenByUser = claim.spec.volumeName === volume.metadata.name;
  const isComplete = claim.metadata.annotations?.[ANN_BIND_COMPLETED] !== undefined;
  if (chosenByUser && isComplete) return undefined;
  const marked = annotated(claim.metadata, ANN_BIND_COMPLETED);
  return {
    ...claim,
    metadata: chosenByUser ? marked : annotated(marked, ANN_BOUND_BY_CONTROLLER),
    spec: { ...claim.spec, volumeName: volume.metadata.name },
  };
}

/** The claim's status once it is bound to this volume. */
export function claimStatusBoundTo(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): PersistentVolumeClaim | undefined {
  const status = claim.status ?? {};
  const accessModes = volume.spec.accessModes ?? [];
  // A volume that was expanded without its filesystem still offers the previous capacity.
  const before = volume.metadata.annotations?.[ANN_PRE_RESIZE_CAPACITY];
  const storage = isQuantity(before) ? before : volume.spec.capacity?.storage;
  // Once bound, the capacity in the status belongs to the resizer and the node.
  const capacity =
    status.phase === 'Bound' && status.capacity ? status.capacity : { ...(storage && { storage }) };
  const attributesClass = volume.spec.volumeAttributesClassName;
  const isRight =
    status.phase === 'Bound' &&
    JSON.stringify(status.accessModes ?? []) === JSON.stringify(accessModes) &&
    status.capacity !== undefined &&
    (attributesClass === undefined || status.currentVolumeAttributesClassName !== undefined);
  if (isRight) return undefined;
  return {
    ...claim,
    status: {
      ...status,
      phase: 'Bound',
      accessModes,
      capacity,
      ...(attributesClass !== undefined && {
        currentVolumeAttributesClassName: status.currentVolumeAttributesClassName ?? attributesClass,
      }),
    },
  };
}

/** Both sides of the binding are complete: reconciling either would change nothing. */
export function isComplete(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return (
    volume.status?.phase === 'Bound' &&
    volumeBoundTo(volume, claim) === undefined &&
    claimBoundTo(claim, volume) === undefined &&
    claimStatusBoundTo(claim, volume) === undefined
  );
}

/** The volume made available again: what the binder wrote is removed, what the user wrote stays. */
export function volumeUnbound(volume: PersistentVolume): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  const { [ANN_BOUND_BY_CONTROLLER]: byController, ...annotations } = volume.metadata.annotations ?? {};
  if (byController !== undefined || claimRef === undefined) {
    return { ...volume, metadata: { ...volume.metadata, annotations }, spec };
  }
  const { uid: _uid, resourceVersion: _version, ...reservation } = claimRef;
  return { ...volume, spec: { ...spec, claimRef: reservation } };
}

function annotated<M extends { annotations?: Record<string, string> }>(metadata: M, annotation: string): M {
  return { ...metadata, annotations: { ...metadata.annotations, [annotation]: 'yes' } };
}

// What the resizer writes into a claim and a volume while it grows. Merge patches, as small as they can be, each of them
// for one version or one incarnation of its object. Pure.

import {
  allocatedSize,
  changedConditions,
  expansionState,
  grownStatus,
  hasCondition,
} from '../../../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { ANN_NODE_EXPANSION_NOT_REQUIRED, ANN_PRE_RESIZE_CAPACITY } from '../../../api/well-known.ts';

/** An error is for reading; drivers have been seen to answer with whole HTML pages. */
const LONGEST_MESSAGE = 1024;

export interface PatchContext {
  /** As Kubernetes writes times. */
  now: string;
  /** Keep `allocatedResources` and its states. */
  recovers: boolean;
}

export interface ClaimPatch {
  metadata: { uid: string; resourceVersion: string; annotations?: Record<string, string | null> };
  status: object;
}

const storageState = (state: string): object => ({ allocatedResourceStatuses: { storage: state } });

function claimPatch(
  { metadata }: PersistentVolumeClaim,
  status: object,
  annotations: Record<string, string | null> = {},
): ClaimPatch {
  const { uid, resourceVersion } = metadata;
  return {
    metadata: { uid, resourceVersion, ...(Object.keys(annotations).length > 0 && { annotations }) },
    status,
  };
}

/** An earlier expansion may have needed no node; this one may. */
function nodeMayBeNeeded({ metadata }: PersistentVolumeClaim): Record<string, null> {
  const isSet = metadata.annotations?.[ANN_NODE_EXPANSION_NOT_REQUIRED] !== undefined;
  return isSet ? { [ANN_NODE_EXPANSION_NOT_REQUIRED]: null } : {};
}

/** Before the driver is asked; undefined when the claim says it already. */
export function beginPatch(
  claim: PersistentVolumeClaim,
  size: string,
  { now, recovers }: PatchContext,
): ClaimPatch | undefined {
  const allocated = allocatedSize(claim);
  const isSameSize = allocated !== undefined && compareQuantities(allocated, size) === 0;
  const annotations = recovers ? nodeMayBeNeeded(claim) : {};
  const says = recovers
    ? isSameSize && expansionState(claim) === 'ControllerResizeInProgress'
    : !hasCondition(claim, 'FileSystemResizePending');
  if (says && hasCondition(claim, 'Resizing') && Object.keys(annotations).length === 0) return undefined;
  const set = { type: 'Resizing', status: 'True', lastTransitionTime: now } as const;
  // What went wrong on the way to this size stays to be read until it is reached; to another size it is beside the point.
  const conditions = changedConditions(claim, { set, drop: recovers && isSameSize ? [] : 'all' });
  return claimPatch(
    claim,
    {
      conditions,
      ...(recovers && {
        allocatedResources: { storage: size },
        ...storageState('ControllerResizeInProgress'),
      }),
    },
    annotations,
  );
}

/** The volume has grown, and a node has to go on. */
export function awaitNodePatch(claim: PersistentVolumeClaim, { now, recovers }: PatchContext): ClaimPatch {
  const set = {
    type: 'FileSystemResizePending',
    status: 'True',
    lastTransitionTime: now,
    message:
      'The volume has grown; its filesystem follows on the node, as soon as a pod has it mounted there',
  } as const;
  // What went wrong on the way stays to be read until all is done, as officially.
  const drop = recovers ? [] : 'all';
  return claimPatch(
    claim,
    {
      conditions: changedConditions(claim, { set, drop }),
      ...(recovers && storageState('NodeResizePending')),
    },
    recovers ? nodeMayBeNeeded(claim) : {},
  );
}

/** The volume has grown, and that is all. */
export function finishPatch(
  claim: PersistentVolumeClaim,
  capacity: string,
  { recovers }: PatchContext,
): ClaimPatch {
  return claimPatch(
    claim,
    grownStatus(claim, capacity),
    recovers ? { [ANN_NODE_EXPANSION_NOT_REQUIRED]: 'true' } : {},
  );
}

/** The driver refused, and it is certain that it is not at it any more. */
export function failurePatch(
  claim: PersistentVolumeClaim,
  error: Error,
  { now, infeasible }: PatchContext & { infeasible: boolean },
): ClaimPatch {
  const { message } = error;
  const set = {
    type: 'ControllerResizeError',
    status: 'True',
    lastTransitionTime: now,
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} […]` : message,
  } as const;
  return claimPatch(claim, {
    conditions: changedConditions(claim, { set }),
    ...(infeasible && storageState('ControllerResizeInfeasible')),
  });
}

/** Undefined when the volume says it already. `before`: the claim's capacity, for the time that a node needs. */
export function grownVolumePatch(
  volume: PersistentVolume,
  { capacity, before }: { capacity: string; before: string | undefined },
): object | undefined {
  const known = volume.spec.capacity?.storage;
  const isKnown = known !== undefined && compareQuantities(known, capacity) === 0;
  const isNoted =
    before === undefined || volume.metadata.annotations?.[ANN_PRE_RESIZE_CAPACITY] !== undefined;
  if (isKnown && isNoted) return undefined;
  return {
    metadata: {
      uid: volume.metadata.uid,
      ...(!isNoted && { annotations: { [ANN_PRE_RESIZE_CAPACITY]: before } }),
    },
    spec: { capacity: { storage: capacity } },
  };
}

/** The node has followed: what the capacity was before is of no use any more. */
export function forgetOldCapacityPatch(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): object | undefined {
  const { annotations, uid } = volume.metadata;
  if (annotations?.[ANN_PRE_RESIZE_CAPACITY] === undefined) return undefined;
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined;
  const grown = volume.spec.capacity?.storage ?? '0';
  if (compareQuantities(claim.status?.capacity?.storage ?? '0', grown) < 0) return undefined;
  return { metadata: { uid, annotations: { [ANN_PRE_RESIZE_CAPACITY]: null } } };
}

// The resizer's patches of a claim and a volume during expansion. Minimal merge patches, each for one resourceVersion
// or one UID. Pure.

import { allocatedSize, changedConditions, grownStatus } from '../../../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { ANN_NODE_EXPANSION_NOT_REQUIRED, ANN_PRE_RESIZE_CAPACITY } from '../../../api/well-known.ts';

/** Errors are truncated: drivers have returned whole HTML pages. */
const LONGEST_MESSAGE = 1024;

export interface PatchContext {
  /** In Kubernetes' time format. */
  now: string;
  /** Write `allocatedResources` and its states. */
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

/** Before the driver is called. A claim that is so already gets a new probe time: see `ClaimWriter.begin`. */
export function beginPatch(
  claim: PersistentVolumeClaim,
  size: string,
  { now, recovers }: PatchContext,
): ClaimPatch {
  const allocated = allocatedSize(claim);
  const isSameSize = allocated !== undefined && compareQuantities(allocated, size) === 0;
  // An error on the way to this size stays visible until the size is reached; an error about another size is removed.
  const drop = recovers && isSameSize ? [] : 'all';
  const set = { type: 'Resizing', status: 'True', lastProbeTime: now, lastTransitionTime: now } as const;
  return claimPatch(
    claim,
    {
      conditions: changedConditions(claim, { set, drop }),
      ...(recovers && {
        allocatedResources: { storage: size },
        ...storageState('ControllerResizeInProgress'),
      }),
    },
    recovers ? nodeMayBeNeeded(claim) : {},
  );
}

/** When the driver was last called. Tells the calls of several resizers apart. */
export const calledAt = ({ status }: PersistentVolumeClaim): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Resizing')?.lastProbeTime;

/** The volume was expanded, and a node has to expand its filesystem. */
export function awaitNodePatch(claim: PersistentVolumeClaim, { now, recovers }: PatchContext): ClaimPatch {
  const set = {
    type: 'FileSystemResizePending',
    status: 'True',
    lastTransitionTime: now,
    message: 'The volume was expanded; the node expands its filesystem once a pod has it mounted',
  } as const;
  // An error on the way stays visible until everything is done, as in the official resizer.
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

/** The volume was expanded, and nothing else is needed. */
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

/** The driver rejected the expansion, and no call can be in flight. */
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

/**
 * Undefined when the volume is so already. Only over the version it was decided on: late, it would replace a newer size. After
 * a conflict the driver is called again, which changes nothing there. `before`: the claim's capacity until the node has expanded the filesystem.
 */
export function grownVolumePatch(
  volume: PersistentVolume,
  { capacity, before }: { capacity: string; before: string | undefined },
): object | undefined {
  const known = volume.spec.capacity?.storage;
  const isKnown = known !== undefined && compareQuantities(known, capacity) === 0;
  const isNoted =
    before === undefined || volume.metadata.annotations?.[ANN_PRE_RESIZE_CAPACITY] !== undefined;
  if (isKnown && isNoted) return undefined;
  const { uid, resourceVersion } = volume.metadata;
  return {
    metadata: {
      uid,
      resourceVersion,
      ...(!isNoted && { annotations: { [ANN_PRE_RESIZE_CAPACITY]: before } }),
    },
    spec: { capacity: { storage: capacity } },
  };
}

/**
 * The node has expanded the filesystem: the previous capacity is no longer needed. Only over the version it was decided on:
 * late, it would remove that of the next expansion.
 */
export function forgetOldCapacityPatch(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): object | undefined {
  const { annotations, uid, resourceVersion } = volume.metadata;
  if (annotations?.[ANN_PRE_RESIZE_CAPACITY] === undefined) return undefined;
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined;
  const grown = volume.spec.capacity?.storage ?? '0';
  if (compareQuantities(claim.status?.capacity?.storage ?? '0', grown) < 0) return undefined;
  return { metadata: { uid, resourceVersion, annotations: { [ANN_PRE_RESIZE_CAPACITY]: null } } };
}

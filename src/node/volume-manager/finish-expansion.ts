// Node expansion: NodeExpandVolume, then the claim's status with the new capacity. When the driver's error is
// infeasible the claim is marked NodeResizeInfeasible, and the resizer takes over.

import {
  allocatedSize,
  changedConditions,
  expansionState,
  grownStatus,
  hasCondition,
  requestedSize,
} from '../../api/claim-expansion.ts';
import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '../../api/kinds.ts';
import { nameFromKey } from '../../api/object.ts';
import { ANN_NODE_EXPANSION_NOT_REQUIRED } from '../../api/well-known.ts';
import { isFinal, outcomeOf } from '../../csi/outcome.ts';
import { eventTime } from '../../runtime/events/event-record.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict } from '../../runtime/kube/kube-error.ts';
import type { DesiredMount } from './desired-state.ts';

const LONGEST_MESSAGE = 1024;

/** The size to expand to, when the controller is done and the claim waits for a node. */
export function awaitsNodeExpansion(claim: PersistentVolumeClaim | undefined): string | undefined {
  if (claim === undefined) return undefined;
  const state = expansionState(claim);
  const isPending =
    state === 'NodeResizePending' ||
    state === 'NodeResizeInProgress' ||
    // From a resizer without allocatedResourceStatuses.
    (state === undefined && hasCondition(claim, 'FileSystemResizePending'));
  return isPending ? (allocatedSize(claim) ?? requestedSize(claim)) : undefined;
}

/** The size of a ReadWriteMany volume that another node, or the controller alone, has expanded. */
export function sizeOnEveryNode(claim: PersistentVolumeClaim | undefined): string | undefined {
  if (!claim?.spec.accessModes?.includes('ReadWriteMany') || expansionState(claim)) return undefined;
  if (claim.metadata.annotations?.[ANN_NODE_EXPANSION_NOT_REQUIRED] !== undefined) return undefined;
  return settledSize(claim);
}

/** The capacity of a claim without an expansion in progress: a volume that is mounted from now on has at least that size. */
export function settledSize(claim: PersistentVolumeClaim | undefined): string | undefined {
  return awaitsNodeExpansion(claim) === undefined ? claim?.status?.capacity?.storage : undefined;
}

export interface ExpansionPorts {
  kube: KubeClient;
  /** Wall time. */
  nowMs: number;
  signal: AbortSignal;
}

export interface Expanded {
  capacity: string;
  /** As it was told, or as it is where it does not wait for a node. Of one that is gone, expanding the volume throws NotFound. */
  claim: PersistentVolumeClaim;
}

/** The resulting size; undefined when there is nothing to expand, or the claim is not that of the volume. */
export async function finishExpansion(
  { kube, nowMs, signal }: ExpansionPorts,
  { volume, claimKey }: DesiredMount,
  expand: (capacity: string) => Promise<void>,
): Promise<Expanded | undefined> {
  if (!claimKey || !volume.attachedAs || !('pvName' in volume.attachedAs)) return undefined;
  const { pvName } = volume.attachedAs;
  const pv = await kube.get(persistentVolumes, { name: pvName }, { signal });
  const capacity = pv.spec.capacity?.storage;
  if (capacity === undefined) return undefined;

  /** Only while the claim still waits for a node; retried on conflict. The claim as it is then. */
  const report = async (statusFor: (claim: PersistentVolumeClaim) => object | undefined) => {
    for (;;) {
      signal.throwIfAborted();
      const claim = await kube.get(persistentVolumeClaims, nameFromKey(claimKey), { signal });
      // A claim of the same name that was created since has another volume.
      const isAwaited = claim.spec.volumeName === pvName && awaitsNodeExpansion(claim) !== undefined;
      const status = isAwaited ? statusFor(claim) : undefined;
      if (status === undefined) return claim;
      const patch = { metadata: { resourceVersion: claim.metadata.resourceVersion }, status };
      try {
        return await kube.patch(persistentVolumeClaims, nameFromKey(claimKey), patch, {
          subresource: 'status',
          type: 'merge',
          signal,
        });
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  };

  const claim = await report((now) =>
    expansionState(now) === 'NodeResizePending' ? inState('NodeResizeInProgress') : undefined,
  );
  if (claim.spec.volumeName !== pvName) return undefined;
  try {
    await expand(capacity);
  } catch (error) {
    signal.throwIfAborted();
    const verdict = outcomeOf('NodeExpandVolume', error);
    if (isFinal(verdict)) {
      const isInfeasible = verdict.outcome === 'infeasible';
      await report((now) => failedStatus(now, error as Error, { isInfeasible, nowMs }));
    }
    throw error;
  }
  return { capacity, claim: await report((now) => grownStatus(now, capacity)) };
}

const inState = (state: string) => ({ allocatedResourceStatuses: { storage: state } });

function failedStatus(
  claim: PersistentVolumeClaim,
  { message }: Error,
  { isInfeasible, nowMs }: { isInfeasible: boolean; nowMs: number },
): object {
  const set = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: eventTime(nowMs),
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)} […]` : message,
  } as const;
  return {
    conditions: changedConditions(claim, { set }),
    // Without allocatedResourceStatuses the resizer cannot take over, so the node retries.
    ...(isInfeasible && expansionState(claim) && inState('NodeResizeInfeasible')),
  };
}

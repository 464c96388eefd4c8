// The node's end of growing a volume: the filesystem follows, then the claim's status says how large it is now.

import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '../../api/kinds.ts';
import { nameFromKey } from '../../api/object.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { isConflict } from '../../runtime/kube-error.ts';
import type { DesiredMount } from './desired-state.ts';

const NODE_STEP = new Set(['NodeResizePending', 'NodeResizeInProgress', 'NodeResizeFailed']);

/** The size the claim asks for, when the controller has done its part and waits for the node. */
export function awaitsNodeExpansion(claim: PersistentVolumeClaim | undefined): string | undefined {
  const status = claim?.status as ClaimStatus | undefined;
  const isPending =
    status?.conditions?.some(({ type, status }) => type === 'FileSystemResizePending' && status === 'True') ||
    NODE_STEP.has(status?.allocatedResourceStatuses?.storage ?? '');
  return isPending ? claim?.spec.resources?.requests?.storage : undefined;
}

type ClaimStatus = NonNullable<PersistentVolumeClaim['status']> & {
  allocatedResourceStatuses?: Record<string, string>;
};

export async function finishExpansion(
  kube: KubeClient,
  { volume, claimKey }: DesiredMount,
  signal: AbortSignal,
  expand: (capacity: string) => Promise<void>,
): Promise<void> {
  if (!claimKey || !volume.attachedAs || !('pvName' in volume.attachedAs)) return;
  const pv = await kube.get(persistentVolumes, { name: volume.attachedAs.pvName }, { signal });
  const capacity = pv.spec.capacity?.storage;
  if (capacity === undefined) return;
  await expand(capacity);
  for (;;) {
    signal.throwIfAborted();
    const claim = await kube.get(persistentVolumeClaims, nameFromKey(claimKey), { signal });
    if (awaitsNodeExpansion(claim) === undefined) return;
    try {
      await kube.patch(persistentVolumeClaims, nameFromKey(claimKey), expandedPatch(claim, capacity), {
        subresource: 'status',
        type: 'merge',
        signal,
      });
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}

function expandedPatch(claim: PersistentVolumeClaim, capacity: string): object {
  const status = claim.status as ClaimStatus;
  const isOver = (type: string) => type === 'FileSystemResizePending' || type === 'Resizing';
  return {
    metadata: { resourceVersion: claim.metadata.resourceVersion },
    status: {
      capacity: { ...status.capacity, storage: capacity },
      conditions: (status.conditions ?? []).filter(({ type }) => !isOver(type)),
      ...(status.allocatedResourceStatuses && { allocatedResourceStatuses: { storage: null } }),
    },
  };
}

// One provisioner per node: which claims are this node's. A claim belongs to its selected node. A claim with immediate
// binding has none: every node may claim it, each after a random delay, and the first to write its name as the selected
// node owns it. A node without room does not try.

import { persistentVolumeClaims, type StorageClass } from '../../../api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../../api/well-known.ts';
import { isConflict, isInvalid, isNotFound } from '../../../runtime/kube/kube-error.ts';
import { done, failed, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';
import type { ClaimRun, ClaimWork } from './claim-work.ts';

/** The inputs of every attempt: only time decides which node takes a claim. */
export const TAKE = 'take';

/** `attempt`: 0 at the first run over the claim, which only waits. */
export async function takeClaim(
  { work, claim, node, signal }: ClaimRun,
  { storageClass }: { storageClass: StorageClass },
  attempt: number,
): Promise<Outcome> {
  if (!claim || !node) return done;
  const { flags } = work;
  const startMs = flags.nodeDeploymentBaseDelayMs;
  const backoff = { startMs, maxMs: flags.nodeDeploymentMaxDelayMs, spreadMs: startMs };
  const later = (why: string): Outcome => failed({ why, inputs: TAKE, quiet: true, backoff });
  if (attempt === 0) return later('another node may take the claim first');
  const annotations = { ...claim.metadata.annotations, [ANN_SELECTED_NODE]: node.name };
  const mine = { ...claim, metadata: { ...claim.metadata, annotations } };
  try {
    const planned = await work.planner.plan(mine, storageClass, { signal });
    if ('populator' in planned) return done;
    if (!(await hasRoom(work, planned.plan, signal))) return later('this node has no room for it');
  } catch (error) {
    signal.throwIfAborted();
    // Outside the class's topology, for example: left to another node.
    work.log.v(4).info('Not taking a claim', { claim: claim.metadata.name, err: error });
    return later('this node cannot take it');
  }
  try {
    work.claims.wrote(await work.kube.update(persistentVolumeClaims, mine, { signal }));
    return requeueAfter(0, 'this node owns it now');
  } catch (error) {
    if (isNotFound(error)) return done;
    // Another process wrote first, most likely another node its name.
    if (isConflict(error) || isInvalid(error)) return later('the claim changed');
    throw error;
  }
}

/** If GetCapacity fails, room is assumed: CreateVolume then reports to the user what is wrong. */
async function hasRoom({ calls }: ClaimWork, plan: VolumePlan, signal: AbortSignal): Promise<boolean> {
  const segments = plan.topology?.requisite ?? [];
  for (const segment of segments.length === 0 ? [undefined] : segments) {
    try {
      const { availableCapacity } = await calls.freeCapacity({ ...plan, segment }, signal);
      if (availableCapacity >= plan.capacityBytes) return true;
    } catch {
      signal.throwIfAborted();
      return true;
    }
  }
  return false;
}

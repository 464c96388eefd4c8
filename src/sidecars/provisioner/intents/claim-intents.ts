// Writes intents on claims and removes them. Every write carries the resourceVersion it was decided from, so that it
// conflicts when the claim has changed. (A full update costs the server less than a patch.)

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../../api/kinds.ts';
import type { Metadata } from '../../../api/object.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isConflict, isInvalid, isNotFound } from '../../../runtime/kube/kube-error.ts';
import { type Intent, intentOn } from './intent.ts';

/** Others may write the claim concurrently, but not for ever. */
const MOST_ATTEMPTS = 5;

/**
 * Writes the intent on the claim, so that no crash can lose it; undefined when the claim changed since it was read, so
 * that nothing was written. Also called before every further CreateVolume: a removal of the intent that was sent
 * earlier, by this process or the previous one, and whose response was lost may have taken effect or still be in
 * flight. This write fails in the first case and makes the removal conflict in the second.
 */
export async function keepOnClaim(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  intent: Intent,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  const { finalizers = [], annotations = {} } = claim.metadata;
  const metadata: Metadata = {
    ...claim.metadata,
    finalizers: [...new Set([...finalizers, FINALIZER_PROVISIONING])],
    annotations: { ...annotations, [ANN_PROVISIONING_REQUEST]: JSON.stringify(intent) },
  };
  try {
    return await kube.update(persistentVolumeClaims, { ...claim, metadata }, { brief: true, signal });
  } catch (error) {
    // Invalid: a claim that is being deleted accepts no new finalizers.
    if (isConflict(error) || isInvalid(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * The claim without the intent that it has here; undefined when it is gone. `reschedule`: also return it to the scheduler.
 * Throws the conflict when it has another intent by now: of another replica, or of another call.
 */
export async function dropFromClaim(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  { reschedule, signal }: { reschedule: boolean; signal: AbortSignal },
): Promise<PersistentVolumeClaim | undefined> {
  const { name, namespace = '', uid } = claim.metadata;
  const decidedOn = intentOn(claim);
  let current: PersistentVolumeClaim | undefined = claim;
  for (let attempt = 1; current?.metadata.uid === uid; attempt++) {
    const metadata = withoutIntent(current, reschedule);
    if (metadata === undefined) return current;
    try {
      return await kube.update(persistentVolumeClaims, { ...current, metadata }, { brief: true, signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (attempt >= MOST_ATTEMPTS || !isConflict(error)) throw error;
      current = await ifThere(kube.get(persistentVolumeClaims, { name, namespace }, { signal }));
      const found = current?.metadata.uid === uid ? intentOn(current) : undefined;
      if (found && !(found.digest === decidedOn?.digest && found.asked === decidedOn.asked)) throw error;
    }
  }
  return undefined;
}

/** Undefined when there is nothing to remove. */
function withoutIntent(claim: PersistentVolumeClaim, reschedule: boolean): Metadata | undefined {
  const { finalizers = [], annotations = {} } = claim.metadata;
  const unwanted = reschedule
    ? [ANN_PROVISIONING_REQUEST, ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA]
    : [ANN_PROVISIONING_REQUEST];
  const isClean = unwanted.every((key) => annotations[key] === undefined);
  if (isClean && !hasFinalizer(claim, FINALIZER_PROVISIONING)) return undefined;
  return {
    ...claim.metadata,
    finalizers: finalizers.filter((each) => each !== FINALIZER_PROVISIONING),
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !unwanted.includes(key))),
  };
}

// Writes the intent on a claim and takes it off again: the provisioning finalizer, and beside it a digest of the
// request, by which a later process knows whether it asks for the same, how often the driver was asked, and what of the
// request users can change once the claim is bound. Each is one write that carries the version it was decided from, so
// that it fails when the claim has changed. (A whole update costs the server less than a patch.)

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../../api/kinds.ts';
import type { Metadata } from '../../../api/object.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isConflict, isInvalid, isNotFound } from '../../../runtime/kube/kube-error.ts';

/** A change of the claim wakes its loop; this is for a watch that is silent. */
export const CHANGED_MS = 1_000;

/** Somebody else may write the claim in between, but not for ever. */
const MOST_ATTEMPTS = 5;

/** Digest, times asked, size and attributes class. */
function wordsOf(claim: PersistentVolumeClaim): string[] {
  return claim.metadata.annotations?.[ANN_PROVISIONING_REQUEST]?.split(' ') ?? [];
}

/** The request that the intent on this claim was written for. */
export function intendedDigest(claim: PersistentVolumeClaim): string | undefined {
  return wordsOf(claim)[0];
}

/** How often the driver may have been asked since the intent was written. */
export function timesAsked(claim: PersistentVolumeClaim): number {
  const [digest, times = 1] = wordsOf(claim);
  return digest === undefined ? 0 : Number(times);
}

/** The claim as it was when the driver was first asked: a bound one may ask for more since. */
export function asFirstAsked(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const [, , storage, attributesClass] = wordsOf(claim);
  if (!storage) return claim;
  const { volumeAttributesClassName: _now, resources, ...spec } = claim.spec;
  return {
    ...claim,
    spec: {
      ...spec,
      resources: { ...resources, requests: { ...resources?.requests, storage } },
      ...(attributesClass && { volumeAttributesClassName: attributesClass }),
    },
  };
}

/**
 * The claim on which the intent stands, and will stay until this process takes it off; undefined when it has changed
 * since it was read. To be called before the driver is asked once more: a removal of the intent that was sent before,
 * by this process or the one before it, and whose answer was lost may have happened, or may be on its way still. This
 * write fails in the first case and makes that fail in the second.
 */
export async function renewIntent(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  const [digest = '', , ...changeable] = wordsOf(claim);
  const text = [digest, timesAsked(claim) + 1, ...changeable].join(' ');
  const annotations = { ...claim.metadata.annotations, [ANN_PROVISIONING_REQUEST]: text };
  const metadata: Metadata = { ...claim.metadata, annotations };
  return write(kube, { ...claim, metadata }, signal);
}

/** A request, and the claim's wishes that it was made from. */
export interface AskedFor {
  digest: string;
  spec: PersistentVolumeClaim['spec'];
}

/**
 * The claim with the intent on it; undefined when it changed since it was read, so that nothing was written and it must
 * be looked at again. Once this returns a claim, no crash can lose the volume.
 */
export async function recordIntent(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  { digest, spec }: AskedFor,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  const { finalizers = [], annotations = {} } = claim.metadata;
  const size = spec.resources?.requests?.storage ?? '';
  const text = [digest, 1, size, spec.volumeAttributesClassName ?? ''].join(' ').trimEnd();
  const metadata: Metadata = {
    ...claim.metadata,
    finalizers: [...finalizers, FINALIZER_PROVISIONING],
    annotations: { ...annotations, [ANN_PROVISIONING_REQUEST]: text },
  };
  return write(kube, { ...claim, metadata }, signal);
}

async function write(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  try {
    return await kube.update(persistentVolumeClaims, claim, { brief: true, signal });
  } catch (error) {
    // Invalid: the claim is being deleted and takes no new finalizers.
    if (isConflict(error) || isInvalid(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

/** The claim without the intent; undefined when it is gone. `reschedule`: also give it back to the scheduler. */
export async function dropIntent(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  options: { reschedule?: boolean; signal: AbortSignal },
): Promise<PersistentVolumeClaim | undefined> {
  const { reschedule = false, signal } = options;
  const name = { name: claim.metadata.name, namespace: claim.metadata.namespace ?? '' };
  let current = claim;
  for (let attempt = 1; ; attempt++) {
    const metadata = withoutIntent(current, reschedule);
    if (metadata === undefined) return current;
    try {
      return await kube.update(persistentVolumeClaims, { ...current, metadata }, { brief: true, signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (attempt >= MOST_ATTEMPTS || !isConflict(error)) throw error;
    }
    try {
      current = await kube.get(persistentVolumeClaims, name, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    if (current.metadata.uid !== claim.metadata.uid) return undefined;
  }
}

/** Undefined when there is nothing to take off. */
function withoutIntent(claim: PersistentVolumeClaim, reschedule: boolean): Metadata | undefined {
  const { finalizers = [], annotations = {} } = claim.metadata;
  const unwanted = [
    ANN_PROVISIONING_REQUEST,
    ...(reschedule ? [ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA] : []),
  ];
  const isClean =
    !hasFinalizer(claim, FINALIZER_PROVISIONING) && unwanted.every((key) => annotations[key] === undefined);
  if (isClean) return undefined;
  return {
    ...claim.metadata,
    finalizers: finalizers.filter((each) => each !== FINALIZER_PROVISIONING),
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !unwanted.includes(key))),
  };
}

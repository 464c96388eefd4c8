// Writes the intent on a claim and takes it off again: the provisioning finalizer, and beside it a digest of the
// request, by which a later process knows whether it asks for the same. Each is one patch that touches nothing else
// and fails when the claim is another one than was looked at.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../../api/kinds.ts';
import {
  ANN_PROVISIONING_REQUEST,
  ANN_SELECTED_NODE,
  ANN_SELECTED_NODE_ALPHA,
  FINALIZER_PROVISIONING,
} from '../../../api/well-known.ts';
import type { KubeClient } from '../../../runtime/kube.ts';
import { isConflict, isInvalid, isNotFound } from '../../../runtime/kube-error.ts';
import { hasFinalizer } from '../../common/finalizers.ts';

interface Operation {
  op: 'test' | 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

const FINALIZERS = '/metadata/finalizers';
const ANNOTATIONS = '/metadata/annotations';
const annotationPath = (key: string) => `${ANNOTATIONS}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
/** Somebody else may write the claim's finalizers in between, but not for ever. */
const MOST_ATTEMPTS = 4;

/** The request that the intent on this claim was written for. */
export function intendedDigest(claim: PersistentVolumeClaim): string | undefined {
  return claim.metadata.annotations?.[ANN_PROVISIONING_REQUEST];
}

/**
 * The claim with the intent on it; undefined when it changed since it was read, so that nothing was written and it must
 * be looked at again. Once this returns a claim, no crash can lose the volume.
 */
export async function recordIntent(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  digest: string,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  const { finalizers, annotations } = claim.metadata;
  const patch: Operation[] = [
    ...sameAs(claim),
    finalizers === undefined
      ? { op: 'add', path: FINALIZERS, value: [FINALIZER_PROVISIONING] }
      : { op: 'replace', path: FINALIZERS, value: [...finalizers, FINALIZER_PROVISIONING] },
    annotations === undefined
      ? { op: 'add', path: ANNOTATIONS, value: { [ANN_PROVISIONING_REQUEST]: digest } }
      : { op: 'add', path: annotationPath(ANN_PROVISIONING_REQUEST), value: digest },
  ];
  try {
    return await kube.patch(persistentVolumeClaims, nameOf(claim), patch, { type: 'json', signal });
  } catch (error) {
    // Invalid: a test failed, or the claim is being deleted and takes no new finalizers.
    if (isInvalid(error) || isConflict(error) || isNotFound(error)) return undefined;
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
  let current = claim;
  for (let attempt = 1; ; attempt++) {
    const patch = dropPatch(current, reschedule);
    if (patch.length === 0) return current;
    try {
      return await kube.patch(persistentVolumeClaims, nameOf(claim), [...sameAs(current), ...patch], {
        type: 'json',
        signal,
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (attempt >= MOST_ATTEMPTS || !(isInvalid(error) || isConflict(error))) throw error;
    }
    try {
      current = await kube.get(persistentVolumeClaims, nameOf(claim), { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    if (current.metadata.uid !== claim.metadata.uid) return undefined;
  }
}

function dropPatch(claim: PersistentVolumeClaim, reschedule: boolean): Operation[] {
  const { finalizers = [], annotations = {} } = claim.metadata;
  const unwanted = [
    ANN_PROVISIONING_REQUEST,
    ...(reschedule ? [ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA] : []),
  ];
  return [
    ...unwanted
      .filter((key) => annotations[key] !== undefined)
      .map((key): Operation => ({ op: 'remove', path: annotationPath(key) })),
    ...(hasFinalizer(claim, FINALIZER_PROVISIONING)
      ? [
          {
            op: 'replace' as const,
            path: FINALIZERS,
            value: finalizers.filter((each) => each !== FINALIZER_PROVISIONING),
          },
        ]
      : []),
  ];
}

function sameAs({ metadata }: PersistentVolumeClaim): Operation[] {
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path: FINALIZERS, value: metadata.finalizers ?? null },
  ];
}

function nameOf({ metadata }: PersistentVolumeClaim): { name: string; namespace: string } {
  return { name: metadata.name, namespace: metadata.namespace ?? '' };
}

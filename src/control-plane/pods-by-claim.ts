// Which pods use a claim, and which claims were created for a pod. One index in the shared informer serves all
// controllers.

import type { PersistentVolumeClaim, Pod } from '../api/kinds.ts';
import { claimNameOf } from '../api/volumes.ts';
import type { Informer } from '../runtime/informer/informer.ts';

const INDEX = 'pods-by-claim';

/** Keys of the claims that a pod's volumes name, whether they exist or not. */
export function claimKeysOf(pod: Pod): string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume);
    return name === undefined ? [] : [`${pod.metadata.namespace}/${name}`];
  });
}

/** `informer` must be asked for with the same options by everyone, so that it is the same one. */
export function indexPodsByClaim(informer: Informer<Pod>): (claimKey: string) => readonly Pod[] {
  informer.addIndex(INDEX, claimKeysOf);
  return (claimKey) => informer.byIndex(INDEX, claimKey);
}

/** Whether a claim was made for this very pod, and not only has the name of one that would be. */
export function isMadeFor(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return (claim.metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => uid === pod.metadata.uid && controller === true,
  );
}

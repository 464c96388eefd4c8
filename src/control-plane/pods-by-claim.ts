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

/** Every caller must ask for `informer` with the same options, so that all of them get the same one. */
export function indexPodsByClaim(informer: Informer<Pod>): (claimKey: string) => readonly Pod[] {
  informer.addIndex(INDEX, claimKeysOf);
  return (claimKey) => informer.byIndex(INDEX, claimKey);
}

/** Whether a claim was created for exactly this pod, and does not just have the same name. */
export function isMadeFor(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return (claim.metadata.ownerReferences ?? []).some(
    ({ uid, controller }) => uid === pod.metadata.uid && controller === true,
  );
}

// Prime claims and populator pods whose creation took effect only after their claim was cleaned up: nothing else would
// delete them. A request that its sender gave up may do so at any time. Reads claims, and deletes prime claims and pods.

import { type PersistentVolumeClaim, type Pod, persistentVolumeClaims, pods } from '../api/kinds.ts';
import { type KubeObject, nameFromKey, type Resource } from '../api/object.ts';
import type { Informer } from '../runtime/informer/informer.ts';
import { hasFinalizer } from '../runtime/kube/finalizers.ts';
import { ifThere } from '../runtime/kube/if-there.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Log } from '../runtime/ports.ts';
import {
  claimUidIn,
  finalizerOf,
  type PopulatorDefinition,
  podNameOf,
  populatesOf,
  primeNameOf,
} from './populator-definition.ts';

const BY_CLAIM = 'populator/by-claim';

interface Ports {
  kube: KubeClient;
  log: Log;
  claims: Informer<PersistentVolumeClaim>;
  pods: Informer<Pod>;
}

export function createOrphans(
  { kube, log, claims, pods: podCache }: Ports,
  definition: Pick<PopulatorDefinition, 'prefix' | 'namespace'>,
) {
  const { namespace } = definition;
  const populates = populatesOf(definition);
  const finalizer = finalizerOf(definition);
  const claimKeyOf = ({ metadata }: KubeObject): string | undefined =>
    metadata.namespace === namespace ? metadata.annotations?.[populates] : undefined;
  for (const cache of [claims, podCache]) {
    cache.addIndex(BY_CLAIM, (object: KubeObject) => {
      const key = claimKeyOf(object);
      return key === undefined ? [] : [key];
    });
  }

  /** A claim without the finalizer has been cleaned up, or gets it before anything is created for it. */
  const needs = (claim: PersistentVolumeClaim | undefined, claimUid: string): boolean =>
    claim?.metadata.uid === claimUid && (hasFinalizer(claim, finalizer) || isOpen(claim));

  async function isOrphan(key: string, claimUid: string, signal: AbortSignal): Promise<boolean> {
    if (needs(claims.get(key), claimUid)) return false;
    // The cache may be behind.
    const claim = await ifThere(kube.get(persistentVolumeClaims, nameFromKey(key), { signal }));
    return !needs(claim, claimUid);
  }

  async function remove(resource: Resource, { metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { name, uid } = metadata;
    log.info('It was created after its claim was cleaned up, and is deleted', { kind: resource.kind, name });
    await ifThere(kube.delete(resource, { name, namespace }, { preconditions: { uid }, signal }));
  }

  return {
    /** `namespace/name` of the claim that a prime claim or populator pod is for; undefined when it is neither. */
    claimKeyOf,
    /** Those of the claim with this key. */
    async deleteFor(key: string, signal: AbortSignal): Promise<void> {
      for (const pod of podCache.byIndex(BY_CLAIM, key)) {
        const { name, deletionTimestamp } = pod.metadata;
        const claimUid = claimUidIn(name) ?? '';
        if (deletionTimestamp || name !== podNameOf(claimUid)) continue;
        if (await isOrphan(key, claimUid, signal)) await remove(pods, pod, signal);
      }
      for (const prime of claims.byIndex(BY_CLAIM, key)) {
        const { name, deletionTimestamp } = prime.metadata;
        const claimUid = claimUidIn(name) ?? '';
        if (deletionTimestamp || name !== primeNameOf(claimUid)) continue;
        if (!(await isOrphan(key, claimUid, signal))) continue;
        // The cache may not show it yet.
        await ifThere(kube.delete(pods, { name: podNameOf(claimUid), namespace }, { signal }));
        await remove(persistentVolumeClaims, prime, signal);
      }
    },
  };
}

/** Its population is not over. */
function isOpen({ metadata, spec }: PersistentVolumeClaim): boolean {
  return !spec.volumeName && metadata.deletionTimestamp === undefined;
}

// Which pod uses a claim, for drivers that only expand unused volumes. Listed on demand instead of caching every pod of
// the cluster, whose memory has crashed resizers.

import { type PersistentVolumeClaim, pods } from '../../../api/kinds.ts';
import { claimNameOf, isTerminated } from '../../../api/volumes.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';

/** The name of a scheduled pod that has not ended. */
export async function podThatUses(
  kube: KubeClient,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name, namespace = '' } = claim.metadata;
  const { items } = await kube.list(pods, { namespace, signal });
  const user = items.find(
    (pod) =>
      pod.spec.nodeName &&
      !isTerminated(pod) &&
      pod.spec.volumes?.some((volume) => claimNameOf(pod, volume) === name),
  );
  return user?.metadata.name;
}

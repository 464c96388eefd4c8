// Who uses a claim now, for drivers that only grow volumes which nobody uses. Asked when it matters, instead of keeping
// every pod of the cluster in memory: that alone has brought resizers down.

import { type PersistentVolumeClaim, pods } from '../../../api/kinds.ts';
import { claimNameOf, isTerminated } from '../../../api/volumes.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';

/** The name of a pod that is on a node and not done. */
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

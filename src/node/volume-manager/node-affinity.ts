// Checks a volume's node affinity against this node. The scheduler has done so already, but not for a pod with
// spec.nodeName, and labels may have changed since.

import { type Node, nodes } from '../../api/kinds.ts';
import { matchesNodeSelectorTerms } from '../../api/selectors.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';

export async function matchesNodeAffinity(
  { kube, node, nodeName }: { kube: Pick<KubeClient, 'get'>; node: Informer<Node>; nodeName: string },
  { requiredNodes }: Pick<MountableVolume, 'requiredNodes'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (!requiredNodes) return true;
  const cached = node.get(nodeName);
  if (cached && matchesNodeSelectorTerms(requiredNodes, cached)) return true;
  // The cache may lag behind the labels that a driver's registration has just written.
  return matchesNodeSelectorTerms(requiredNodes, await kube.get(nodes, { name: nodeName }, { signal }));
}

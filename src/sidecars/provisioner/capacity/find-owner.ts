// The owner of the published capacity objects: the provisioner's pod, or its controller some levels up. The garbage
// collector deletes the objects with their owner.

import { type KubeObject, pods, type Resource } from '../../../api/index.ts';
import type { OwnerReference } from '../../../api/object.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';

/** The kinds that control pods, and the kinds that control these. */
const KNOWN: Readonly<Record<string, Resource>> = {
  ReplicaSet: { group: 'apps', version: 'v1', plural: 'replicasets', kind: 'ReplicaSet', namespaced: true },
  Deployment: { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
  StatefulSet: {
    group: 'apps',
    version: 'v1',
    plural: 'statefulsets',
    kind: 'StatefulSet',
    namespaced: true,
  },
  DaemonSet: { group: 'apps', version: 'v1', plural: 'daemonsets', kind: 'DaemonSet', namespaced: true },
};

/** `levels`: 0 for the pod itself, 1 for its controller, and so on. */
export async function findOwner(
  kube: KubeClient,
  pod: { name: string; namespace: string },
  levels: number,
  signal: AbortSignal,
): Promise<OwnerReference> {
  let object: KubeObject = await kube.get(pods, pod, { signal });
  for (let level = 0; level < levels; level++) {
    const controller = object.metadata.ownerReferences?.find((each) => each.controller === true);
    if (!controller) {
      throw new Error(
        `--capacity-ownerref-level=${levels} is too high: nothing controls ${object.kind} ${object.metadata.name}`,
      );
    }
    const { apiVersion, kind, name, uid } = controller;
    // The last level is taken from the owner reference, so that no permission to read it is needed.
    if (level === levels - 1) return { apiVersion, kind, name, uid, controller: true };
    const resource = KNOWN[kind];
    if (!resource)
      throw new Error(`--capacity-ownerref-level=${levels}: cannot look up the owner of a ${kind}`);
    object = await kube.get(resource, { name, namespace: pod.namespace }, { signal });
  }
  const { name, uid } = object.metadata;
  return { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
}

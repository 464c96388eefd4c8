// Who owns the published capacity: the provisioner's pod, or what controls it some levels up. When that is deleted,
// so are the objects.

import { type KubeObject, pods, type Resource } from '../../../api/index.ts';
import type { OwnerReference } from '../../../api/object.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';

/** What controls pods, and what controls that; more levels than these have not been seen. */
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
    // The last level is known from the reference alone: no need to be allowed to read it.
    if (level === levels - 1) return { apiVersion, kind, name, uid, controller: true };
    const resource = KNOWN[kind];
    if (!resource)
      throw new Error(`--capacity-ownerref-level=${levels}: cannot look up the owner of a ${kind}`);
    object = await kube.get(resource, { name, namespace: pod.namespace }, { signal });
  }
  const { name, uid } = object.metadata;
  return { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
}

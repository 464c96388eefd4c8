// The owner of the published capacity objects: the provisioner's pod, or its controller some levels up. The garbage
// collector deletes the objects with their owner.

import { type KubeObject, pods } from '../../../api/index.ts';
import type { OwnerReference } from '../../../api/object.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';

/** The kinds that control pods, and the kinds that control these; all in apps/v1. */
const KNOWN: ReadonlySet<string> = new Set(['ReplicaSet', 'Deployment', 'StatefulSet', 'DaemonSet']);

/** `levels`: 0 for the pod itself, 1 for its controller, and so on. */
export async function findOwner(
  kube: KubeClient,
  pod: { name: string; namespace: string },
  levels: number,
  signal: AbortSignal,
): Promise<OwnerReference> {
  const flag = `--capacity-ownerref-level=${levels}`;
  let object: KubeObject = await kube.get(pods, pod, { signal });
  for (let level = 0; level < levels; level++) {
    const controller = object.metadata.ownerReferences?.find((each) => each.controller === true);
    if (!controller) {
      throw new Error(`${flag} is too high: nothing controls ${object.kind} ${object.metadata.name}`);
    }
    const { apiVersion, kind, name, uid } = controller;
    // The last level is taken from the owner reference, so that no permission to read it is needed.
    if (level === levels - 1) return { apiVersion, kind, name, uid, controller: true };
    if (!KNOWN.has(kind)) throw new Error(`${flag}: cannot look up the owner of a ${kind}`);
    const plural = `${kind.toLowerCase()}s`;
    const resource = { group: 'apps', version: 'v1', plural, kind, namespaced: true };
    object = await kube.get(resource, { name, namespace: pod.namespace }, { signal });
  }
  const { name, uid } = object.metadata;
  return { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
}

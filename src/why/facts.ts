// All objects that an explanation needs, read once. Kinds that may not be read or are not served are noted and treated as empty.

import {
  type CSIDriver,
  type CSINode,
  csiDrivers,
  csiNodes,
  type Event,
  events,
  type Lease,
  leases,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type StorageClass,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../runtime/kube/kube-error.ts';

export interface Facts {
  readonly nowMs: number;
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
  readonly attachments: readonly VolumeAttachment[];
  readonly drivers: readonly CSIDriver[];
  readonly csiNodes: readonly CSINode[];
  readonly nodes: readonly Node[];
  readonly leases: readonly Lease[];
  readonly events: readonly Event[];
  /** Kinds that this account may not list: nothing is concluded from their absence. */
  readonly unread: readonly string[];
}

export async function readFacts(
  kube: KubeClient,
  options: { nowMs: number; namespace: string | undefined; signal: AbortSignal },
): Promise<Facts> {
  const { nowMs, namespace, signal } = options;
  const unread: string[] = [];
  const all = async <T extends KubeObject>(resource: Resource<T>, within?: string): Promise<T[]> => {
    try {
      return (await kube.list(resource, { ...(within && { namespace: within }), signal })).items;
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      unread.push(resource.plural);
      return [];
    }
  };
  const [ofNamespace, ofCluster] = await Promise.all([
    Promise.all([all(pods, namespace), all(persistentVolumeClaims, namespace), all(events, namespace)]),
    Promise.all([
      all(persistentVolumes),
      all(storageClasses),
      all(volumeAttachments),
      all(csiDrivers),
      all(csiNodes),
      all(nodes),
      all(leases),
      // Events of cluster-scoped objects are in this namespace.
      namespace === undefined || namespace === 'default' ? [] : all(events, 'default'),
    ]),
  ]);
  const [foundPods, claims, said] = ofNamespace;
  const [volumes, classes, attachments, drivers, foundCsiNodes, foundNodes, foundLeases, saidElsewhere] =
    ofCluster;
  return {
    nowMs,
    pods: foundPods,
    claims,
    volumes,
    classes,
    attachments,
    drivers,
    csiNodes: foundCsiNodes,
    nodes: foundNodes,
    leases: foundLeases,
    events: [...said, ...saidElsewhere],
    unread,
  };
}

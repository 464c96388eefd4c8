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
  type VolumeAttributesClass,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  volumeAttachments,
  volumeAttributesClasses,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
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
  /** The following are undefined where they were not read or are not served: nothing is concluded from their absence. */
  readonly attributesClasses?: readonly VolumeAttributesClass[] | undefined;
  readonly snapshots?: readonly VolumeSnapshot[] | undefined;
  readonly contents?: readonly VolumeSnapshotContent[] | undefined;
  readonly snapshotClasses?: readonly VolumeSnapshotClass[] | undefined;
  readonly groups?: readonly VolumeGroupSnapshot[] | undefined;
  /** Kinds that this account may not list: nothing is concluded from their absence. */
  readonly unread: readonly string[];
}

/** Without `namespace`, the objects of all namespaces. */
export async function readFacts(
  kube: Pick<KubeClient, 'list'>,
  options: { nowMs: number; namespace: string | undefined; signal: AbortSignal },
): Promise<Facts> {
  const { nowMs, namespace, signal } = options;
  const unread: string[] = [];
  const list = async <T extends KubeObject>(resource: Resource<T>, within?: string): Promise<T[]> =>
    (await kube.list(resource, { ...(within && { namespace: within }), signal })).items;
  const all = async <T extends KubeObject>(resource: Resource<T>, within?: string): Promise<T[]> => {
    try {
      return await list(resource, within);
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      unread.push(resource.plural);
      return [];
    }
  };
  /** Of kinds that a cluster may do without. */
  const some = async <T extends KubeObject>(
    resource: Resource<T>,
    within?: string,
  ): Promise<T[] | undefined> => {
    try {
      return await list(resource, within);
    } catch (error) {
      if (isForbidden(error)) unread.push(resource.plural);
      else if (!isNotFound(error)) throw error;
      return undefined;
    }
  };
  const reading = {
    pods: all(pods, namespace),
    claims: all(persistentVolumeClaims, namespace),
    events: all(events, namespace),
    // Events of cluster-scoped objects are in this namespace.
    eventsOfCluster: namespace === undefined || namespace === 'default' ? [] : all(events, 'default'),
    volumes: all(persistentVolumes),
    classes: all(storageClasses),
    attachments: all(volumeAttachments),
    drivers: all(csiDrivers),
    csiNodes: all(csiNodes),
    nodes: all(nodes),
    leases: all(leases),
    attributesClasses: some(volumeAttributesClasses),
    snapshots: some(volumeSnapshots, namespace),
    contents: some(volumeSnapshotContents),
    snapshotClasses: some(volumeSnapshotClasses),
    groups: some(volumeGroupSnapshots, namespace),
  };
  const names = Object.keys(reading) as (keyof typeof reading)[];
  const read = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await reading[name]])),
  ) as { [K in keyof typeof reading]: Awaited<(typeof reading)[K]> };
  const { eventsOfCluster, ...found } = read;
  return {
    ...found,
    nowMs,
    events: [...found.events, ...eventsOfCluster],
    unread: [...new Set(unread)],
  };
}

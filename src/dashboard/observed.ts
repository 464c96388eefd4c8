// The objects that the page shows, read from caches. Kinds that may not be read, or are
// not served although every cluster has them, are noted and treated as empty.

import {
  type CSIStorageCapacity,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  events,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  type VolumeGroupSnapshot,
  type VolumeSnapshot,
  volumeAttachments,
  volumeAttributesClasses,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import type { Informer, Informers } from '../runtime/informer/informer.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../runtime/kube/kube-error.ts';
import type { Clock } from '../runtime/ports.ts';
import type { Facts } from '../why/facts.ts';

export interface Observation extends Facts {
  readonly snapshots: readonly VolumeSnapshot[];
  readonly groups: readonly VolumeGroupSnapshot[];
  readonly capacities: readonly CSIStorageCapacity[];
}

export interface Observed {
  now(): Observation;
  /** Calls back whenever a row may have changed. Returns a function that stops it. */
  subscribe(onChange: () => void): () => void;
}

export interface ObservedPorts {
  readonly kube: Pick<KubeClient, 'list'>;
  /** Started by their owner. */
  readonly informers: Informers;
  readonly clock: Clock;
}

/** Resolves once all that may be read has been. */
export async function observe(
  { kube, informers, clock }: ObservedPorts,
  signal: AbortSignal,
): Promise<Observed> {
  // Optional: a kind that this account may not read must not keep the others from being shown.
  const of = <T extends KubeObject>(resource: Resource<T>) => informers.of(resource, { optional: true });
  const rows = {
    pods: of(pods),
    claims: of(persistentVolumeClaims),
    volumes: of(persistentVolumes),
    classes: of(storageClasses),
    attachments: of(volumeAttachments),
    drivers: of(csiDrivers),
    csiNodes: of(csiNodes),
    nodes: of(nodes),
  };
  // A cluster may do without these.
  const optional = {
    attributesClasses: of(volumeAttributesClasses),
    snapshots: of(volumeSnapshots),
    contents: of(volumeSnapshotContents),
    snapshotClasses: of(volumeSnapshotClasses),
    groups: of(volumeGroupSnapshots),
    capacities: of(csiStorageCapacities),
  };
  // These change all the time, and no row is made of them.
  const beside = { leases: of(leases), events: of(events) };
  const all = [...Object.values(rows), ...Object.values(optional), ...Object.values(beside)];
  const [{ forbidden, absent }] = await Promise.all([
    readable(
      kube,
      all.map(({ resource }) => resource as unknown as Resource),
      signal,
    ),
    ...all.map((informer) => informer.synced(signal)),
  ]);
  const isOptional = (plural: string): boolean =>
    Object.values(optional).some(({ resource }) => resource.plural === plural);
  /** Undefined where it was not read: nothing is concluded from its absence. */
  const ifRead = <T extends KubeObject>(informer: Informer<T>): T[] | undefined => {
    const found = informer.list();
    const { plural } = informer.resource;
    return found.length === 0 && (forbidden.includes(plural) || absent.includes(plural)) ? undefined : found;
  };
  return {
    now: () => ({
      nowMs: clock.now(),
      pods: rows.pods.list(),
      claims: rows.claims.list(),
      volumes: rows.volumes.list(),
      classes: rows.classes.list(),
      attachments: rows.attachments.list(),
      drivers: rows.drivers.list(),
      csiNodes: rows.csiNodes.list(),
      nodes: rows.nodes.list(),
      attributesClasses: ifRead(optional.attributesClasses),
      snapshots: optional.snapshots.list(),
      contents: ifRead(optional.contents),
      snapshotClasses: ifRead(optional.snapshotClasses),
      groups: optional.groups.list(),
      capacities: optional.capacities.list(),
      leases: beside.leases.list(),
      events: beside.events.list(),
      unread: [...forbidden, ...absent.filter((plural) => !isOptional(plural))],
    }),
    subscribe(onChange) {
      const handler = { added: onChange, updated: onChange, deleted: onChange };
      const ends = [...Object.values(rows), ...Object.values(optional)].map((informer) =>
        (informer as unknown as Informer<KubeObject>).subscribe(handler),
      );
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/** An informer does not tell an empty kind from one that may not be read or is not served. */
async function readable(
  kube: Pick<KubeClient, 'list'>,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<{ forbidden: string[]; absent: string[] }> {
  const forbidden: string[] = [];
  const absent: string[] = [];
  const asked = resources.map(async (resource) => {
    try {
      await kube.list(resource, { limit: 1, signal });
    } catch (error) {
      if (isForbidden(error)) forbidden.push(resource.plural);
      else if (isNotFound(error)) absent.push(resource.plural);
      else throw error;
    }
  });
  await Promise.all(asked);
  return { forbidden, absent };
}

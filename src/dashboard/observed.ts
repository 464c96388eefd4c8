// The objects that the page shows, read from caches. Kinds that may not be read or are not served are noted and treated as empty.

import {
  csiDrivers,
  csiNodes,
  events,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  type VolumeSnapshot,
  volumeAttachments,
  volumeSnapshots,
} from '../api/kinds.ts';
import type { KubeObject, Resource } from '../api/object.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import { isForbidden, isNotFound } from '../runtime/kube/kube-error.ts';
import type { Clock } from '../runtime/ports.ts';
import type { Facts } from '../why/facts.ts';

export interface Observation extends Facts {
  readonly snapshots: readonly VolumeSnapshot[];
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
    snapshots: of(volumeSnapshots),
  };
  // These change all the time, and no row is made of them.
  const beside = { leases: of(leases), events: of(events) };
  const all = [...Object.values(rows), ...Object.values(beside)];
  const [unread] = await Promise.all([
    unreadOf(
      kube,
      all.map(({ resource }) => resource as unknown as Resource),
      signal,
    ),
    ...all.map((informer) => informer.synced(signal)),
  ]);
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
      snapshots: rows.snapshots.list(),
      leases: beside.leases.list(),
      events: beside.events.list(),
      unread,
    }),
    subscribe(onChange) {
      const handler = { added: onChange, updated: onChange, deleted: onChange };
      const ends = Object.values(rows).map((informer) => informer.subscribe(handler));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

/** An informer does not tell an empty kind from one that is kept from it. */
async function unreadOf(
  kube: Pick<KubeClient, 'list'>,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<string[]> {
  const asked = resources.map(async (resource) => {
    try {
      await kube.list(resource, { limit: 1, signal });
      return [];
    } catch (error) {
      if (isForbidden(error) || isNotFound(error)) return [resource.plural];
      throw error;
    }
  });
  return (await Promise.all(asked)).flat();
}

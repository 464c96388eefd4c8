// The garbage collector: deletes objects whose owners are gone. Propagation is background (after the owner), foreground
// (before the owner) or orphan (not at all). Watches the metadata of every kind that the server serves; writes
// finalizers and owner references, and deletes.

import { customResourceDefinitions } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, DiscoveringPorts } from '../controller.ts';
import { createObjectCollector } from './collect-object.ts';
import { orphansDependents, waitsForDependents } from './decide-dependent.ts';
import { type GraphListener, type GraphObject, graphKey, ObjectGraph } from './object-graph.ts';
import { OwnerLookup } from './owner-lookup.ts';

const WORKERS = 20;
const BACKOFF = { startMs: 100, maxMs: 60_000 };
/** New kinds come with CRDs, which are watched; aggregated APIs appear without an event. */
const DISCOVER_AGAIN_MS = 300_000;
/** A server lists a new kind in discovery a moment after it accepts its CRD. */
const AFTER_DEFINITION_MS = 2_000;
const DISCOVER_UNKNOWN_MS = 30_000;
const PERIODIC = 'periodic';

export function createGarbageCollector(ports: DiscoveringPorts): Controller {
  const { kube, informers, discovery, recorder, clock } = ports;
  const log = ports.log.with({ controller: 'garbage-collector' });
  const common = { ...ports, log, backoff: BACKOFF };

  const enqueue = (item: GraphObject): void => objectLoop.add(graphKey(item));
  /** Owners that wait for their dependents are enqueued again when one of these changes. */
  const wakeWaitingOwners = ({ object }: GraphObject): void => {
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owner = graph.findByUid(uid);
      if (owner && waitsForDependents(owner.object)) enqueue(owner);
    }
  };
  const listener: GraphListener = {
    changed(before, after) {
      const ownersChanged = !sameJson(ownersOf(before), ownersOf(after));
      if (ownersChanged && after.object.metadata.ownerReferences?.length) enqueue(after);
      if (before && ownersChanged) wakeWaitingOwners(before);
      if (waitsForDependents(after.object) || orphansDependents(after.object)) enqueue(after);
    },
    deleted(last) {
      for (const dependent of graph.dependentsOf(last.object.metadata.uid)) enqueue(dependent);
      wakeWaitingOwners(last);
    },
  };
  const graph = new ObjectGraph({ informers, discovery, listener });
  const owners = new OwnerLookup({ kube, graph });
  const objectLoop = createLoop({
    ...common,
    name: 'garbage',
    workers: WORKERS,
    reconcile: createObjectCollector({
      kube,
      graph,
      owners,
      recorder,
      clock,
      log,
      enqueue: (key) => objectLoop.add(key),
    }),
  });
  const discovered = Promise.withResolvers<void>();
  const discoveryLoop = createLoop({
    ...common,
    name: 'garbage-discovery',
    async reconcile(key, { signal }) {
      const unknown = await graph.refresh(signal);
      discovered.resolve();
      if (key !== PERIODIC) return done;
      if (unknown.length === 0) return requeueAfter(DISCOVER_AGAIN_MS, 'discovery runs again');
      log.warn('Discovery failed for some API groups; their objects are not collected', { groups: unknown });
      return requeueAfter(DISCOVER_UNKNOWN_MS, 'discovery failed for some groups');
    },
  });
  const definitionChanged = (): void => {
    discoveryLoop.add('definitions');
    discoveryLoop.addAfter('definitions, a moment later', AFTER_DEFINITION_MS);
  };
  informers.of(customResourceDefinitions).subscribe({
    added: definitionChanged,
    updated: definitionChanged,
    deleted: definitionChanged,
  });

  /** Before the caches are synced, nearly every owner would seem absent and cost a request. */
  async function collectOnceSynced(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => discovered.resolve(), { once: true });
    await discovered.promise;
    if (await cachesSynced([graph], signal)) await objectLoop.run(signal);
  }

  return {
    name: 'garbage-collector-controller',
    async run(signal) {
      discoveryLoop.add(PERIODIC);
      await Promise.all([discoveryLoop.run(signal), collectOnceSynced(signal)]);
    },
  };
}

function ownersOf(item: GraphObject | undefined): readonly OwnerReference[] | undefined {
  const owners = item?.object.metadata.ownerReferences;
  return owners?.length === 0 ? undefined : owners;
}

// Collects one object. It is deleted when none of its owners exists. When it is being deleted itself, its dependents are
// deleted or orphaned first, as its finalizers ask. Everything is read from the server before a write, and each write
// carries the resourceVersion that was read.

import type { KubeObject } from '../../api/object.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Clock, Log } from '../../runtime/ports.ts';
import { done, type Outcome, type Reconcile, requeueAfter } from '../../runtime/queue/loop.ts';
import { withDeadline } from '../../runtime/time/deadline.ts';
import {
  blocks,
  decideDependent,
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  orphansDependents,
  waitsForDependents,
} from './decide-dependent.ts';
import { type GraphObject, graphKey, type ObjectGraph } from './object-graph.ts';
import type { OwnerLookup } from './owner-lookup.ts';

/** Caches of new kinds are not synced yet, so the dependents of the object are not known. */
const WAIT_FOR_CACHES_MS = 200;
/** The owner's kind may be installed later. Discovery notices that; this interval is the safety net. */
const LOOK_FOR_KIND_AGAIN_MS = 60_000;
/** A kind that cannot be listed must not keep a worker for ever. */
const LIST_AGAIN_WITHIN_MS = 60_000;
/** Nor all workers, when many owners are orphaned. */
const MOST_LISTING = 2;

export interface CollectorPorts {
  kube: KubeClient;
  graph: ObjectGraph;
  owners: OwnerLookup;
  recorder: EventRecorder;
  clock: Clock;
  log: Log;
  enqueue(key: string): void;
}

export function createObjectCollector(ports: CollectorPorts): Reconcile {
  const { kube, graph, owners, recorder, clock, log, enqueue } = ports;
  /** How many list every kind again. */
  let listing = 0;

  return async (key, { signal }) => {
    const item = graph.find(key);
    if (!item) return done;
    if (item.object.metadata.deletionTimestamp) return finishDeletion(item, signal);
    const references = item.object.metadata.ownerReferences ?? [];
    if (references.every((each) => owners.cachedState(each, item) === 'present')) return done;
    return collectDependent(item, signal);
  };

  async function collectDependent(item: GraphObject, signal: AbortSignal): Promise<Outcome> {
    const live = await readLive(item, signal);
    if (!live || live.metadata.deletionTimestamp) return done;
    const { uid, resourceVersion, ownerReferences = [], finalizers = [] } = live.metadata;
    const found = await Promise.all(
      ownerReferences.map(async (reference) => ({
        reference,
        state: await owners.liveState(reference, item, signal),
      })),
    );
    for (const { reference } of found) {
      if (owners.isInvalid(reference, item)) {
        const message = `ownerRef [${reference.apiVersion}/${reference.kind}, name: ${reference.name}, uid: ${reference.uid}] is namespaced and cannot own a cluster-scoped object`;
        recorder.event(live, 'Warning', 'OwnerRefInvalidNamespace', message);
      }
    }
    const dependents = graph.dependentsOf(uid).map(({ object }) => object);
    const step = decideDependent({ owners: found, finalizers, dependents });
    switch (step.do) {
      case 'nothing': {
        const isOpen = found.some(({ state }) => state === 'unknown');
        return isOpen ? requeueAfter(LOOK_FOR_KIND_AGAIN_MS, 'the kind of an owner is not served') : done;
      }
      case 'drop-owners': {
        const left = ownerReferences.filter((reference) => !step.uids.includes(reference.uid));
        await patch(item, { resourceVersion, ownerReferences: left }, signal);
        return done;
      }
      case 'delete': {
        let version = resourceVersion;
        if (step.unblockOwners) {
          const unblocked = ownerReferences.map((each) => ({ ...each, blockOwnerDeletion: false }));
          const patched = await patch(item, { resourceVersion, ownerReferences: unblocked }, signal);
          version = patched?.metadata.resourceVersion ?? version;
        }
        log.v(2).info('Deleting an object whose owners are gone', { key: graphKey(item), ...step });
        await ifThere(
          kube.delete(item.resource, nameOf(live), {
            // The owners were read after this version: an owner reference that was added since makes this write
            // conflict.
            preconditions: { uid, resourceVersion: version },
            propagationPolicy: step.propagation,
            signal,
          }),
        );
        return done;
      }
    }
  }

  async function finishDeletion(item: GraphObject, signal: AbortSignal): Promise<Outcome> {
    const orphans = orphansDependents(item.object);
    if (!orphans && !waitsForDependents(item.object)) return done;
    if (!graph.hasSynced) return requeueAfter(WAIT_FOR_CACHES_MS, 'caches are not synced yet');
    const { uid } = item.object.metadata;
    if (orphans) {
      if (listing >= MOST_LISTING) return requeueAfter(WAIT_FOR_CACHES_MS, 'others list every kind again');
      listing++;
      await listAgain(item, signal).finally(() => listing--);
    }
    const dependents = graph.dependentsOf(uid);
    if (orphans) {
      for (const dependent of dependents) await disown(dependent, uid, signal);
      await removeFinalizer(item, FINALIZER_ORPHAN, signal);
      return done;
    }
    if (dependents.some(({ object }) => blocks(object, uid))) {
      // Each dependent is deleted on its own; the deletion of the last enqueues this object again.
      for (const dependent of dependents) enqueue(graphKey(dependent));
      return done;
    }
    await removeFinalizer(item, FINALIZER_FOREGROUND, signal);
    return done;
  }

  /** A dependent that is overlooked keeps its reference, and is deleted with all that it holds once the owner is gone. */
  function listAgain(item: GraphObject, signal: AbortSignal): Promise<void> {
    const reason = () =>
      new Error(
        `list every kind, to orphan the dependents of ${graphKey(item)}: no answer; it is tried again`,
      );
    const deadline = { clock, delayMs: LIST_AGAIN_WITHIN_MS, reason, parent: signal };
    return withDeadline(deadline, (either) => graph.listAgain(either));
  }

  async function disown(dependent: GraphObject, ownerUid: string, signal: AbortSignal): Promise<void> {
    const live = await readLive(dependent, signal);
    const { resourceVersion, ownerReferences = [] } = live?.metadata ?? {};
    const left = ownerReferences.filter(({ uid }) => uid !== ownerUid);
    if (!live || left.length === ownerReferences.length) return;
    await patch(dependent, { resourceVersion, ownerReferences: left }, signal);
  }

  async function removeFinalizer(item: GraphObject, finalizer: string, signal: AbortSignal): Promise<void> {
    const live = await readLive(item, signal);
    const { resourceVersion, finalizers = [] } = live?.metadata ?? {};
    if (!finalizers.includes(finalizer)) return;
    await patch(
      item,
      { resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) },
      signal,
    );
  }

  /** The object with this UID as the server has it now; undefined when it is gone. */
  async function readLive({ resource, object }: GraphObject, signal: AbortSignal) {
    const live = await ifThere(kube.get<KubeObject>(resource, nameOf(object), { signal }));
    return live?.metadata.uid === object.metadata.uid ? live : undefined;
  }

  function patch({ resource, object }: GraphObject, metadata: object, signal: AbortSignal) {
    return ifThere(kube.patch<KubeObject>(resource, nameOf(object), { metadata }, { type: 'merge', signal }));
  }
}

function nameOf({ metadata: { name, namespace } }: KubeObject): { name: string; namespace?: string } {
  return namespace === undefined ? { name } : { name, namespace };
}

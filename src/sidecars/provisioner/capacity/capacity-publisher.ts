// Publishes the driver's free capacity, one CSIStorageCapacity per class and topology segment, for the scheduler.
// Watches classes, the topology index and its own objects; writes only its own objects, which it recognises by their
// labels. Calls GetCapacity at intervals and after a volume was created or deleted.

import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type StorageClass,
  storageClasses,
} from '../../../api/kinds.ts';
import { type Segment, segmentText } from '../../../api/topology.ts';
import { csiClient } from '../../../csi/client/csi-client.ts';
import type { CsiTransport } from '../../../csi/client/transport.ts';
import { Controller } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { Informers } from '../../../runtime/informer/informer.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import { isAlreadyExists, isNotFound } from '../../../runtime/kube/kube-error.ts';
import type { Metrics } from '../../../runtime/metrics/metrics.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { createLoop, type LoopOptions } from '../../../runtime/queue/create-loop.ts';
import { done, type Outcome } from '../../../runtime/queue/loop.ts';
import { classParameters } from '../planning/class-parameters.ts';
import {
  amounts,
  type CapacityOwner,
  type CapacityPlace,
  capacityObject,
  isCurrent,
  LABEL_DRIVER,
  LABEL_MANAGED_BY,
  placeKey,
  placeOf,
  type Room,
} from './capacity-object.ts';

/** The topology segments to publish. */
export interface Segments {
  list(): readonly Segment[];
  has(segment: Segment): boolean;
  onChange(listener: (segment: Segment) => void): void;
}

export interface CapacityPublisherOptions {
  /** A client with its own rate limit, so that capacity never slows down provisioning. */
  kube: KubeClient;
  informers: Informers;
  csi: CsiTransport;
  clock: Clock;
  metrics: Metrics;
  timeoutMs: number;
  owner: CapacityOwner;
  segments: Segments;
  pollIntervalMs: number;
  /** Include classes with immediate binding, for which the scheduler does not check capacity. */
  forImmediateBinding: boolean;
  loop: Omit<LoopOptions, 'name' | 'reconcile'>;
}

const BY_PLACE = 'provisioner/by-place';

export function createCapacityPublisher(options: CapacityPublisherOptions) {
  const { kube, informers, owner, segments, clock } = options;
  const classes = informers.of(storageClasses);
  const objects = informers.of(csiStorageCapacities, {
    namespace: owner.namespace,
    labelSelector: `${LABEL_DRIVER}=${owner.driver},${LABEL_MANAGED_BY}=${owner.managedBy}`,
  });
  const controller = csiClient(Controller, options.csi, { timeoutMs: options.timeoutMs });
  const loop = createLoop({ ...options.loop, name: 'csistoragecapacity', reconcile });
  /** Every class and segment seen so far, by key. */
  const places = new Map<string, CapacityPlace>();

  objects.addIndex(BY_PLACE, (object) => {
    const place = placeOf(object);
    return place ? [placeKey(place)] : [];
  });
  const lookAt = (place: CapacityPlace): void => {
    const key = placeKey(place);
    places.set(key, place);
    loop.add(key);
  };
  const lookAtClass = ({ metadata: { name }, provisioner }: StorageClass): void => {
    if (provisioner === owner.driver)
      for (const segment of segments.list()) lookAt({ className: name, segment });
  };
  const lookAtObject = (object: CSIStorageCapacity): void => {
    const place = placeOf(object);
    if (place) lookAt(place);
  };
  classes.subscribe({
    added: lookAtClass,
    updated: (_before, after) => lookAtClass(after),
    deleted: lookAtClass,
  });
  segments.onChange((segment) => {
    for (const { metadata, provisioner } of classes.list()) {
      if (provisioner === owner.driver) lookAt({ className: metadata.name, segment });
    }
  });
  // Of its own objects it only reacts to deletions, and to leftovers of earlier processes.
  objects.subscribe({ added: lookAtObject, deleted: lookAtObject });
  countObjects();

  function isWanted({ className, segment }: CapacityPlace): StorageClass | undefined {
    const storageClass = classes.get(className);
    if (storageClass?.provisioner !== owner.driver || !segments.has(segment)) return undefined;
    const immediate = storageClass.volumeBindingMode !== 'WaitForFirstConsumer';
    return immediate && !options.forImmediateBinding ? undefined : storageClass;
  }

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const place = places.get(key);
    if (!place) return done;
    const existing = objects.byIndex(BY_PLACE, key);
    const storageClass = isWanted(place);
    if (!storageClass) {
      for (const object of existing) await remove(object, signal);
      places.delete(key);
      return done;
    }
    const [first, ...others] = existing;
    for (const object of others) await remove(object, signal);
    const room = await askRoom(place, storageClass, signal);
    if (!first) await publish(place, room, signal);
    else if (!isCurrent(first, room, owner.reference)) await change(first, room, signal);
    return done;
  }

  async function askRoom(
    place: CapacityPlace,
    storageClass: StorageClass,
    signal: AbortSignal,
  ): Promise<Room> {
    const { availableCapacity, maximumVolumeSize } = await controller.getCapacity(
      {
        parameters: classParameters(storageClass.parameters ?? {}, '').driver,
        ...(Object.keys(place.segment).length > 0 && { accessibleTopology: { segments: place.segment } }),
      },
      { signal },
    );
    return { availableBytes: availableCapacity, maximumVolumeBytes: maximumVolumeSize };
  }

  async function publish(place: CapacityPlace, room: Room, signal: AbortSignal): Promise<void> {
    const draft = capacityObject(place, room, owner);
    try {
      await kube.create(csiStorageCapacities, draft, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // The cache is stale: by its name the object is ours.
      const name = { name: draft.metadata.name ?? '', namespace: owner.namespace };
      await change(await kube.get(csiStorageCapacities, name, { signal }), room, signal);
    }
  }

  async function change(object: CSIStorageCapacity, room: Room, signal: AbortSignal): Promise<void> {
    const { maximumVolumeSize: _old, ...rest } = object;
    const { reference } = owner;
    const owners = object.metadata.ownerReferences ?? [];
    const isOwned = !reference || owners.some((each) => each.uid === reference.uid);
    const metadata = isOwned
      ? object.metadata
      : { ...object.metadata, ownerReferences: [...owners, reference] };
    try {
      await kube.update(csiStorageCapacities, { ...rest, metadata, ...amounts(room) }, { signal });
    } catch (error) {
      // Deleted meanwhile: the deletion enqueues it again.
      if (!isNotFound(error)) throw error;
    }
  }

  async function remove({ metadata }: CSIStorageCapacity, signal: AbortSignal): Promise<void> {
    const { name, uid } = metadata;
    try {
      await kube.delete(
        csiStorageCapacities,
        { name, namespace: owner.namespace },
        { preconditions: { uid }, signal },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  function countObjects(): void {
    const wanted = () => [...places.values()].filter(isWanted);
    const gauge = (name: string, help: string, read: () => number) =>
      options.metrics.gaugeFrom({ name: `csistoragecapacities_${name}`, help }, {}, read);
    const exists = (place: CapacityPlace) => objects.byIndex(BY_PLACE, placeKey(place)).length > 0;
    gauge('desired_goal', 'CSIStorageCapacity objects that should exist.', () => wanted().length);
    gauge(
      'desired_current',
      'CSIStorageCapacity objects that should exist and do.',
      () => wanted().filter(exists).length,
    );
    gauge('obsolete', 'CSIStorageCapacity objects that exist and should not.', () => {
      const current = new Set(wanted().map(placeKey));
      return objects.list().filter((object) => {
        const place = placeOf(object);
        return !place || !current.has(placeKey(place));
      }).length;
    });
  }

  return {
    /**
     * The free capacity of this class has changed. Requests are coalesced: GetCapacity follows soon, once for many
     * changes.
     */
    changed(className: string): void {
      for (const [key, place] of places) if (place.className === className) loop.addAfter(key, 1_000);
    },
    async run(signal: AbortSignal): Promise<void> {
      const poll = async (): Promise<void> => {
        while (!signal.aborted) {
          await clock.sleep(options.pollIntervalMs, signal).catch(() => {});
          if (!signal.aborted) for (const key of places.keys()) loop.add(key);
        }
      };
      await Promise.all([loop.run(signal), poll()]);
    },
  };
}

/** Segments that never change: those of one node, or the one that stands for the whole cluster. */
export function fixedSegments(segments: readonly Segment[]): Segments {
  const texts = new Set(segments.map(segmentText));
  return { list: () => segments, has: (segment) => texts.has(segmentText(segment)), onChange: () => {} };
}

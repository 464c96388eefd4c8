// Publishes the driver's free capacity, one CSIStorageCapacity per class and topology segment, for the scheduler.
// Without topology one object stands for the cluster; with one provisioner per node only the node's own segment is
// published. Watches classes, the topology index and its own objects; writes only its own objects, which it recognises
// by their labels. Calls GetCapacity at intervals and after a volume was created or deleted.

import { hash } from 'node:crypto';
import {
  type CSIStorageCapacity,
  csiStorageCapacities,
  type PersistentVolume,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from '../../../api/kinds.ts';
import { type Segment, segmentText } from '../../../api/topology.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import { isAlreadyExists } from '../../../runtime/kube/kube-error.ts';
import { createLoop } from '../../../runtime/queue/create-loop.ts';
import { done, type Outcome } from '../../../runtime/queue/loop.ts';
import { every } from '../../../runtime/time/every.ts';
import { requiredVariable } from '../../common/sidecar.ts';
import type { FreeCapacity } from '../claims/volume-calls.ts';
import { classParameters } from '../planning/class-parameters.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import {
  type CapacityOwner,
  type CapacityPlace,
  capacityObject,
  LABEL_DRIVER,
  LABEL_MANAGED_BY,
  placeKey,
  placeOf,
  withCapacity,
} from './capacity-object.ts';
import { findOwner } from './find-owner.ts';

const BY_PLACE = 'provisioner/by-place';

export function createCapacityPublisher(context: ProvisionerContext) {
  const { informers, calls, flags, nodeName, topology } = context;
  // Its own rate limit, so that capacity never slows down provisioning.
  const kube = context.kubeWith({ qps: flags.kubeApiCapacityQps, burst: flags.kubeApiCapacityBurst });
  const namespace = requiredVariable(context.env, 'NAMESPACE', '--enable-capacity');
  const levels = flags.capacityOwnerrefLevel;
  const podName =
    levels < 0 ? undefined : requiredVariable(context.env, 'POD_NAME', '--capacity-ownerref-level');
  const driver = context.driver.name;
  const owner: CapacityOwner = { driver, managedBy: managedBy(nodeName), namespace, reference: undefined };
  /** The segments to publish; undefined for those of the topology index. With one provisioner per node `run` gets it. */
  let fixed: readonly Segment[] | undefined;
  if (nodeName !== undefined) fixed = [];
  else if (!topology) fixed = [{}];

  const classes = informers.of(storageClasses);
  const objects = informers.of(csiStorageCapacities, {
    namespace,
    labelSelector: `${LABEL_DRIVER}=${driver},${LABEL_MANAGED_BY}=${owner.managedBy}`,
  });
  const workers = flags.capacityThreads;
  const loop = createLoop({ ...context.loop, workers, name: 'csistoragecapacity', reconcile });
  /** Every class and segment seen so far, by key. */
  const places = new Map<string, CapacityPlace>();

  objects.addIndex(BY_PLACE, (object) => {
    const place = placeOf(object);
    return place ? [placeKey(place)] : [];
  });
  const lookAt = (place: CapacityPlace | undefined): void => {
    if (!place) return;
    const key = placeKey(place);
    places.set(key, place);
    loop.add(key);
  };
  const lookAtClass = (
    { metadata: { name: className }, provisioner }: StorageClass,
    segments = fixed ?? topology?.ownSegments() ?? [],
  ): void => {
    if (provisioner === driver) for (const segment of segments) lookAt({ className, segment });
  };
  classes.subscribe({
    added: (after) => lookAtClass(after),
    updated: (_before, after) => lookAtClass(after),
    deleted: (before) => lookAtClass(before),
  });
  topology?.onOwnSegment((segment) => {
    if (!fixed) for (const storageClass of classes.list()) lookAtClass(storageClass, [segment]);
  });
  // Of its own objects it only reacts to deletions, and to leftovers of earlier processes.
  const lookAtObject = (object: CSIStorageCapacity): void => lookAt(placeOf(object));
  objects.subscribe({ added: lookAtObject, deleted: lookAtObject });
  if (context.shares) followOtherReplicas();
  countObjects();

  /** Other replicas create and delete volumes, too. */
  function followOtherReplicas(): void {
    const look = ({ spec }: PersistentVolume): void => {
      if (spec.csi?.driver === driver && spec.storageClassName) changed(spec.storageClassName);
    };
    informers.of(persistentVolumes).subscribe({ added: look, deleted: look });
  }

  /** Requests are coalesced: GetCapacity follows soon, once for many changes. */
  function changed(className: string): void {
    for (const [key, place] of places) if (place.className === className) loop.addAfter(key, 1_000);
  }

  /** The class of a place whose capacity is to be published. */
  function classToPublish({ className, segment }: CapacityPlace): StorageClass | undefined {
    const storageClass = classes.get(className);
    if (storageClass?.provisioner !== driver) return undefined;
    const isSame = (each: Segment) => segmentText(each) === segmentText(segment);
    if (!(fixed ? fixed.some(isSame) : topology?.hasOwnSegment(segment))) return undefined;
    const isImmediate = storageClass.volumeBindingMode !== 'WaitForFirstConsumer';
    return isImmediate && !flags.capacityForImmediateBinding ? undefined : storageClass;
  }

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const place = places.get(key);
    if (!place) return done;
    const storageClass = classToPublish(place);
    const existing = objects.byIndex(BY_PLACE, key);
    for (const { metadata } of storageClass ? existing.slice(1) : existing) {
      const { name, uid } = metadata;
      const call = { preconditions: { uid }, signal };
      await ifThere(kube.delete(csiStorageCapacities, { name, namespace }, call));
    }
    if (!storageClass) {
      places.delete(key);
      return done;
    }
    const { driver: parameters } = classParameters(storageClass.parameters ?? {}, '');
    const free = await calls.freeCapacity({ parameters, segment: place.segment }, signal);
    const [first] = existing;
    await (first ? update(first, free, signal) : create(place, free, signal));
    return done;
  }

  async function create(place: CapacityPlace, free: FreeCapacity, signal: AbortSignal): Promise<void> {
    const draft = capacityObject(place, free, owner);
    try {
      await kube.create(csiStorageCapacities, draft, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // The cache is stale: by its name the object is ours.
      const name = { name: draft.metadata.name ?? '', namespace };
      await update(await kube.get(csiStorageCapacities, name, { signal }), free, signal);
    }
  }

  async function update(object: CSIStorageCapacity, free: FreeCapacity, signal: AbortSignal): Promise<void> {
    const wanted = withCapacity(object, free, owner);
    if (wanted === object) return;
    // Deleted meanwhile: the deletion enqueues it again.
    await ifThere(kube.update(csiStorageCapacities, wanted, { signal }));
  }

  function countObjects(): void {
    const wanted = () => [...places.values()].filter(classToPublish);
    const gauge = (name: string, help: string, read: () => number) =>
      context.metrics.gaugeFrom({ name: `csistoragecapacities_${name}`, help }, {}, read);
    const exists = (place: CapacityPlace) => objects.byIndex(BY_PLACE, placeKey(place)).length > 0;
    gauge('desired_goal', 'CSIStorageCapacity objects that should exist.', () => wanted().length);
    gauge(
      'desired_current',
      'CSIStorageCapacity objects that should exist and do.',
      () => wanted().filter(exists).length,
    );
    gauge('obsolete', 'CSIStorageCapacity objects that exist and should not.', () => {
      const current = new Set(wanted().map(placeKey));
      const isCurrent = (place: CapacityPlace | undefined) => place && current.has(placeKey(place));
      return objects.list().filter((object) => !isCurrent(placeOf(object))).length;
    });
  }

  return {
    changed,
    /** `here`: the segment of this node, with one provisioner per node. */
    async run(here: Segment | undefined, signal: AbortSignal): Promise<void> {
      if (podName) owner.reference = await findOwner(kube, { name: podName, namespace }, levels, signal);
      if (nodeName !== undefined) {
        fixed = [here ?? {}];
        for (const storageClass of classes.list()) lookAtClass(storageClass);
      }
      const polling = { clock: context.clock, intervalMs: flags.capacityPollIntervalMs, signal };
      await Promise.all([loop.run(signal), every(polling, () => [...places.keys()].forEach(loop.add))]);
    },
  };
}

/** The official provisioner's label, shortened in a similar way when the node's name is long. */
function managedBy(nodeName: string | undefined): string {
  const name = ['external-provisioner', nodeName].filter(Boolean).join('-');
  if (nodeName === undefined || name.length <= 63) return name;
  return `${name.slice(0, 54).replace(/[^a-zA-Z0-9]+$/, '')}-${hash('sha256', nodeName).slice(0, 8)}`;
}

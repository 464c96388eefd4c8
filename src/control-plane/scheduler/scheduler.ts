// The scheduler: gives each pod a node that its volumes, its requests and the node's own rules allow. Watches pods,
// nodes, claims, volumes, classes, drivers and what nodes and drivers publish; writes bindings, the selected-node
// annotation of claims, `claimRef` of volumes that it picks for them, and the PodScheduled condition. It never makes a
// volume and never completes a binding of one: that is for provisioner and binder, whose work wakes the pod.
//
// One run over a pod decides within a single turn of the event loop, from the caches and what earlier runs decided;
// only then does it write. So two pods never get the same room, and a run can be repeated at any point.

import {
  csiDrivers,
  csiNodeInfos,
  csiNodes,
  csiStorageCapacities,
  type Node,
  nodes,
  type PersistentVolume,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { isTerminated } from '../../api/volumes.ts';
import { ANN_CSI_NODE_ID, ANN_SELECTED_NODE } from '../../api/well-known.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { isConflict, isNotFound } from '../../runtime/kube-error.ts';
import { done, type Outcome, requeueAfter } from '../../runtime/loop.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { volumeBoundTo } from '../binder/binding.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim } from '../pods-by-claim.ts';
import { CapacityBook } from './capacity-book.ts';
import { DriversOnNodes } from './drivers-on-nodes.ts';
import { findNode } from './find-node.ts';
import { FreeVolumes } from './free-volumes.ts';
import { podDemand, unsupported } from './node-checks.ts';
import { Placement } from './placement.ts';
import { type DelayedClaim, podVolumes } from './pod-volumes.ts';
import { podProblemMessage } from './reasons.ts';
import { SchedulerCache } from './scheduler-cache.ts';
import { schedulerMetrics } from './scheduler-metrics.ts';
import type { VolumeFacts, VolumePlan } from './volume-checks.ts';
import { type Change, changesThatHelp, WaitingPods } from './waiting-pods.ts';

/** Conflicts are the usual failure and are over as soon as the cache has caught up. */
const BACKOFF = { startMs: 50, maxMs: 60_000 };
/** Bindings under way at once: enough to keep an API server busy. */
const WORKERS = 64;
const BY_NODE = 'scheduler/attachments-by-node';
const nodeOf = (attachment: VolumeAttachment): string[] => [attachment.spec.nodeName];

export interface SchedulerPorts extends ControllerPorts {
  /** Pods that name another scheduler are left alone; `default-scheduler` unless given. */
  schedulerName?: string;
}

export function createScheduler(ports: SchedulerPorts): Controller {
  const { kube, informers, recorder, clock, random, metrics, schedulerName = 'default-scheduler' } = ports;
  const log = ports.log.with({ controller: 'scheduler' });
  const podInformer = informers.of(pods);
  const nodeInformer = informers.of(nodes);
  const claimInformer = informers.of(persistentVolumeClaims);
  const volumeInformer = informers.of(persistentVolumes);
  const classInformer = informers.of(storageClasses);
  const driverInformer = informers.of(csiDrivers);
  const csiNodeInformer = informers.of(csiNodes);
  const csiNodeInfoInformer = informers.of(csiNodeInfos, { optional: true });
  const capacityInformer = informers.of(csiStorageCapacities);
  const attachmentInformer = informers.of(volumeAttachments);
  attachmentInformer.addIndex(BY_NODE, nodeOf);
  const podsOfClaim = indexPodsByClaim(podInformer);

  const latestClaims = new ReadYourWrites(claimInformer);
  const freeVolumes = new FreeVolumes(volumeInformer);
  const capacities = new CapacityBook();
  const drivers = new DriversOnNodes({
    drivers: driverInformer,
    csiNodes: csiNodeInformer,
    csiNodeInfos: csiNodeInfoInformer,
  });
  const lookups = {
    claim: (key: string) => latestClaims.get(key),
    volume: (name: string) => freeVolumes.latest.get(name),
    storageClass: (name: string) => classInformer.get(name),
    reservedFor: (claimKey: string) => freeVolumes.reservedFor(claimKey),
    attachmentsOn: (nodeName: string) => attachmentInformer.byIndex(BY_NODE, nodeName),
  };
  const cache = new SchedulerCache(lookups);
  const facts: VolumeFacts = {
    freeVolumes: (className, info) => freeVolumes.near(className, info),
    publishesCapacity: (driver) => drivers.publishesCapacity(driver),
    hasRoom: (className, sizeBytes, { node }) =>
      capacities.hasRoom(className, sizeBytes, node?.metadata.labels),
    isCsiDriver: (driver) => drivers.isCsiDriver(driver),
    mustBeInstalled: (driver) => drivers.mustBeInstalled(driver),
    driverOn: (driver, info) => drivers.driverOn(driver, info),
    volumeLimit: (driver, info) => drivers.volumeLimit(driver, info),
    volumesOn: (info) => cache.volumesOn(info),
  };
  const placements = new Map<string, Placement>();
  const waiting = new WaitingPods();
  const counted = schedulerMetrics(metrics, clock);
  let start = 0;

  const loop = createLoop({
    name: 'scheduler',
    workers: WORKERS,
    clock,
    random,
    log,
    backoff: BACKOFF,
    reconcile,
    ...(metrics && { metrics }),
  });

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const pod = podInformer.get(key);
    waiting.delete(key);
    if (!pod || !isOurs(pod)) {
      forget(key);
      return done;
    }
    const attempt = counted.attempt();
    const decision = decide(key, pod);
    switch (decision.kind) {
      case 'unschedulable':
        attempt('unschedulable');
        await reportUnschedulable(pod, decision.message, signal);
        return done;
      case 'later':
        attempt('unschedulable');
        return requeueAfter(decision.delayMs, decision.why);
      case 'place':
        break;
      default:
        decision satisfies never;
    }
    const { placement, nodeName, plan } = decision;
    try {
      await perform(plan, { nodeName, placement, signal });
    } finally {
      for (const release of decision.releases) release();
    }
    // Their binding wakes the pod, and this run is made again.
    if (!decision.allBound) return done;
    await bind(pod, nodeName, signal);
    attempt('scheduled');
    return done;
  }

  type Decision =
    | { kind: 'unschedulable'; message: string }
    | { kind: 'later'; delayMs: number; why: string }
    | {
        kind: 'place';
        nodeName: string;
        plan: VolumePlan;
        placement: Placement;
        allBound: boolean;
        releases: (() => void)[];
      };

  /** Everything in one turn: no other pod is looked at between the search and the room being taken. */
  function decide(key: string, pod: Pod): Decision {
    const placement = placementOf(key, pod);
    cache.forget(key);
    const nodeCount = cache.index.size;
    const stuck = (problem: string, change: Change): Decision => {
      waiting.add(key, new Set([change]));
      return { kind: 'unschedulable', message: podProblemMessage(nodeCount, problem) };
    };
    const missing = unsupported(pod);
    if (missing) return stuck(`pod asks for ${missing}, which this scheduler does not support`, 'node');
    const volumes = podVolumes(pod, lookups);
    if ('problem' in volumes) {
      const delayMs = placement.patienceMs(clock);
      if (delayMs === 0) return stuck(volumes.problem, 'volumes');
      waiting.add(key, new Set<Change>(['volumes']));
      return { kind: 'later', delayMs, why: volumes.problem };
    }
    const given = placement.retreat(volumes, { clock, random });
    if (given !== undefined) {
      const message = `provisioning failed for PVC "${given}" on node "${[...placement.refused].at(-1)}"; trying another`;
      recorder.event(pod, 'Warning', 'FailedScheduling', message);
    }
    const found = findNode({
      demand: podDemand(pod),
      volumes,
      index: cache.index,
      facts,
      exclusiveClash: volumes.exclusiveClaims.some((claimKey) => isTaken(claimKey, key)),
      earlier: placement.nodeName === undefined ? undefined : cache.info(placement.nodeName),
      avoid: placement.refused,
      start,
    });
    if (!found.node) {
      waiting.add(key, changesThatHelp(found.reasons));
      return { kind: 'unschedulable', message: found.reasons.message(found.nodeCount) };
    }
    start += found.looked;
    const { name: nodeName } = found.node;
    const delayMs = placement.waitMs(nodeName, clock);
    if (delayMs > 0) {
      waiting.add(key, new Set<Change>(['node', 'room', 'volumes']));
      return {
        kind: 'later',
        delayMs,
        why: 'no other node fits than the one that could not be provisioned for',
      };
    }
    placement.nodeName = nodeName;
    cache.assume(pod, nodeName);
    const releases = found.plan.matches.map(({ volume }) => freeVolumes.hold(volume));
    return { kind: 'place', nodeName, plan: found.plan, placement, allBound: volumes.allBound, releases };
  }

  function placementOf(key: string, pod: Pod): Placement {
    const known = placements.get(key);
    if (known?.uid === pod.metadata.uid) return known;
    forget(key);
    const placement = new Placement(pod.metadata.uid);
    placements.set(key, placement);
    return placement;
  }

  function forget(key: string): void {
    placements.delete(key);
    cache.forget(key);
  }

  function isOurs(pod: Pod): boolean {
    const { nodeName, schedulerName: named = 'default-scheduler' } = pod.spec;
    const gates = (pod.spec as { schedulingGates?: unknown[] }).schedulingGates ?? [];
    return (
      !nodeName &&
      named === schedulerName &&
      gates.length === 0 &&
      !pod.metadata.deletionTimestamp &&
      !isTerminated(pod)
    );
  }

  /** Whether another pod that has a node uses the claim. */
  function isTaken(claimKey: string, podKey: string): boolean {
    return podsOfClaim(claimKey).some((other) => keyOf(other) !== podKey && cache.isPlaced(keyOf(other)));
  }

  /** Each write carries the version it was decided from: whoever comes second is told so and decides again. */
  async function perform(
    { matches, provisions }: VolumePlan,
    { nodeName, placement, signal }: { nodeName: string; placement: Placement; signal: AbortSignal },
  ): Promise<void> {
    for (const { claim, volume } of matches) {
      const reserved = volumeBoundTo(volume, claim.claim);
      if (reserved) freeVolumes.latest.wrote(await kube.update(persistentVolumes, reserved, { signal }));
    }
    for (const claim of provisions) {
      if (claim.selectedNode === undefined) await selectNode(claim, nodeName, signal);
      placement.asked(claim.key);
    }
  }

  async function selectNode({ claim }: DelayedClaim, nodeName: string, signal: AbortSignal): Promise<void> {
    const annotations = { ...claim.metadata.annotations, [ANN_SELECTED_NODE]: nodeName };
    const selected = { ...claim, metadata: { ...claim.metadata, annotations } };
    latestClaims.wrote(await kube.update(persistentVolumeClaims, selected, { signal }));
  }

  async function bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', uid } = pod.metadata;
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
    };
    try {
      await kube.createSubresource(pods, { name, namespace }, 'binding', binding, { signal });
    } catch (error) {
      // Gone, going, or bound by somebody else: whichever it is, the watch brings it.
      if (!isNotFound(error) && !isConflict(error)) throw error;
      log.info('The pod could not be bound', { pod: keyOf(pod), nodeName, err: error });
      forget(keyOf(pod));
      return;
    }
    placements.delete(keyOf(pod));
    recorder.event(pod, 'Normal', 'Scheduled', `Successfully assigned ${keyOf(pod)} to ${nodeName}`);
  }

  async function reportUnschedulable(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    recorder.event(pod, 'Warning', 'FailedScheduling', message);
    const current = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (current?.status === 'False' && current.message === message) return;
    const condition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastTransitionTime:
        current?.status === 'False' && current.lastTransitionTime
          ? current.lastTransitionTime
          : new Date(clock.now()).toISOString(),
    };
    const { name, namespace = '' } = pod.metadata;
    const options = { type: 'strategic', subresource: 'status', signal } as const;
    try {
      await kube.patch(pods, { name, namespace }, { status: { conditions: [condition] } }, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  // Wake-ups: from whatever changed to the pods that it may help.

  function wake(change: Change): void {
    for (const key of waiting.woken(change)) loop.add(key);
  }

  function lookAtPod(pod: Pod): void {
    if (cache.setPod(pod)) wake('room');
    if (!pod.spec.nodeName) loop.add(keyOf(pod));
    else if (isTerminated(pod)) wake('room');
  }

  function lookAtClaim(claimKey: string): void {
    const using = podsOfClaim(claimKey);
    cache.volumesChanged(using);
    for (const pod of using) if (!pod.spec.nodeName) loop.add(keyOf(pod));
  }

  function lookAtVolume(volume: PersistentVolume): void {
    const { claimRef } = volume.spec;
    if (claimRef) lookAtClaim(`${claimRef.namespace}/${claimRef.name}`);
    else wake('volumes');
  }

  const changed = (change: Change) => ({
    added: () => wake(change),
    updated: () => wake(change),
    deleted: () => wake(change),
  });

  function subscribe(): (() => void)[] {
    const attachmentChanged = ({ spec }: VolumeAttachment) => cache.attachmentsChanged(spec.nodeName);
    return [
      nodeInformer.subscribe({
        added: (node) => {
          cache.setNode(node);
          wake('node');
        },
        updated: (before, after) => {
          cache.setNode(after);
          if (nodeFingerprint(before) !== nodeFingerprint(after)) wake('node');
        },
        deleted: ({ metadata: { name } }) => {
          cache.removeNode(name);
          for (const [key, { nodeName }] of placements) if (nodeName === name) loop.add(key);
        },
      }),
      capacityInformer.subscribe({
        added: (capacity) => capacities.put(capacity),
        updated: (_before, capacity) => capacities.put(capacity),
        deleted: (capacity) => capacities.remove(keyOf(capacity)),
      }),
      podInformer.subscribe({
        added: lookAtPod,
        updated: (_before, pod) => lookAtPod(pod),
        deleted: (pod) => {
          if (cache.removePod(keyOf(pod))) wake('room');
          loop.add(keyOf(pod));
        },
      }),
      attachmentInformer.subscribe({
        added: attachmentChanged,
        updated: (_before, attachment) => attachmentChanged(attachment),
        deleted: (attachment) => {
          attachmentChanged(attachment);
          wake('room');
        },
      }),
      claimInformer.subscribe({
        added: (claim) => lookAtClaim(keyOf(claim)),
        updated: (_before, claim) => lookAtClaim(keyOf(claim)),
        deleted: (claim) => lookAtClaim(keyOf(claim)),
      }),
      volumeInformer.subscribe({
        added: lookAtVolume,
        updated: (_before, volume) => lookAtVolume(volume),
        deleted: lookAtVolume,
      }),
      classInformer.subscribe(changed('volumes')),
      driverInformer.subscribe(changed('volumes')),
      csiNodeInformer.subscribe(changed('volumes')),
      csiNodeInfoInformer.subscribe(changed('volumes')),
      capacityInformer.subscribe(changed('volumes')),
    ];
  }

  return {
    name: 'scheduler',
    async run(signal) {
      const caches = [
        podInformer,
        nodeInformer,
        claimInformer,
        volumeInformer,
        classInformer,
        driverInformer,
        csiNodeInformer,
        csiNodeInfoInformer,
        capacityInformer,
        attachmentInformer,
      ];
      if (!(await cachesSynced(caches, signal))) return;
      const subscriptions = subscribe();
      const stopCounting = counted.follow(() => waiting.size);
      try {
        await loop.run(signal);
      } finally {
        stopCounting();
        for (const unsubscribe of subscriptions) unsubscribe();
      }
    },
  };
}

/** What of a node can make a pod fit that did not fit before, as one text to compare. */
function nodeFingerprint({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const allocatable = status?.allocatable ?? status?.capacity;
  return JSON.stringify([
    metadata.labels,
    metadata.annotations?.[ANN_CSI_NODE_ID],
    spec?.taints,
    spec?.unschedulable,
    allocatable,
    ready,
  ]);
}

// The scheduler: gives each pod a node that satisfies its volumes, its requests and the node's taints. Watches pods,
// nodes, claims, volumes, classes, drivers, CSINodes and published capacity; writes bindings, the selected-node
// annotation of claims, `claimRef` of volumes that it picks for them, and the PodScheduled condition. It never creates
// a volume and never completes a volume's binding: provisioner and binder do, and their writes wake the pod.
//
// A run decides within a single turn of the event loop, from the caches and the decisions of earlier runs; only then
// does it write. So two pods never get the same room, and a run can be repeated at any point.

import {
  csiDrivers,
  csiNodeInfos,
  csiNodes,
  csiStorageCapacities,
  nodes,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, type Outcome, type Run, requeueAfter } from '../../runtime/queue/loop.ts';
import type { Retries } from '../../runtime/queue/retries.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim } from '../pods-by-claim.ts';
import { awaitsScheduler } from './awaits-scheduler.ts';
import { CapacityBook } from './capacity-book.ts';
import { DriversOnNodes } from './drivers-on-nodes.ts';
import { findNode, fitsBesides, type Search } from './find-node.ts';
import { type ClusterCaches, followCluster } from './follow-cluster.ts';
import { FreeVolumes } from './free-volumes.ts';
import { podDemand, unsupported } from './node-checks.ts';
import { Placement } from './placement.ts';
import { podVolumes } from './pod-volumes.ts';
import { createPodWrites } from './pod-writes.ts';
import { goesFirst, type Preemption, preemptionFor } from './preemption.ts';
import { podProblemMessage } from './reasons.ts';
import { SchedulerCache } from './scheduler-cache.ts';
import { schedulerMetrics } from './scheduler-metrics.ts';
import type { BindingPlan, VolumeFacts } from './volume-checks.ts';
import { type Change, changesThatHelp, WaitingPods } from './waiting-pods.ts';

/** Most failures are conflicts, which are over as soon as the cache has caught up. */
const BACKOFF = { startMs: 50, maxMs: 60_000 };
/** Bindings in flight: enough to keep an API server busy. */
const WORKERS = 64;
const BY_NODE = 'scheduler/attachments-by-node';
const nodeOf = (attachment: VolumeAttachment): string[] => [attachment.spec.nodeName];

export interface SchedulerPorts extends ControllerPorts {
  /** Pods that name another scheduler are ignored; `default-scheduler` unless given. */
  schedulerName?: string;
}

export function createScheduler(ports: SchedulerPorts): Controller {
  const { kube, informers, recorder, clock, metrics, schedulerName = 'default-scheduler' } = ports;
  const log = ports.log.with({ controller: 'scheduler' });
  const caches: ClusterCaches = {
    pods: informers.of(pods),
    nodes: informers.of(nodes),
    claims: informers.of(persistentVolumeClaims),
    volumes: informers.of(persistentVolumes),
    classes: informers.of(storageClasses),
    drivers: informers.of(csiDrivers),
    csiNodes: informers.of(csiNodes),
    csiNodeInfos: informers.of(csiNodeInfos, { optional: true }),
    capacities: informers.of(csiStorageCapacities),
    attachments: informers.of(volumeAttachments),
  };
  caches.attachments.addIndex(BY_NODE, nodeOf);
  const podsOfClaim = indexPodsByClaim(caches.pods);

  const latestClaims = new ReadYourWrites(caches.claims);
  const freeVolumes = new FreeVolumes(caches.volumes);
  const capacities = new CapacityBook();
  const drivers = new DriversOnNodes(caches);
  const lookups = {
    claim: (key: string) => latestClaims.get(key),
    volume: (name: string) => freeVolumes.latest.get(name),
    storageClass: (name: string) => caches.classes.get(name),
    reservedFor: (claimKey: string) => freeVolumes.reservedFor(claimKey),
    attachmentsOn: (nodeName: string) => caches.attachments.byIndex(BY_NODE, nodeName),
  };
  const cache = new SchedulerCache(lookups);
  const facts: VolumeFacts = {
    freeVolumes: (className, info) => freeVolumes.near(className, info),
    publishesCapacity: (driver) => drivers.publishesCapacity(driver),
    roomFor: (className, sizeBytes, { node }) => capacities.room(className, sizeBytes, node?.metadata.labels),
    isCsiDriver: (driver) => drivers.isCsiDriver(driver),
    mustBeInstalled: (driver) => drivers.mustBeInstalled(driver),
    driverOn: (driver, info) => drivers.driverOn(driver, info),
    volumeLimit: (driver, info) => drivers.volumeLimit(driver, info),
    volumesOn: (info) => cache.volumesOn(info),
  };
  const writes = createPodWrites({ kube, clock, log, claims: latestClaims, volumes: freeVolumes });
  const placements = new Map<string, Placement>();
  const waiting = new WaitingPods();
  const counted = schedulerMetrics(metrics, clock);
  let start = 0;

  const loop = createLoop({
    ...ports,
    log,
    name: 'scheduler',
    workers: WORKERS,
    backoff: BACKOFF,
    reconcile,
  });

  async function reconcile(key: string, { signal, retries }: Run): Promise<Outcome> {
    const pod = caches.pods.get(key);
    const before = cache.nodeOf(key);
    waiting.delete(key);
    if (!pod || !awaitsScheduler(pod, schedulerName)) {
      forget(key);
      wakeIfMoved(key, before);
      retries.clear();
      return done;
    }
    // Deciding again would release the room that the pod already has.
    if (placementOf(key, pod).isBound) return done;
    const attempt = counted.attempt();
    const decision = decide(key, pod, retries);
    wakeIfMoved(key, before);
    switch (decision.kind) {
      case 'unschedulable':
        attempt('unschedulable');
        recorder.event(pod, 'Warning', 'FailedScheduling', decision.message);
        await writes.markUnschedulable(pod, decision.message, signal, decision.preemption?.nodeName);
        for (const victim of decision.preemption?.victims ?? []) await preempt(victim, pod, signal);
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
    let isPrepared = false;
    try {
      await writes.prepareVolumes(plan, placement, signal);
      isPrepared = true;
    } finally {
      for (const release of decision.releases) release();
      // No event tells that a held volume is free after all. Pods that hold one do not wait, and are not woken here.
      if (!isPrepared && decision.releases.length > 0) wake('volumes');
    }
    // The binding of these claims wakes the pod for another run.
    if (!decision.allBound) return done;
    const boundTo = await writes.bind(pod, nodeName, signal);
    if (boundTo === undefined) forget(key);
    else if (boundTo !== nodeName) cache.assume(pod, boundTo);
    wakeIfMoved(key, nodeName);
    if (boundTo === undefined) return done;
    placement.isBound = true;
    attempt('scheduled');
    recorder.event(pod, 'Normal', 'Scheduled', `Successfully assigned ${key} to ${boundTo}`);
    return done;
  }

  type Decision =
    | { kind: 'unschedulable'; message: string; preemption?: Preemption | undefined }
    | { kind: 'later'; delayMs: number; why: string }
    | {
        kind: 'place';
        nodeName: string;
        plan: BindingPlan;
        placement: Placement;
        allBound: boolean;
        releases: (() => void)[];
      };

  /** Synchronous: no other pod is considered between the search and the assumption of the pod. */
  function decide(key: string, pod: Pod, retries: Retries): Decision {
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
    const given = placement.retreat(volumes, retries);
    if (given !== undefined) {
      const message = `provisioning failed for PVC "${given}" on node "${[...placement.refused].at(-1)}"; trying another`;
      recorder.event(pod, 'Warning', 'FailedScheduling', message);
    }
    const holders = volumes.exclusiveClaims.flatMap((claimKey) => holdersOf(claimKey, pod));
    const search: Search = {
      demand: podDemand(pod),
      volumes,
      index: cache.index,
      facts,
      exclusiveClash: holders.length > 0,
      earlier: placement.nodeName === undefined ? undefined : cache.info(placement.nodeName),
      avoid: placement.refused,
      start,
      scoresCapacity: ports.gates?.StorageCapacityScoring ?? false,
    };
    const found = findNode(search);
    if (!found.node) {
      waiting.add(key, changesThatHelp(found.reasons));
      const preemption = preemptionFor(pod, holders);
      const info = preemption && cache.info(preemption.nodeName);
      return {
        kind: 'unschedulable',
        message: found.reasons.message(found.nodeCount),
        preemption: info?.node && fitsBesides(search, info) ? preemption : undefined,
      };
    }
    start += found.looked;
    const { name: nodeName } = found.node;
    const delayMs = placement.waitMs(nodeName, retries);
    if (delayMs > 0) {
      waiting.add(key, new Set<Change>(['node', 'room', 'volumes']));
      return { kind: 'later', delayMs, why: 'only nodes where provisioning failed fit' };
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

  /** `except`: the pod that makes the change has been considered. */
  function wake(change: Change, except?: string): void {
    for (const key of waiting.woken(change)) if (key !== except) loop.add(key);
  }

  /** No event tells of room that an assumed pod leaves. Pods that wait have no place, so those woken here wake no others. */
  function wakeIfMoved(key: string, before: string | undefined): void {
    if (before !== undefined && cache.nodeOf(key) !== before) wake('room', key);
  }

  /** Other scheduled pods that use the claim, and those of higher priority for which others gave way. */
  function holdersOf(claimKey: string, pod: Pod): Pod[] {
    return podsOfClaim(claimKey).filter(
      (other) => keyOf(other) !== keyOf(pod) && (cache.isPlaced(keyOf(other)) || goesFirst(other, pod)),
    );
  }

  async function preempt(victim: Pod, pod: Pod, signal: AbortSignal): Promise<void> {
    await writes.preempt(victim, schedulerName, signal);
    const where = `on node ${victim.spec.nodeName}`;
    recorder.event(victim, 'Normal', 'Preempted', `Preempted by pod ${pod.metadata.uid} ${where}`);
    log.v(2).info('Preempted', { pod: keyOf(victim), by: keyOf(pod), node: victim.spec.nodeName });
  }

  return {
    name: 'scheduler',
    async run(signal) {
      if (!(await cachesSynced(Object.values(caches), signal))) return;
      const stopWatching = followCluster({
        caches,
        cache,
        capacities,
        podsOfClaim,
        wake,
        placements,
        loop,
      });
      const stopCounting = counted.follow(() => waiting.size);
      try {
        await loop.run(signal);
      } finally {
        stopCounting();
        stopWatching();
      }
    },
  };
}

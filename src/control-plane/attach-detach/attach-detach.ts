// The attach/detach controller: volumes go where pods that use them are scheduled, and away when the last such pod is
// gone and the node has unmounted them. Watches pods, claims, volumes, attachments, nodes and drivers; makes and
// deletes VolumeAttachments through the plugin and writes `status.volumesAttached` of nodes; never calls a driver.
//
// One loop, a key for each slot (one volume on one node), and one for the reports of nodes. A run that waits for an
// attacher costs nothing but its promise, so there is no limit on how many do.

import { inlineMode } from '../../api/inline-volumes.ts';
import {
  csiDrivers,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { attachmentNames, findAttachment } from '../../csi-plugin/attach/attachable-volume.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import { AttachError, createVolumeAttacher } from '../../csi-plugin/attach/volume-attacher.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { isRejected } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim } from '../pods-by-claim.ts';
import { ActualAttachments } from './actual-attachments.ts';
import { attachDetachMetrics } from './attach-detach-metrics.ts';
import { AttachedReport } from './attached-report.ts';
import { decideSlot, type Forced, mayDetach } from './decide-slot.ts';
import { DesiredVolumes } from './desired-volumes.ts';
import { followVolumes, type VolumeCaches } from './follow-volumes.ts';
import { nodeStateOf } from './node-state.ts';
import { PodEvents } from './pod-events.ts';
import { slotOf } from './slot.ts';
import { SlotWaits } from './slot-waits.ts';
import type { UsedVolume } from './volumes-of-pod.ts';

/** As for volume operations in Kubernetes. */
const BACKOFF = { startMs: 500, maxMs: 122_000 };
/** While a watch is silent. Other nodes may wait for the volume, and nothing else may tell that it is free. */
const UNSEEN_BACKOFF = { startMs: 500, maxMs: 10_000 };
const REPORT_WORKERS = 16;

export interface AttachDetachPorts extends ControllerPorts {
  /** How long to wait for an attacher's answer; two minutes unless given. */
  attachTimeoutMs?: number;
}

export function createAttachDetach(ports: AttachDetachPorts): Controller {
  const { kube, informers, recorder, clock, metrics } = ports;
  const log = ports.log.with({ controller: 'attachdetach' });
  const caches: VolumeCaches = {
    pods: informers.of(pods),
    claims: informers.of(persistentVolumeClaims),
    volumes: informers.of(persistentVolumes),
    attachments: informers.of(volumeAttachments),
    nodes: informers.of(nodes),
    drivers: informers.of(csiDrivers),
  };
  const podsOfClaim = indexPodsByClaim(caches.pods);
  const actual = new ActualAttachments(caches.attachments);
  const desired = new DesiredVolumes({
    claim: (key) => caches.claims.get(key),
    volume: (name) => caches.volumes.get(name),
  });
  const podEvents = new PodEvents({ recorder, desired, pods: caches.pods, attachments: caches.attachments });
  const report = new AttachedReport({ kube, nodes: caches.nodes, actual });
  const plugin = createVolumeAttacher({
    kube,
    attachments: caches.attachments,
    clock,
    ...(ports.attachTimeoutMs !== undefined && { timeoutMs: ports.attachTimeoutMs }),
  });
  /** Since when a slot has been unused on a node that is not ready. */
  const stuckSinceMs = new Map<string, number>();
  /** By volume: until another node gives it up. */
  const refused = new SlotWaits((key) => slots.add(key));
  /** By node: until the Node object changes. */
  const mounted = new SlotWaits((key) => slots.add(key));
  const counted = attachDetachMetrics(metrics, clock);

  const common = { ...ports, log, backoff: BACKOFF };
  const slots = createLoop({
    ...common,
    name: 'attach-detach',
    workers: Number.POSITIVE_INFINITY,
    reconcile: reconcileSlot,
  });
  const reports = createLoop({
    ...common,
    name: 'attached-report',
    workers: REPORT_WORKERS,
    async reconcile(nodeName, { signal }) {
      if (!report.isRight(nodeName)) await report.publish(nodeName, signal);
      return done;
    },
  });

  async function reconcileSlot(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    if (await isUncertain(key, signal))
      return failed({ why: 'an attachment was made unseen', quiet: true, backoff: UNSEEN_BACKOFF });
    podEvents.announce(key);
    const step = decideSlot(snapshotOf(key));
    // A detach after the time-out may fail: it is then due at once again.
    const isStillStuck =
      step.do === 'await-unmount'
        ? step.recheckAfterMs !== undefined
        : step.do === 'detach' && step.forced === 'timeout';
    if (!isStillStuck) stuckSinceMs.delete(key);
    switch (step.do) {
      case 'nothing':
        return done;
      case 'attach':
        return attach(key, signal);
      case 'refuse':
        refuse(key, step.holders);
        return done;
      case 'detach':
        return detach(key, step.forced, signal);
      case 'await-unmount':
        mounted.add(slotOf(key).nodeName, key);
        if (step.recheckAfterMs === undefined) return done;
        return requeueAfter(step.recheckAfterMs, 'the node is not ready and its volume not unmounted');
      default:
        return step satisfies never;
    }
  }

  function snapshotOf(key: string) {
    const { nodeName, volumeId } = slotOf(key);
    // The answer to a write may be newer than what the watch has delivered.
    const node = report.node(nodeName);
    const used = desired.volumesOf(key);
    const existing = actual.at(nodeName, volumeId);
    const exclusive = used.some((each) => each.exclusive);
    const state = nodeStateOf(node, volumeId, driverOf(existing));
    const isStuck = used.length === 0 && state.inUse && state.health !== 'ready' && existing.length > 0;
    if (isStuck && !stuckSinceMs.has(key)) stuckSinceMs.set(key, clock.monotonicMs());
    return {
      used: used.length > 0,
      needed: used
        .filter(needsAttachment)
        .map(({ volume }) => attachmentState(findAttachment(caches.attachments, volume, nodeName))),
      existing: existing.map(attachmentState),
      // Asked only where it matters: a volume for many nodes may have thousands of holders.
      holders: exclusive ? actual.holdersBesides(nodeName, volumeId) : [],
      exclusive,
      node: state,
      stuckForMs: isStuck ? clock.monotonicMs() - (stuckSinceMs.get(key) ?? 0) : 0,
    };
  }

  /** Decided by the current CSIDriver object: whether it attaches at all, and which modes its inline volumes have. */
  function needsAttachment({ volume }: UsedVolume): boolean {
    const driver = caches.drivers.get(volume.driver);
    if (driver?.spec.attachRequired === false) return false;
    if (volume.kind !== 'inline') return true;
    return inlineMode(volume.csi, driver) === 'Persistent';
  }

  async function attach(key: string, signal: AbortSignal): Promise<Outcome> {
    const { nodeName, volumeId } = slotOf(key);
    for (const used of desired.volumesOf(key).filter(needsAttachment)) {
      const existing = findAttachment(caches.attachments, used.volume, nodeName);
      const name = existing?.metadata.name ?? attachmentNames(used.volume, nodeName)[0];
      const state = attachmentState(existing).kind;
      if (state === 'attached' || state === 'detaching') continue;
      // An earlier creation may have taken effect although its answer was lost.
      const isInDoubt = actual.unseen(volumeId, nodeName) !== undefined;
      if (state === 'absent') actual.making(volumeId, nodeName, name);
      podEvents.asked(name);
      const ended = counted.operation('volume_attach');
      try {
        await plugin.attach(used.volume, nodeName, signal);
        ended('success');
        podEvents.announce(key);
      } catch (error) {
        if (signal.aborted) throw error;
        ended('fail-unknown');
        // A rejection says nothing of an earlier attempt.
        if (isRejected(error) && !(isInDoubt && (await exists(name, signal)))) noLongerMaking(key);
        // The volume may be another node's by now: decide anew.
        if (error instanceof AttachError && error.failure === 'deleted')
          return failed({ why: error.message, quiet: true });
        // The attacher goes on by itself, and a detachment comes to its end: either wakes the slot.
        if (error instanceof AttachError && error.failure === 'detach-in-progress') return done;
        podEvents.attachFailed(key, used, error);
        if (error instanceof AttachError && error.failure === 'attach-error') return done;
        throw error;
      } finally {
        actual.unseen(volumeId, nodeName);
      }
    }
    return done;
  }

  /**
   * Whether an attachment may exist that the cache does not show: its creation was sent and never answered. While a
   * pod wants it, it is simply made again; once none does, the server is asked.
   */
  async function isUncertain(key: string, signal: AbortSignal): Promise<boolean> {
    const { nodeName, volumeId } = slotOf(key);
    const name = actual.unseen(volumeId, nodeName);
    if (name === undefined || desired.podsOf(key).length > 0) return false;
    if (await exists(name, signal)) return true;
    noLongerMaking(key);
    return false;
  }

  async function exists(name: string, signal: AbortSignal): Promise<boolean> {
    return (await ifThere(kube.get(volumeAttachments, { name }, { signal }))) !== undefined;
  }

  function noLongerMaking(key: string): void {
    const { nodeName, volumeId } = slotOf(key);
    actual.made(volumeId, nodeName);
    refused.wake(volumeId);
  }

  async function detach(key: string, forced: Forced, signal: AbortSignal): Promise<Outcome> {
    const { nodeName, volumeId } = slotOf(key);
    const leaving = actual
      .at(nodeName, volumeId)
      .filter((attachment) => !attachment.metadata.deletionTimestamp);
    for (const { metadata } of leaving) report.withhold(metadata.name);
    try {
      // From here on the node does not start to mount the volume. The answer is newer than any cache.
      const node = await report.publish(nodeName, signal);
      const state = nodeStateOf(node, volumeId, driverOf(leaving));
      if (desired.podsOf(key).length > 0 || !mayDetach(forced, state)) {
        log.info('Not detaching after all: the volume is in use', { volumeId, nodeName });
        // Decide again from this answer: the watch may never deliver a version that shows the volume in use.
        return requeueAfter(BACKOFF.startMs, 'the node says that it uses the volume');
      }
      if (state.inUse && forced !== 'no') {
        counted.forced(forced);
        log.warn('Detaching by force: the node cannot say that it unmounted the volume', {
          volumeId,
          nodeName,
          why: forced,
        });
      }
      for (const attachment of leaving) await detachOne(attachment, signal);
      return done;
    } finally {
      for (const { metadata } of leaving) report.release(metadata.name);
      reports.add(nodeName);
    }
  }

  async function detachOne(attachment: VolumeAttachment, signal: AbortSignal): Promise<void> {
    const ended = counted.operation('volume_detach');
    try {
      await plugin.detach(attachment, signal);
      ended('success');
    } catch (error) {
      if (signal.aborted || !(error instanceof AttachError)) throw error;
      ended('fail-unknown');
      // The object has its deletion timestamp: the attacher goes on by itself.
      log.warn('The volume is not detached yet', {
        attachment: attachment.metadata.name,
        nodeName: attachment.spec.nodeName,
        error: error.message,
      });
    }
  }

  function refuse(key: string, holders: readonly string[]): void {
    const { volumeId } = slotOf(key);
    refused.add(volumeId, key);
    podEvents.heldElsewhere(key, holders);
    log.v(2).info('Waiting for another node to give the volume up', { volumeId, holders });
  }

  return {
    name: 'attachdetach',
    async run(signal) {
      // Nothing is decided before everything is known: a pod that has not been listed yet would seem to be gone.
      if (!(await cachesSynced(Object.values(caches), signal))) return;
      const stopFollowing = followVolumes({
        caches,
        desired,
        actual,
        podsOfClaim,
        slots,
        reports,
        holdersChanged: (volumeId) => refused.wake(volumeId),
        nodeChanged: (nodeName) => mounted.wake(nodeName),
        attachmentGone: (name) => podEvents.gone(name),
      });
      const stopCounting = counted.follow({ desired: () => desired.size, actual: () => actual.size });
      try {
        await Promise.all([slots.run(signal), reports.run(signal)]);
      } finally {
        stopCounting();
        stopFollowing();
      }
    },
  };
}

/** The driver of a slot's attachments, which is the same for all; empty when there are none. */
const driverOf = ([first]: readonly VolumeAttachment[]) => (first?.spec.attacher ?? '') as DriverName;

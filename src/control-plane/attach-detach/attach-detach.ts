// The attach/detach controller: volumes go where pods that use them are scheduled, and away when the last such pod is
// gone and the node has unmounted them. Watches pods, claims, volumes, attachments, nodes and drivers; makes and
// deletes VolumeAttachments through the plugin and writes `status.volumesAttached` of nodes; never calls a driver.
//
// One loop, a key for each slot (one volume on one node), and one for the reports of nodes. A run that waits for an
// attacher costs nothing but its promise, so there is no limit on how many do.

import { declaredModes, inlineMode } from '../../api/inline-volumes.ts';
import {
  csiDrivers,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { attachmentNameOf } from '../../csi-plugin/attach/attachable-volume.ts';
import { attachmentState } from '../../csi-plugin/attach/attachment-state.ts';
import { AttachError, createVolumeAttacher } from '../../csi-plugin/attach/volume-attacher.ts';
import { isNotFound, KubeError } from '../../runtime/kube-error.ts';
import { done, type Outcome, requeueAfter } from '../../runtime/loop.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim } from '../pods-by-claim.ts';
import { ActualAttachments } from './actual-attachments.ts';
import { attachDetachMetrics } from './attach-detach-metrics.ts';
import { AttachedReport } from './attached-report.ts';
import { decideSlot, type SlotStep } from './decide-slot.ts';
import { DesiredVolumes } from './desired-volumes.ts';
import { multiAttachMessage } from './multi-attach-message.ts';
import { healthOf, isOutOfService, nodeFingerprint, reportsInUse } from './node-state.ts';
import { slotKey, slotOf } from './slot.ts';
import type { UsedVolume } from './volumes-of-pod.ts';

/** Those of Kubernetes' volume operations. */
const BACKOFF = { startMs: 500, maxMs: 122_000 };
const REPORT_WORKERS = 16;

export interface AttachDetachPorts extends ControllerPorts {
  /** How long to wait for an attacher's answer; two minutes unless given. */
  attachTimeoutMs?: number;
}

export function createAttachDetach(ports: AttachDetachPorts): Controller {
  const { kube, informers, recorder, clock, random, metrics } = ports;
  const log = ports.log.with({ controller: 'attachdetach' });
  const podInformer = informers.of(pods);
  const claimInformer = informers.of(persistentVolumeClaims);
  const volumeInformer = informers.of(persistentVolumes);
  const attachmentInformer = informers.of(volumeAttachments);
  const nodeInformer = informers.of(nodes);
  const driverInformer = informers.of(csiDrivers);
  const podsOfClaim = indexPodsByClaim(podInformer);

  const actual = new ActualAttachments(attachmentInformer);
  const desired = new DesiredVolumes({
    claim: (key) => claimInformer.get(key),
    volume: (name) => volumeInformer.get(name),
  });
  const report = new AttachedReport({ kube, nodes: nodeInformer, actual });
  const plugin = createVolumeAttacher({
    kube,
    attachments: attachmentInformer,
    clock,
    ...(ports.attachTimeoutMs !== undefined && { timeoutMs: ports.attachTimeoutMs }),
  });
  /** Since when a slot has been unused on a node that is not ready. */
  const stuckSinceMs = new Map<string, number>();
  /** Slots that wait for another node to give their volume up, by volume. */
  const refused = new Map<string, Set<string>>();
  /** Attachments that were asked for and whose success no pod has been told of yet. */
  const unannounced = new Set<string>();
  const counted = attachDetachMetrics(metrics, clock);

  const common = { clock, random, log, backoff: BACKOFF, ...(metrics && { metrics }) };
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
    if (await isUncertain(key, signal)) return requeueAfter(BACKOFF.startMs, 'an attachment was made unseen');
    announce(key);
    const step = decideSlot(snapshotOf(key));
    if (step.do !== 'await-unmount' || step.recheckAfterMs === undefined) stuckSinceMs.delete(key);
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
        if (step.recheckAfterMs === undefined) return done;
        return requeueAfter(step.recheckAfterMs, 'the node is not ready and its volume not unmounted');
      default:
        return step satisfies never;
    }
  }

  function snapshotOf(key: string) {
    const { nodeName, volumeId } = slotOf(key);
    const node = nodeInformer.get(nodeName);
    const used = desired.volumesOf(key);
    const existing = actual.at(nodeName, volumeId);
    const exclusive = used.some((each) => each.exclusive);
    const health = healthOf(node);
    const inUse = reportsInUse(node, volumeId, existing[0]?.spec.attacher ?? '');
    const isStuck = used.length === 0 && inUse && health !== 'ready' && existing.length > 0;
    if (isStuck && !stuckSinceMs.has(key)) stuckSinceMs.set(key, clock.monotonicMs());
    return {
      used: used.length > 0,
      needed: used
        .filter(needsAttachment)
        .map(({ volume }) => attachmentState(attachmentInformer.get(attachmentNameOf(volume, nodeName)))),
      existing: existing.map(attachmentState),
      // Asked only where it matters: a volume for many nodes may have thousands of holders.
      holders: exclusive ? actual.holdersBesides(nodeName, volumeId) : [],
      exclusive,
      node: { health, outOfService: isOutOfService(node), inUse },
      stuckForMs: isStuck ? clock.monotonicMs() - (stuckSinceMs.get(key) ?? 0) : 0,
    };
  }

  /** The driver's object decides, as it is now: whether it attaches at all, and what its inline volumes are. */
  function needsAttachment({ volume }: UsedVolume): boolean {
    const driver = driverInformer.get(volume.driver);
    if (driver?.spec.attachRequired === false) return false;
    if (volume.kind !== 'inline') return true;
    return inlineMode(volume.csi, driver ? declaredModes(driver) : ['Persistent']) === 'Persistent';
  }

  async function attach(key: string, signal: AbortSignal): Promise<Outcome> {
    const { nodeName, volumeId } = slotOf(key);
    for (const used of desired.volumesOf(key).filter(needsAttachment)) {
      const name = attachmentNameOf(used.volume, nodeName);
      const state = attachmentState(attachmentInformer.get(name)).kind;
      if (state === 'attached' || state === 'detaching') continue;
      if (state === 'absent') actual.making(volumeId, nodeName, name);
      unannounced.add(name);
      const ended = counted.operation('volume_attach');
      try {
        await plugin.attach(used.volume, nodeName, signal);
        ended('success');
        announce(key);
      } catch (error) {
        if (signal.aborted) throw error;
        ended('fail-unknown');
        if (isRefusal(error)) {
          actual.made(volumeId, nodeName);
          wakeRefused(volumeId);
        }
        // The attacher goes on by itself, and a detachment comes to its end: either wakes the slot.
        if (error instanceof AttachError && error.failure === 'detach-in-progress') return done;
        tellPods(key, 'Warning', 'FailedAttachVolume', failed(used, error));
        if (error instanceof AttachError && error.failure === 'attach-error') return done;
        throw error;
      } finally {
        actual.unseen(volumeId, nodeName);
      }
    }
    return done;
  }

  /** Success may also come long after an attempt that ended with the attacher's error. */
  function announce(key: string): void {
    const { nodeName } = slotOf(key);
    for (const used of desired.volumesOf(key)) {
      const name = attachmentNameOf(used.volume, nodeName);
      if (attachmentState(attachmentInformer.get(name)).kind !== 'attached') continue;
      if (unannounced.delete(name)) tellPods(key, 'Normal', 'SuccessfulAttachVolume', succeeded(used));
    }
  }

  /**
   * Whether an attachment may exist that the cache does not show: its creation was sent and never answered. While a
   * pod wants it, it is simply made again; once none does, the server is asked.
   */
  async function isUncertain(key: string, signal: AbortSignal): Promise<boolean> {
    const { nodeName, volumeId } = slotOf(key);
    const name = actual.unseen(volumeId, nodeName);
    if (name === undefined || desired.podsOf(key).length > 0) return false;
    try {
      await kube.get(volumeAttachments, { name }, { signal });
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    actual.made(volumeId, nodeName);
    wakeRefused(volumeId);
    return false;
  }

  async function detach(
    key: string,
    forced: (SlotStep & { do: 'detach' })['forced'],
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { nodeName, volumeId } = slotOf(key);
    const leaving = actual
      .at(nodeName, volumeId)
      .filter((attachment) => !attachment.metadata.deletionTimestamp);
    for (const { metadata } of leaving) report.withhold(metadata.name);
    try {
      // From here on the node must not begin to mount it; what it answers is newer than any cache.
      const node = await report.publish(nodeName, signal);
      const stillInUse = reportsInUse(node, volumeId, leaving[0]?.spec.attacher ?? '');
      if (desired.podsOf(key).length > 0 || (forced === 'no' && stillInUse)) {
        log.info('Not detaching after all: the volume is in use again', { volumeId, nodeName });
        return done;
      }
      if (forced !== 'no') {
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
      // The object carries its deletion timestamp: the attacher goes on, and nothing here can hasten it.
      log.warn('The volume is not detached yet', {
        attachment: attachment.metadata.name,
        nodeName: attachment.spec.nodeName,
        error: error.message,
      });
    }
  }

  function refuse(key: string, holders: readonly string[]): void {
    const { volumeId } = slotOf(key);
    const otherPods = holders.flatMap((nodeName) => desired.podsOf(slotKey(nodeName, volumeId)));
    const shownAs = desired.volumesOf(key)[0]?.shownAs ?? volumeId;
    for (const pod of podsAt(key)) {
      const namespace = pod.metadata.namespace ?? '';
      const message = multiAttachMessage({ shownAs, namespace, otherPods });
      recorder.event(pod, 'Warning', 'FailedAttachVolume', message);
    }
    refused.set(volumeId, (refused.get(volumeId) ?? new Set()).add(key));
    log.v(2).info('Waiting for another node to give the volume up', { volumeId, holders, otherPods });
  }

  function podsAt(key: string): Pod[] {
    return desired.podsOf(key).flatMap((podKey) => podInformer.get(podKey) ?? []);
  }

  function tellPods(key: string, type: 'Normal' | 'Warning', reason: string, message: string): void {
    for (const pod of podsAt(key)) recorder.event(pod, type, reason, message);
  }

  // Wake-ups: from whatever changed to the slots that it may concern.

  function wake(keys: Iterable<string>): void {
    for (const key of keys) slots.add(key);
  }

  /** Something about who has the volume changed. */
  function wakeRefused(volumeId: string): void {
    const keys = refused.get(volumeId) ?? [];
    refused.delete(volumeId);
    wake(keys);
  }

  function refreshPodsOfClaim(claimKey: string): void {
    for (const pod of podsOfClaim(claimKey)) wake(desired.update(pod));
  }

  function lookAtVolume(volume: PersistentVolume): void {
    actual.knows(volume);
    const { claimRef } = volume.spec;
    if (claimRef) refreshPodsOfClaim(`${claimRef.namespace}/${claimRef.name}`);
  }

  function lookAtAttachment(attachment: VolumeAttachment): void {
    const { nodeName } = attachment.spec;
    const volumeId = actual.volumeIdOf(attachment);
    slots.add(slotKey(nodeName, volumeId));
    wakeRefused(volumeId);
    reports.add(nodeName);
  }

  function lookAtNode(nodeName: string): void {
    reports.add(nodeName);
    for (const attachment of actual.onNode(nodeName)) {
      slots.add(slotKey(nodeName, actual.volumeIdOf(attachment)));
    }
  }

  function lookAtDriver(name: string): void {
    for (const key of desired.slots()) {
      if (desired.volumesOf(key).some(({ volume }) => volume.driver === name)) slots.add(key);
    }
  }

  /** Volumes first, so that what comes after finds their handles. Each subscription replays what is cached. */
  function subscribe(): (() => void)[] {
    return [
      volumeInformer.subscribe({
        added: lookAtVolume,
        updated: (_before, after) => lookAtVolume(after),
        deleted: ({ metadata: { name } }) => {
          if (!actual.isUsed(name)) actual.forget(name);
        },
      }),
      claimInformer.subscribe({
        added: (claim: PersistentVolumeClaim) => refreshPodsOfClaim(keyOf(claim)),
        updated: (_before, claim) => refreshPodsOfClaim(keyOf(claim)),
      }),
      podInformer.subscribe({
        added: (pod) => wake(desired.update(pod)),
        updated: (_before, pod) => wake(desired.update(pod)),
        deleted: (pod) => wake(desired.remove(keyOf(pod))),
      }),
      attachmentInformer.subscribe({
        added: lookAtAttachment,
        updated: (_before, after) => lookAtAttachment(after),
        deleted: (attachment) => {
          unannounced.delete(attachment.metadata.name);
          lookAtAttachment(attachment);
          const { persistentVolumeName: name } = attachment.spec.source;
          if (name !== undefined && !volumeInformer.get(name) && !actual.isUsed(name)) actual.forget(name);
        },
      }),
      nodeInformer.subscribe({
        added: (node: Node) => {
          lookAtNode(node.metadata.name);
          wake(desired.slotsOn(node.metadata.name));
        },
        updated: (before, after) => {
          if (nodeFingerprint(before) !== nodeFingerprint(after)) lookAtNode(after.metadata.name);
        },
        deleted: (node) => lookAtNode(node.metadata.name),
      }),
      driverInformer.subscribe({
        added: ({ metadata }) => lookAtDriver(metadata.name),
        updated: (_before, { metadata }) => lookAtDriver(metadata.name),
        deleted: ({ metadata }) => lookAtDriver(metadata.name),
      }),
    ];
  }

  return {
    name: 'attachdetach',
    async run(signal) {
      // Nothing is decided before everything is known: a pod that has not been listed yet would seem to be gone.
      const caches = [
        podInformer,
        claimInformer,
        volumeInformer,
        attachmentInformer,
        nodeInformer,
        driverInformer,
      ];
      if (!(await cachesSynced(caches, signal))) return;
      const subscriptions = subscribe();
      const stopCounting = counted.follow({ desired: () => desired.size, actual: () => actual.size });
      try {
        await Promise.all([slots.run(signal), reports.run(signal)]);
      } finally {
        stopCounting();
        for (const unsubscribe of subscriptions) unsubscribe();
      }
    },
  };
}

/** The server said no: nothing was made. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubeError && error.code >= 400 && error.code < 500 && error.reason !== 'Timeout';
}

function succeeded({ shownAs }: UsedVolume): string {
  return `AttachVolume.Attach succeeded for volume "${shownAs}"`;
}

function failed({ shownAs }: UsedVolume, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `AttachVolume.Attach failed for volume "${shownAs}" : ${message}`;
}

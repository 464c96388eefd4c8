// The attacher: watches VolumeAttachments, PersistentVolumes and what nodes say of the driver, and keeps two loops, one
// for attachments and one for the finalizer on volumes. Writes only what those loops write.

import { asksForRetry } from '../../api/asks-for-retry.ts';
import {
  csiNodeInfos,
  csiNodes,
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { type KubeObject, keyOf } from '../../api/object.ts';
import { driverOnNode } from '../../api/volumes.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import type { Loop } from '../../runtime/queue/loop.ts';
import { attachmentKey, volumeKey } from '../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../runtime/sharding/shares.ts';
import { every } from '../../runtime/time/every.ts';
import { inSlices } from '../../runtime/time/in-slices.ts';
import type { Sidecar, SidecarPorts } from '../common/sidecar.ts';
import { VolumeTurns } from '../common/volume-turns.ts';
import type { AttacherFlags } from './attacher-flags.ts';
import { attachmentReconciler } from './attachment-reconciler.ts';
import { recordedNodeId } from './attachment-record.ts';
import { runDriftCheck } from './drift-check.ts';
import { type Candidate, DriftList } from './drift-list.ts';
import { createPublishCalls } from './publish-calls.ts';
import { BY_VOLUME, VolumeProtection } from './volume-protection.ts';
import { volumeSourceOf } from './volume-source.ts';

const BY_NODE = 'node';

export function createAttacher(ports: SidecarPorts, flags: AttacherFlags): Sidecar {
  const { kube, informers, driver, clock, log, shares } = ports;
  const attachments = informers.of(volumeAttachments);
  const volumes = informers.of(persistentVolumes);
  const nodesOfDriver = informers.of(csiNodes);
  const nodeInfos = informers.of(csiNodeInfos, { optional: true });
  attachments.addIndex(BY_VOLUME, ({ spec }) => asList(spec.source.persistentVolumeName));
  attachments.addIndex(BY_NODE, ({ spec }) => [spec.nodeName]);

  const drift = new DriftList();
  const protection = new VolumeProtection({ ...ports, driver: driver.name, volumes, attachments });
  const reconcile = attachmentReconciler({
    ...ports,
    attachments,
    csiNodes: nodesOfDriver,
    csiNodeInfos: nodeInfos,
    protection,
    drift,
    turns: new VolumeTurns((key) => attachmentLoop.add(key)),
    calls: createPublishCalls({
      kube,
      csi: ports.csi,
      timeoutMs: flags.timeoutMs,
      publishesReadOnly: driver.controller.has('PUBLISH_READONLY'),
      singleNodeMultiWriter: driver.controller.has('SINGLE_NODE_MULTI_WRITER'),
      defaultFsType: flags.defaultFstype,
    }),
    reportErrorCode: flags.featureGates.MutableCSINodeAllocatableCount,
  });
  const backoff = { startMs: flags.retryIntervalStartMs, maxMs: flags.retryIntervalMaxMs };
  const shared = { ...ports, workers: flags.workerThreads, backoff };
  const attachmentLoop = createLoop({
    ...shared,
    name: 'csi-attacher-va',
    reconcile: sharedReconcile(shares, { ownerKey: (key) => attachmentKey(attachments.get(key)) }, reconcile),
  });
  const volumeLoop = createLoop({
    ...shared,
    name: 'csi-attacher-pv',
    reconcile: sharedReconcile(
      shares,
      { ownerKey: volumeKey, confirm: { kube, informer: volumes } },
      protection.reconcile,
    ),
  });
  const isOurs = (attachment: VolumeAttachment) => attachment.spec.attacher === driver.name;
  const lookAt = (attachment: VolumeAttachment): void => {
    const isSettled = attachment.status?.attached && attachment.metadata.deletionTimestamp === undefined;
    if (isOurs(attachment) && !isSettled) attachmentLoop.add(keyOf(attachment));
  };
  const lookAtVolume = (volume: PersistentVolume): void => {
    const isUsed = attachments.byIndex(BY_VOLUME, keyOf(volume)).length > 0;
    if (protection.isProtected(volume) && !isUsed) volumeLoop.add(keyOf(volume));
  };

  function follow(): () => void {
    // What is cached already is looked at by its attachments, so a look at them by their nodes would be a second one.
    let isFollowing = false;
    const unattached = (index: string, value: string) => {
      if (!isFollowing) return;
      for (const attachment of attachments.byIndex(index, value)) {
        if (isOurs(attachment) && !attachment.status?.attached) attachmentLoop.add(keyOf(attachment));
      }
    };
    const followNodes = <T extends KubeObject>(informer: Informer<T>, nodeIdIn: (object: T) => unknown) =>
      informer.subscribe({
        added: (object) => unattached(BY_NODE, keyOf(object)),
        updated: (before, after) => {
          if (nodeIdIn(before) !== nodeIdIn(after)) unattached(BY_NODE, keyOf(after));
        },
      });
    const subscriptions = [
      attachments.subscribe(
        {
          added: lookAt,
          updated: (before, after) => {
            if (isOurs(after)) followChange(attachmentLoop, before, after);
          },
          deleted: (last) => {
            drift.clear(last);
            for (const name of asList(last.spec.source.persistentVolumeName)) volumeLoop.add(name);
          },
        },
        { inSlices: true },
      ),
      volumes.subscribe(
        { added: lookAtVolume, updated: (_before, volume) => lookAtVolume(volume) },
        { inSlices: true },
      ),
      // Not in slices: most of them would come when `isFollowing` is set.
      volumes.subscribe({
        added: (volume) => unattached(BY_VOLUME, keyOf(volume)),
        deleted: (volume) => protection.gone(volume),
      }),
      followNodes(nodesOfDriver, (csiNode) => driverOnNode(driver.name, { csiNode })?.nodeId),
      followNodes(nodeInfos, (csiNodeInfo) => driverOnNode(driver.name, { csiNodeInfo })?.nodeId),
    ];
    isFollowing = true;
    return () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  }

  /** Attached, not being deleted, with known handle and node ID. */
  function driftCandidates(): Candidate[] {
    return attachments.list().flatMap((attachment) => {
      if (!isOurs(attachment) || !attachment.status?.attached) return [];
      if (attachment.metadata.deletionTimestamp !== undefined) return [];
      // Each replica compares its own: only it may repair them.
      if (shares && !shares.owns(attachmentKey(attachment) ?? '')) return [];
      const { persistentVolumeName } = attachment.spec.source;
      const volume = persistentVolumeName === undefined ? undefined : volumes.get(persistentVolumeName);
      const source = volumeSourceOf(attachment, volume);
      const nodeId = recordedNodeId(attachment);
      return 'problem' in source || nodeId === undefined
        ? []
        : [{ attachment, handle: source.volume.handle, nodeId }];
    });
  }

  const lookAtAll = (): void => {
    inSlices(clock, attachments.list(), (attachment) => {
      if (isOurs(attachment)) attachmentLoop.add(keyOf(attachment));
    });
    inSlices(clock, volumes.list(), (volume) => {
      if (protection.isProtected(volume)) volumeLoop.add(keyOf(volume));
    });
  };
  const resync = (signal: AbortSignal): Promise<void> =>
    every({ clock, intervalMs: flags.resyncMs, signal }, lookAtAll);
  // A volume loses its finalizer when no attachment refers to it, and others have worked on them until now.
  shares?.beforeGain(() => {
    protection.forgetHeld();
    return attachments.refresh();
  });
  shares?.onGain(() => {
    inSlices(clock, attachments.list(), lookAt);
    inSlices(clock, volumes.list(), lookAtVolume);
  });

  async function checkDrift(signal: AbortSignal): Promise<void> {
    const lists =
      driver.controller.has('LIST_VOLUMES_PUBLISHED_NODES') && driver.controller.has('LIST_VOLUMES');
    const publishes = driver.controller.has('PUBLISH_UNPUBLISH_VOLUME');
    if (!lists || !publishes || flags.reconcileSyncMs <= 0) return;
    await runDriftCheck(
      {
        csi: ports.csi,
        timeoutMs: flags.timeoutMs,
        maxEntries: flags.maxEntries,
        intervalMs: flags.reconcileSyncMs,
        drift,
        candidates: driftCandidates,
        attachment: (key) => attachments.get(key),
        repair: (key) => attachmentLoop.add(key),
        clock,
        log,
      },
      signal,
    );
  }

  return {
    async run(signal) {
      // A volume loses its finalizer when no attachment refers to it, so all attachments must be known first.
      await Promise.all([attachments, volumes, nodesOfDriver, nodeInfos].map((each) => each.synced(signal)));
      const unfollow = follow();
      log.info('Attaching and detaching volumes', { workers: flags.workerThreads });
      try {
        await Promise.all([
          attachmentLoop.run(signal),
          volumeLoop.run(signal),
          resync(signal),
          checkDrift(signal),
        ]);
      } finally {
        unfollow();
      }
    },
  };
}

function asList(value: string | undefined): string[] {
  return value === undefined ? [] : [value];
}

/** Not on every change: the attacher's own writes would break the backoff of an attachment that fails. */
function followChange(loop: Loop, before: VolumeAttachment, after: VolumeAttachment): void {
  const key = keyOf(after);
  const replaced = before.metadata.uid !== after.metadata.uid;
  const turned = before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp;
  // How often attaching failed says nothing about detaching.
  const isAsked = asksForRetry(before, after);
  if (replaced || turned || isAsked) loop.forget(key);
  if (replaced || turned || isAsked || before === after || before.status?.attached !== after.status?.attached)
    loop.add(key);
}

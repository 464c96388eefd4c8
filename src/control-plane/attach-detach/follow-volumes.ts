// Wake-ups: keeps desired and actual state up to date with the caches, and wakes the slots and nodes that a change may
// concern. Nothing is decided here.

import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { isTerminated } from '../../api/volumes.ts';
import { attachmentState, mayBeAttached } from '../../csi-plugin/attach/attachment-state.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { Loop } from '../../runtime/queue/loop.ts';
import type { ActualAttachments } from './actual-attachments.ts';
import type { DesiredVolumes } from './desired-volumes.ts';
import type { SlotVolume } from './slot.ts';
import { slotKey } from './slot.ts';

export interface VolumeCaches {
  pods: Informer<Pod>;
  claims: Informer<PersistentVolumeClaim>;
  volumes: Informer<PersistentVolume>;
  attachments: Informer<VolumeAttachment>;
  nodes: Informer<Node>;
  drivers: Informer<CSIDriver>;
}

export interface FollowVolumesInit {
  caches: VolumeCaches;
  desired: DesiredVolumes;
  actual: ActualAttachments;
  podsOfClaim: (claimKey: string) => readonly Pod[];
  /** By slot, and by node. */
  slots: Pick<Loop, 'add'>;
  reports: Pick<Loop, 'add'>;
  /** The set of nodes that hold the volume may have changed. */
  holdersChanged(volumeId: SlotVolume): void;
  /** The Node object changed. */
  nodeChanged(nodeName: string): void;
  attachmentGone(attachmentName: string): void;
}

/** Each subscription replays what is cached. Returns a function that ends them all. */
export function followVolumes(init: FollowVolumesInit): () => void {
  const { caches, desired, actual, podsOfClaim, slots, reports } = init;
  let isFollowing = false;

  function wake(keys: Iterable<string>): void {
    for (const key of keys) slots.add(key);
  }

  function refreshPodsOfClaim(claimKey: string): void {
    for (const pod of podsOfClaim(claimKey)) wake(desired.update(pod));
  }

  function lookAtVolume(volume: PersistentVolume): void {
    const isNews = actual.knows(volume);
    // Attachments that are cached already are looked at by their own replay.
    if (isNews && isFollowing)
      for (const attachment of actual.of(volume.metadata.name)) lookAtAttachment(attachment);
    const { claimRef } = volume.spec;
    if (claimRef) refreshPodsOfClaim(`${claimRef.namespace}/${claimRef.name}`);
  }

  /** The Node's list holds only what is attached. */
  function lookAtAttachment(attachment: VolumeAttachment, concernsReport = isAttached(attachment)): void {
    const { nodeName } = attachment.spec;
    const volumeId = actual.volumeIdOf(attachment);
    slots.add(slotKey(nodeName, volumeId));
    init.holdersChanged(volumeId);
    if (concernsReport) reports.add(nodeName);
  }

  function lookAtNode(nodeName: string): void {
    reports.add(nodeName);
    for (const attachment of actual.onNode(nodeName))
      slots.add(slotKey(nodeName, actual.volumeIdOf(attachment)));
  }

  function lookAtDriver({ metadata: { name } }: CSIDriver): void {
    for (const key of desired.slots()) {
      if (desired.volumesOf(key).some(({ volume }) => volume.driver === name)) slots.add(key);
    }
  }

  /** The handle of a deleted volume is kept only while the volume has attachments. */
  function forgetUnused(pvName: string): void {
    if (!caches.volumes.get(pvName) && actual.of(pvName).length === 0) actual.forget(pvName);
  }

  // Volumes first, so that what comes after finds their handles.
  const subscriptions = [
    caches.volumes.subscribe({
      added: lookAtVolume,
      updated: (before, after) => {
        if (!sameJson(before.spec, after.spec)) lookAtVolume(after);
      },
      deleted: ({ metadata }) => forgetUnused(metadata.name),
    }),
    caches.claims.subscribe({
      added: (claim) => refreshPodsOfClaim(keyOf(claim)),
      updated: (before, claim) => {
        if (!meansTheSame(before, claim)) refreshPodsOfClaim(keyOf(claim));
      },
    }),
    caches.pods.subscribe({
      added: (pod) => wake(desired.update(pod)),
      updated: (before, pod) => {
        // The volumes of a pod never change.
        if (before.spec.nodeName !== pod.spec.nodeName || isTerminated(before) !== isTerminated(pod))
          wake(desired.update(pod));
      },
      deleted: (pod) => wake(desired.remove(keyOf(pod))),
    }),
    caches.attachments.subscribe({
      added: (attachment) => lookAtAttachment(attachment),
      updated: (before, after) => {
        if (!standsTheSame(before, after)) lookAtAttachment(after, isAttached(before) !== isAttached(after));
      },
      deleted: (attachment) => {
        init.attachmentGone(attachment.metadata.name);
        lookAtAttachment(attachment);
        forgetUnused(attachment.spec.source.persistentVolumeName ?? '');
      },
    }),
    caches.nodes.subscribe({
      added: ({ metadata: { name } }) => {
        lookAtNode(name);
        wake(desired.slotsOn(name));
      },
      updated: (before, after) => {
        const { name } = after.metadata;
        if (!sameJson(before.status?.volumesAttached, after.status?.volumesAttached)) reports.add(name);
        init.nodeChanged(name);
      },
      deleted: ({ metadata: { name } }) => lookAtNode(name),
    }),
    caches.drivers.subscribe({
      added: lookAtDriver,
      updated: (_before, driver) => lookAtDriver(driver),
      deleted: lookAtDriver,
    }),
  ];
  isFollowing = true;
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}

/** Which volume a claim stands for, and for which pod it was made. */
function meansTheSame(before: PersistentVolumeClaim, after: PersistentVolumeClaim): boolean {
  return (
    before.spec.volumeName === after.spec.volumeName &&
    sameJson(before.metadata.ownerReferences, after.metadata.ownerReferences)
  );
}

const isAttached = (attachment: VolumeAttachment): boolean => attachmentState(attachment).kind === 'attached';

function standsTheSame(before: VolumeAttachment, after: VolumeAttachment): boolean {
  return (
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    mayBeAttached(before) === mayBeAttached(after) &&
    sameJson(before.status, after.status)
  );
}

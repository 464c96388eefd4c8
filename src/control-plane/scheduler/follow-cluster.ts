// Applies watch events to the scheduler's caches and wakes the pods that a change may help. Decides nothing.

import type {
  CSIDriver,
  CSINode,
  CSINodeInfo,
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { isTerminated, selectedNodeOf, storageClassOf } from '../../api/volumes.ts';
import { ANN_CSI_NODE_ID } from '../../api/well-known.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { Loop } from '../../runtime/queue/loop.ts';
import type { CapacityBook } from './capacity-book.ts';
import type { Placement } from './placement.ts';
import { isBound } from './pod-volumes.ts';
import type { SchedulerCache } from './scheduler-cache.ts';
import type { Change } from './waiting-pods.ts';

/** Everything that the scheduler decides from. */
export interface ClusterCaches {
  pods: Informer<Pod>;
  nodes: Informer<Node>;
  claims: Informer<PersistentVolumeClaim>;
  volumes: Informer<PersistentVolume>;
  classes: Informer<StorageClass>;
  drivers: Informer<CSIDriver>;
  csiNodes: Informer<CSINode>;
  csiNodeInfos: Informer<CSINodeInfo>;
  capacities: Informer<CSIStorageCapacity>;
  attachments: Informer<VolumeAttachment>;
}

export interface FollowClusterInit {
  caches: ClusterCaches;
  cache: SchedulerCache;
  capacities: CapacityBook;
  podsOfClaim: (claimKey: string) => readonly Pod[];
  /** Looks again at the pods that wait for such a change. */
  wake(change: Change): void;
  /** Pods without a node; pods that got one are removed. */
  placements: Map<string, Placement>;
  loop: Pick<Loop, 'add' | 'forget'>;
}

/** Each subscription replays the cache. Returns a function that ends all subscriptions. */
export function followCluster(init: FollowClusterInit): () => void {
  const { caches, cache, capacities, podsOfClaim, wake, placements, loop } = init;

  const wakeOn = (change: Change) => ({
    added: () => wake(change),
    updated: () => wake(change),
    deleted: () => wake(change),
  });

  function lookAtPod(pod: Pod): void {
    if (cache.setPod(pod)) wake('room');
    const key = keyOf(pod);
    if (!pod.spec.nodeName) loop.add(key);
    else if (placements.delete(key)) loop.forget(key);
  }

  function lookAtClaim(claimKey: string): void {
    const using = podsOfClaim(claimKey);
    cache.volumesChanged(using);
    for (const pod of using) if (!pod.spec.nodeName) loop.add(keyOf(pod));
  }

  function lookAtVolume({ spec: { claimRef } }: PersistentVolume): void {
    if (!claimRef) {
      wake('volumes');
      return;
    }
    const claimKey = `${claimRef.namespace}/${claimRef.name}`;
    const claim = caches.claims.get(claimKey);
    // A claim with immediate binding does not help its pods before it is bound.
    if (claim && (isBound(claim) || isDelayed(claim))) lookAtClaim(claimKey);
  }

  function isDelayed(claim: PersistentVolumeClaim): boolean {
    return caches.classes.get(storageClassOf(claim) ?? '')?.volumeBindingMode === 'WaitForFirstConsumer';
  }

  const lookAtAttachment = ({ spec }: VolumeAttachment) => cache.attachmentsChanged(spec.nodeName);

  const subscriptions = [
    caches.nodes.subscribe({
      added: (node) => {
        cache.setNode(node);
        wake('node');
      },
      updated: (before, after) => {
        cache.setNode(after);
        if (!offersTheSame(before, after)) wake('node');
      },
      deleted: ({ metadata: { name } }) => {
        cache.removeNode(name);
        for (const [key, { nodeName }] of placements) if (nodeName === name) loop.add(key);
      },
    }),
    caches.capacities.subscribe({
      added: (capacity) => capacities.put(capacity),
      updated: (_before, capacity) => capacities.put(capacity),
      deleted: (capacity) => capacities.remove(keyOf(capacity)),
    }),
    caches.pods.subscribe({
      added: lookAtPod,
      updated: (before, pod) => {
        if (!wantsTheSame(before, pod)) lookAtPod(pod);
      },
      deleted: (pod) => {
        // What others gave way for is free again, too.
        if (cache.removePod(keyOf(pod)) || pod.status?.nominatedNodeName) wake('room');
        loop.add(keyOf(pod));
      },
    }),
    caches.attachments.subscribe({
      added: lookAtAttachment,
      deleted: (attachment) => {
        lookAtAttachment(attachment);
        wake('room');
      },
    }),
    caches.claims.subscribe({
      added: (claim) => lookAtClaim(keyOf(claim)),
      updated: (before, claim) => {
        // Between these two versions the scheduler may have selected a node and the provisioner given it up, unseen here.
        const maySkipOne = isDelayed(claim) && !isBound(claim);
        if (maySkipOne || !asksTheSame(before, claim)) lookAtClaim(keyOf(claim));
      },
      deleted: (claim) => lookAtClaim(keyOf(claim)),
    }),
    caches.volumes.subscribe({
      added: lookAtVolume,
      updated: (before, volume) => {
        if (!isTheSame(before, volume)) lookAtVolume(volume);
      },
      deleted: lookAtVolume,
    }),
    caches.classes.subscribe(wakeOn('volumes')),
    caches.drivers.subscribe(wakeOn('volumes')),
    caches.csiNodes.subscribe(wakeOn('volumes')),
    caches.csiNodeInfos.subscribe(wakeOn('volumes')),
    caches.capacities.subscribe(wakeOn('volumes')),
  ];
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}

/** The fields of a node whose change can make a pod fit. */
export function offersTheSame(before: Node, after: Node): boolean {
  const idsOf = ({ metadata }: Node) => metadata.annotations?.[ANN_CSI_NODE_ID];
  const roomOf = ({ status }: Node) => status?.allocatable ?? status?.capacity;
  const readyOf = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return (
    readyOf(before) === readyOf(after) &&
    idsOf(before) === idsOf(after) &&
    sameJson(before.metadata.labels, after.metadata.labels) &&
    sameJson(before.spec, after.spec) &&
    sameJson(roomOf(before), roomOf(after))
  );
}

/** A pod's status does not affect where it goes, nor its requests until it has ended. */
export function wantsTheSame(before: Pod, after: Pod): boolean {
  return (
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    isTerminated(before) === isTerminated(after) &&
    sameJson(before.spec, after.spec)
  );
}

/** The fields of a claim that affect where its pods can go. */
export function asksTheSame(before: PersistentVolumeClaim, after: PersistentVolumeClaim): boolean {
  return (
    isBound(before) === isBound(after) &&
    (before.status?.phase === 'Lost') === (after.status?.phase === 'Lost') &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    selectedNodeOf(before) === selectedNodeOf(after) &&
    storageClassOf(before) === storageClassOf(after) &&
    sameJson(before.spec, after.spec) &&
    sameJson(before.metadata.ownerReferences, after.metadata.ownerReferences)
  );
}

/** The fields of a volume that affect where its pods can go, or whether the volume is free. */
export function isTheSame(before: PersistentVolume, after: PersistentVolume): boolean {
  return (
    before.status?.phase === after.status?.phase &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    storageClassOf(before) === storageClassOf(after) &&
    sameJson(before.metadata.labels, after.metadata.labels) &&
    sameJson(before.spec, after.spec)
  );
}

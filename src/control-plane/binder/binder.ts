// The binder: binds claims to volumes. Watches claims, volumes, classes, nodes and pods; writes both sides of a binding,
// phases and the storage-provisioner annotations; never creates or deletes storage. Two loops, one per kind. Each run
// decides from the caches, overlaid with the binder's own writes.

import { isDefaultClass } from '../../api/default-class.ts';
import {
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type StorageClass,
  storageClasses,
} from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { sameJson } from '../../api/same-json.ts';
import { selectedNodeOf, storageClassOf } from '../../api/volumes.ts';
import { ANN_STORAGE_PROVISIONER, ANN_STORAGE_PROVISIONER_BETA } from '../../api/well-known.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim } from '../pods-by-claim.ts';
import { BinderObjects } from './binder-objects.ts';
import { isComplete } from './binding.ts';
import { createClaimReconciler } from './claim-reconciler.ts';
import { isBindCompleted, isWaiting } from './decide-claim.ts';
import { VolumePool } from './volume-pool.ts';
import { createVolumeReconciler } from './volume-reconciler.ts';

/** Enough to keep a local API server busy: a worker spends most of its time waiting for responses. */
const WORKERS = 32;
/** Most failures are conflicts, which are over as soon as the cache has caught up. */
const BACKOFF = { startMs: 50, maxMs: 60_000 };

const BY_VOLUME = 'binder/claims-by-volume';
const WAITING_BY_CLASS = 'binder/waiting-claims-by-class';
const WAITING_BY_NODE = 'binder/waiting-claims-by-node';

const namedVolume = ({ spec: { volumeName } }: PersistentVolumeClaim): string[] =>
  volumeName ? [volumeName] : [];
const waitingInClass = (claim: PersistentVolumeClaim): string[] =>
  isWaiting(claim) ? [storageClassOf(claim) ?? ''] : [];
const waitingForNode = (claim: PersistentVolumeClaim): string[] => {
  const node = isWaiting(claim) ? selectedNodeOf(claim) : undefined;
  return node === undefined ? [] : [node];
};

export function createBinder(ports: ControllerPorts): Controller {
  const { kube, informers, recorder } = ports;
  const log = ports.log.with({ controller: 'persistentvolume-binder' });
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const nodeCache = informers.of(nodes);
  const podCache = informers.of(pods);
  claims.addIndex(BY_VOLUME, namedVolume);
  claims.addIndex(WAITING_BY_CLASS, waitingInClass);
  claims.addIndex(WAITING_BY_NODE, waitingForNode);
  const objects = new BinderObjects(kube, { claims, volumes });
  const pool = new VolumePool(volumes, objects.volumes);

  const common = { ...ports, log, workers: WORKERS, backoff: BACKOFF };
  const claimLoop = createLoop({
    ...common,
    name: 'claims',
    reconcile: createClaimReconciler({
      objects,
      pool,
      classes,
      nodes: nodeCache,
      podsOf: indexPodsByClaim(podCache),
      lookAtClaim: (key) => claimLoop.add(key),
      recorder,
    }),
  });
  const volumeLoop = createLoop({
    ...common,
    name: 'volumes',
    reconcile: createVolumeReconciler({ objects, recorder, lookAtClaim: (key) => claimLoop.add(key) }),
  });

  function claimChanged(claim: PersistentVolumeClaim): void {
    const key = keyOf(claim);
    const { volumeName = '' } = claim.spec;
    const volume = volumes.get(volumeName);
    const isBound = volume !== undefined && isComplete(claim, volume);
    if (!isBound) {
      claimLoop.add(key);
      if (volumeName !== '') volumeLoop.add(volumeName);
    }
    // A volume that is reserved or provisioned for this claim may wait for a change of the claim.
    for (const { metadata } of pool.naming(key)) {
      if (!isBound || metadata.name !== volumeName) volumeLoop.add(metadata.name);
    }
  }

  function volumeChanged(volume: PersistentVolume): void {
    const { name } = volume.metadata;
    const { claimRef } = volume.spec;
    const claim = claimRef && claims.get(`${claimRef.namespace}/${claimRef.name}`);
    const isBound = claim !== undefined && isComplete(claim, volume);
    for (const each of claims.byIndex(BY_VOLUME, name)) {
      if (!isBound || each !== claim) claimLoop.add(keyOf(each));
    }
    if (isBound) return;
    volumeLoop.add(name);
    if (claim) claimLoop.add(keyOf(claim));
    else if (!claimRef && volume.status?.phase === 'Available') wakeWaiting(storageClassOf(volume) ?? '');
  }

  function classChanged(storageClass: StorageClass): void {
    wakeWaiting(storageClass.metadata.name);
    if (isDefaultClass(storageClass)) wakeWaiting('');
  }

  /** A volume's node affinity matches node labels, which may be set after the node is created. */
  function nodeChanged(node: Node): void {
    for (const claim of claims.byIndex(WAITING_BY_NODE, node.metadata.name)) claimLoop.add(keyOf(claim));
  }

  function wakeClaimsNaming(volumeName: string): void {
    for (const claim of claims.byIndex(BY_VOLUME, volumeName)) claimLoop.add(keyOf(claim));
  }

  function wakeWaiting(className: string): void {
    for (const claim of claims.byIndex(WAITING_BY_CLASS, className)) claimLoop.add(keyOf(claim));
  }

  claims.subscribe({
    added: claimChanged,
    updated: (before, after) => {
      if (!saysTheSame(before, after)) claimChanged(after);
    },
    deleted: (claim) => {
      for (const volume of pool.naming(keyOf(claim))) volumeLoop.add(volume.metadata.name);
    },
  });
  volumes.subscribe({
    added: volumeChanged,
    updated: (before, after) => {
      if (!isTheSame(before, after)) volumeChanged(after);
    },
    deleted: (volume) => wakeClaimsNaming(volume.metadata.name),
  });
  nodeCache.subscribe({
    added: nodeChanged,
    updated: (before, after) => {
      if (!sameJson(before.metadata.labels, after.metadata.labels)) nodeChanged(after);
    },
  });
  classes.subscribe({ added: classChanged, updated: (_before, after) => classChanged(after) });

  return {
    name: 'persistentvolume-binder-controller',
    async run(signal) {
      if (!(await cachesSynced([claims, volumes, classes, nodeCache, podCache], signal))) return;
      await Promise.all([claimLoop.run(signal), volumeLoop.run(signal)]);
    },
  };
}

/** Ignores fields that other controllers own, and the annotations by which the binder itself asks for provisioning. */
export function saysTheSame(before: PersistentVolumeClaim, after: PersistentVolumeClaim): boolean {
  const isKept = (annotation: string): boolean => {
    const value = before.metadata.annotations?.[annotation];
    return value === undefined || value === after.metadata.annotations?.[annotation];
  };
  return (
    isKept(ANN_STORAGE_PROVISIONER) &&
    isKept(ANN_STORAGE_PROVISIONER_BETA) &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    isBindCompleted(before) === isBindCompleted(after) &&
    selectedNodeOf(before) === selectedNodeOf(after) &&
    storageClassOf(before) === storageClassOf(after) &&
    sameJson(before.spec, after.spec) &&
    sameJson(before.status, after.status)
  );
}

/** Ignores finalizers. */
export function isTheSame(before: PersistentVolume, after: PersistentVolume): boolean {
  return (
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    sameJson(before.metadata.labels, after.metadata.labels) &&
    sameJson(before.metadata.annotations, after.metadata.annotations) &&
    sameJson(before.spec, after.spec) &&
    sameJson(before.status, after.status)
  );
}

// The binder: claims to volumes and back. Watches claims, volumes, classes, nodes and pods; writes the binding halves,
// phases and the storage-provisioner annotations; never makes or deletes storage. Two loops, one a kind, each key
// decided afresh from the caches with the binder's own writes on top. Every write carries the version it was decided
// from, so that a decision from an old state fails with a conflict and is made again.

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
import { claimNameOf, isTerminated, selectedNodeOf, storageClassOf } from '../../api/volumes.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_STORAGE_PROVISIONER,
  ANN_STORAGE_PROVISIONER_BETA,
} from '../../api/well-known.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { isNotFound } from '../../runtime/kube-error.ts';
import { done, type Outcome } from '../../runtime/loop.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { matchVolume } from '../matching/match-volume.ts';
import { claimBoundTo, claimStatusBoundTo, volumeBoundTo, volumeUnbound } from './binding.ts';
import { type ClaimStep, decideClaim, isDelayed } from './decide-claim.ts';
import { decideVolume, type VolumeStep } from './decide-volume.ts';

/** Enough to keep a local API server busy; each does little but wait for it. */
const WORKERS = 32;
/** Conflicts are the usual failure and are over as soon as the cache has caught up. */
const BACKOFF = { startMs: 50, maxMs: 60_000 };

const BY_CLAIM = 'binder/claim';
const FREE_BY_CLASS = 'binder/free-by-class';
const BY_VOLUME = 'binder/volume';
const WAITING_BY_CLASS = 'binder/waiting-by-class';
const PODS_BY_CLAIM = 'binder/pods-by-claim';

export function createBinder(ports: ControllerPorts): Controller {
  const { kube, informers, recorder, clock, random, metrics } = ports;
  const log = ports.log.with({ controller: 'persistentvolume-binder' });
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const nodesInformer = informers.of(nodes);
  const podsInformer = informers.of(pods);
  const latestClaims = new ReadYourWrites(claims);
  const latestVolumes = new ReadYourWrites(volumes);

  volumes.addIndex(BY_CLAIM, ({ spec: { claimRef } }) =>
    claimRef ? [`${claimRef.namespace}/${claimRef.name}`] : [],
  );
  volumes.addIndex(FREE_BY_CLASS, (volume) => (volume.spec.claimRef ? [] : [storageClassOf(volume) ?? '']));
  claims.addIndex(BY_VOLUME, (claim) => (claim.spec.volumeName ? [claim.spec.volumeName] : []));
  claims.addIndex(WAITING_BY_CLASS, (claim) => (isWaiting(claim) ? [storageClassOf(claim) ?? ''] : []));
  podsInformer.addIndex(PODS_BY_CLAIM, (pod) =>
    (pod.spec.volumes ?? []).flatMap((volume) => {
      const name = claimNameOf(pod, volume);
      return name === undefined ? [] : [`${pod.metadata.namespace}/${name}`];
    }),
  );

  const common = { workers: WORKERS, clock, random, log, backoff: BACKOFF, ...(metrics && { metrics }) };
  const claimLoop = createLoop({ ...common, name: 'claims', reconcile: reconcileClaim });
  const volumeLoop = createLoop({ ...common, name: 'volumes', reconcile: reconcileVolume });
  subscribe();

  async function reconcileClaim(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const claim = latestClaims.get(key);
    // A claim that is being deleted gets nothing new; what it has stays until its volume is released.
    if (!claim || (claim.metadata.deletionTimestamp && isWaiting(claim))) return done;
    const { volumeName } = claim.spec;
    const className = storageClassOf(claim);
    const storageClass = className ? classes.get(className) : undefined;
    const steps = decideClaim({
      claim,
      named: volumeName ? latestVolumes.get(volumeName) : undefined,
      match: isWaiting(claim) ? findVolume(claim, storageClass) : undefined,
      storageClass,
      waitingPod: waitingPodOf(key),
    });
    for (const step of steps) await performClaimStep(key, step, signal);
    return done;
  }

  async function performClaimStep(key: string, step: ClaimStep, signal: AbortSignal): Promise<void> {
    const claim = latestClaims.get(key);
    if (!claim) return;
    switch (step.do) {
      case 'bind':
        await bind(claim, step.volume, signal);
        return;
      case 'ask-provisioner': {
        const annotations = {
          ...claim.metadata.annotations,
          [ANN_STORAGE_PROVISIONER]: step.provisioner,
          [ANN_STORAGE_PROVISIONER_BETA]: step.provisioner,
        };
        await writeClaim({ ...claim, metadata: { ...claim.metadata, annotations } }, signal);
        return;
      }
      case 'set-phase':
        if (claim.status?.phase === step.phase) return;
        await writeClaimStatus({ ...claim, status: { ...claim.status, phase: step.phase } }, signal);
        return;
      case 'event':
        recorder.event(claim, step.type, step.reason, step.message);
        return;
      default:
        step satisfies never;
    }
  }

  /** The four writes of a binding, each left out where it stands already. A crash between any two is completed later. */
  async function bind(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<void> {
    const reserved = volumeBoundTo(volume, claim);
    const bound = reserved ? await writeVolume(reserved, signal) : volume;
    await setVolumePhase(bound, { phase: 'Bound' }, signal);
    const named = claimBoundTo(claim, bound);
    const current = named ? await writeClaim(named, signal) : claim;
    const status = claimStatusBoundTo(current, bound);
    if (status) await writeClaimStatus(status, signal);
  }

  async function reconcileVolume(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const volume = latestVolumes.get(key);
    if (!volume) return done;
    const claim = await claimOf(volume, signal);
    for (const step of decideVolume({ volume, claim })) await performVolumeStep(volume, step, signal);
    return done;
  }

  /** A claim counts as gone only by the server's word: the cache may not have seen it yet, or not its successor. */
  async function claimOf(
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim | 'gone'> {
    const { claimRef } = volume.spec;
    if (!claimRef?.uid || !claimRef.name || !claimRef.namespace) return 'gone';
    const cached = latestClaims.get(`${claimRef.namespace}/${claimRef.name}`);
    if (cached?.metadata.uid === claimRef.uid) return cached;
    try {
      const name = { name: claimRef.name, namespace: claimRef.namespace };
      const live = await kube.get(persistentVolumeClaims, name, { signal });
      return live.metadata.uid === claimRef.uid ? live : 'gone';
    } catch (error) {
      if (isNotFound(error)) return 'gone';
      throw error;
    }
  }

  async function performVolumeStep(
    volume: PersistentVolume,
    step: VolumeStep,
    signal: AbortSignal,
  ): Promise<void> {
    const { claimRef } = volume.spec;
    switch (step.do) {
      case 'set-phase':
        await setVolumePhase(volume, step, signal);
        return;
      case 'look-at-claim':
        claimLoop.add(`${claimRef?.namespace}/${claimRef?.name}`);
        return;
      case 'unbind':
        await writeVolume(volumeUnbound(volume), signal);
        return;
      case 'event':
        recorder.event(volume, step.type, step.reason, step.message);
        return;
      default:
        step satisfies never;
    }
  }

  function findVolume(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass | undefined,
  ): PersistentVolume | undefined {
    const reserved = volumes.byIndex(BY_CLAIM, keyOf(claim));
    const selected = selectedNodeOf(claim);
    const node: Node | undefined = selected === undefined ? undefined : nodesInformer.get(selected);
    // With delayed binding the pod's node decides: until it is known, only a reservation counts.
    const waitsForNode = isDelayed(storageClass) && node === undefined;
    const free = waitsForNode ? [] : volumes.byIndex(FREE_BY_CLASS, storageClassOf(claim) ?? '');
    const current = [...reserved, ...free].flatMap((volume) => latestVolumes.get(volume.metadata.name) ?? []);
    return matchVolume(claim, current, node);
  }

  function waitingPodOf(claimKey: string): string | undefined {
    return podsInformer
      .byIndex(PODS_BY_CLAIM, claimKey)
      .find((pod) => !pod.spec.nodeName && !isTerminated(pod) && !pod.metadata.deletionTimestamp)?.metadata
      .name;
  }

  async function setVolumePhase(
    volume: PersistentVolume,
    { phase, message }: { phase: string; message?: string },
    signal: AbortSignal,
  ): Promise<void> {
    if (volume.status?.phase === phase) return;
    const status = { ...volume.status, phase, ...(message !== undefined && { message }) };
    latestVolumes.wrote(
      await kube.update(persistentVolumes, { ...volume, status }, { subresource: 'status', signal }),
    );
  }

  const writeVolume = async (volume: PersistentVolume, signal: AbortSignal) =>
    latestVolumes.wrote(await kube.update(persistentVolumes, volume, { signal }));
  const writeClaim = async (claim: PersistentVolumeClaim, signal: AbortSignal) =>
    latestClaims.wrote(await kube.update(persistentVolumeClaims, claim, { signal }));
  const writeClaimStatus = async (claim: PersistentVolumeClaim, signal: AbortSignal) =>
    latestClaims.wrote(await kube.update(persistentVolumeClaims, claim, { subresource: 'status', signal }));

  function subscribe(): void {
    claims.subscribe({
      added: lookAtClaim,
      updated: (_before, after) => lookAtClaim(after),
      deleted: (claim) => {
        for (const volume of volumes.byIndex(BY_CLAIM, keyOf(claim))) volumeLoop.add(volume.metadata.name);
      },
    });
    volumes.subscribe({
      added: lookAtVolume,
      updated: (_before, after) => lookAtVolume(after),
      deleted: (volume) => wakeClaimsNaming(volume.metadata.name),
    });
    classes.subscribe({
      added: (storageClass) => wakeWaiting(storageClass.metadata.name),
      updated: (_before, storageClass) => wakeWaiting(storageClass.metadata.name),
    });
  }

  function lookAtClaim(claim: PersistentVolumeClaim): void {
    claimLoop.add(keyOf(claim));
    if (claim.spec.volumeName) volumeLoop.add(claim.spec.volumeName);
    // A volume that was reserved for it, or made for it, may wait for this claim to say something.
    for (const volume of volumes.byIndex(BY_CLAIM, keyOf(claim))) volumeLoop.add(volume.metadata.name);
  }

  function lookAtVolume(volume: PersistentVolume): void {
    volumeLoop.add(volume.metadata.name);
    wakeClaimsNaming(volume.metadata.name);
    const { claimRef } = volume.spec;
    if (claimRef) claimLoop.add(`${claimRef.namespace}/${claimRef.name}`);
    else if (volume.status?.phase === 'Available') wakeWaiting(storageClassOf(volume) ?? '');
  }

  function wakeClaimsNaming(volumeName: string): void {
    for (const claim of claims.byIndex(BY_VOLUME, volumeName)) claimLoop.add(keyOf(claim));
  }

  function wakeWaiting(className: string): void {
    for (const claim of claims.byIndex(WAITING_BY_CLASS, className)) claimLoop.add(keyOf(claim));
  }

  return {
    name: 'persistentvolume-binder',
    async run(signal) {
      await informers.synced(signal);
      await Promise.all([claimLoop.run(signal), volumeLoop.run(signal)]);
    },
  };
}

/** Neither bound nor tied to a volume by name: it takes any that fits. */
function isWaiting(claim: PersistentVolumeClaim): boolean {
  return !claim.spec.volumeName && claim.metadata.annotations?.[ANN_BIND_COMPLETED] === undefined;
}

// Reconciles one claim: reads what it refers to, calls decideClaim and performs the steps. Writes claims, and the volumes
// that it binds.

import { defaultClassOf } from '../../api/default-class.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../api/kinds.ts';
import { isTerminated, selectedNodeOf, storageClassOf } from '../../api/volumes.ts';
import { ANN_STORAGE_PROVISIONER, ANN_STORAGE_PROVISIONER_BETA } from '../../api/well-known.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';
import type { BinderObjects } from './binder-objects.ts';
import { claimBoundTo, claimStatusBoundTo, volumeBoundTo } from './binding.ts';
import { type ClaimStep, decideClaim, isBindCompleted, isDelayed, isWaiting } from './decide-claim.ts';
import type { VolumePool } from './volume-pool.ts';

export interface ClaimReconcilerPorts {
  objects: BinderObjects;
  pool: VolumePool;
  classes: Informer<StorageClass>;
  nodes: Informer<Node>;
  podsOf(claimKey: string): readonly Pod[];
  /** Reconciles another claim soon. */
  lookAtClaim(claimKey: string): void;
  recorder: EventRecorder;
}

export function createClaimReconciler(ports: ClaimReconcilerPorts): Reconcile {
  const { objects, pool, classes, nodes, podsOf, lookAtClaim, recorder } = ports;

  function findVolume(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass | undefined,
  ): PersistentVolume | undefined {
    const selected = selectedNodeOf(claim);
    const node = selected === undefined ? undefined : nodes.get(selected);
    return pool.match(claim, { node, delayed: isDelayed(storageClass) });
  }

  async function perform(key: string, step: ClaimStep, signal: AbortSignal): Promise<void> {
    const claim = objects.claims.get(key);
    if (!claim) return;
    switch (step.do) {
      case 'bind':
        await bind(claim, step.volume, signal);
        return;
      case 'assign-class':
        await objects.writeClaim(
          { ...claim, spec: { ...claim.spec, storageClassName: step.className } },
          signal,
        );
        return;
      case 'ask-provisioner': {
        const annotations = {
          ...claim.metadata.annotations,
          [ANN_STORAGE_PROVISIONER]: step.provisioner,
          [ANN_STORAGE_PROVISIONER_BETA]: step.provisioner,
        };
        await objects.writeClaim({ ...claim, metadata: { ...claim.metadata, annotations } }, signal);
        return;
      }
      case 'set-phase': {
        if (claim.status?.phase === step.phase) return;
        // The claim no longer has what its volume gave it.
        const { accessModes: _modes, capacity: _capacity, ...rest } = claim.status ?? {};
        await objects.writeClaimStatus({ ...claim, status: { ...rest, phase: step.phase } }, signal);
        return;
      }
      case 'event':
        recorder.event(claim, step.type, step.reason, step.message);
        return;
      default:
        step satisfies never;
    }
  }

  /**
   * The four writes of a binding; each is skipped where it is done already. A crash between any two is completed later.
   */
  async function bind(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<void> {
    const release = pool.hold(volume);
    let isReserved = false;
    try {
      const reserved = volumeBoundTo(volume, claim);
      const bound = reserved ? await objects.writeVolume(reserved, signal) : volume;
      isReserved = true;
      await objects.setVolumePhase(bound, { phase: 'Bound' }, signal);
      const named = claimBoundTo(claim, bound);
      const current = named ? await objects.writeClaim(named, signal) : claim;
      const status = claimStatusBoundTo(current, bound);
      if (status) await objects.writeClaimStatus(status, signal);
    } finally {
      const passedOver = release();
      // Only those that came meanwhile, never this claim: two that cannot write must not wake each other for ever.
      if (!isReserved) for (const key of passedOver) lookAtClaim(key);
    }
  }

  return async (key, { signal }) => {
    const claim = objects.claims.get(key);
    // A claim that is being deleted is not bound again; its existing binding stays until the volume is released.
    if (!claim || (claim.metadata.deletionTimestamp && !isBindCompleted(claim))) return done;
    const { volumeName } = claim.spec;
    const className = storageClassOf(claim);
    const storageClass = className ? classes.get(className) : undefined;
    const steps = decideClaim({
      claim,
      named: volumeName ? objects.volumes.get(volumeName) : undefined,
      match: isWaiting(claim) ? findVolume(claim, storageClass) : undefined,
      storageClass,
      defaultClass: className === undefined ? defaultClassOf(classes.list()) : undefined,
      waitingPods: podsOf(key)
        .filter(isUnscheduled)
        .map(({ metadata }) => metadata.name),
    });
    for (const step of steps) await perform(key, step, signal);
    return done;
  };
}

function isUnscheduled(pod: Pod): boolean {
  return !pod.spec.nodeName && !isTerminated(pod) && !pod.metadata.deletionTimestamp;
}

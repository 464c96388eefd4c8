// Reconciles one volume: reads the claim it names, calls decideVolume and performs the steps. Writes volumes only.

import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { done, type Reconcile } from '../../runtime/queue/loop.ts';
import type { BinderObjects } from './binder-objects.ts';
import { volumeUnbound } from './binding.ts';
import { decideVolume, type VolumeAndClaim, type VolumeStep } from './decide-volume.ts';

export interface VolumeReconcilerPorts {
  objects: BinderObjects;
  recorder: EventRecorder;
  lookAtClaim(claimKey: string): void;
}

export function createVolumeReconciler({ objects, recorder, lookAtClaim }: VolumeReconcilerPorts): Reconcile {
  async function perform(
    { volume, claim }: VolumeAndClaim,
    step: VolumeStep,
    signal: AbortSignal,
  ): Promise<void> {
    const { claimRef } = volume.spec;
    switch (step.do) {
      case 'set-phase':
        await objects.setVolumePhase(volume, step, signal);
        return;
      case 'look-at-claim':
        lookAtClaim(`${claimRef?.namespace}/${claimRef?.name}`);
        return;
      case 'unbind':
        await objects.writeVolume(volumeUnbound(volume), signal);
        return;
      case 'event':
        recorder.event(volume, step.type, step.reason, step.message);
        return;
      case 'claim-event':
        if (claim !== 'gone') recorder.event(claim, step.type, step.reason, step.message);
        return;
      default:
        step satisfies never;
    }
  }

  return async (key, { signal }) => {
    const volume = objects.volumes.get(key);
    if (!volume) return done;
    // Final: a UID is never reused. Saves a request to the server at each later change.
    if (volume.status?.phase === 'Released' && !objects.mayHaveClaim(volume)) return done;
    const claim = await objects.claimOf(volume, signal);
    const snapshot = { volume, claim };
    for (const step of decideVolume(snapshot)) await perform(snapshot, step, signal);
    return done;
  };
}

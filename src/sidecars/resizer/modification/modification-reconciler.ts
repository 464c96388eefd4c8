// Applies the parameters of a claim's VolumeAttributesClass to its volume. Writes the claim's status
// (modifyVolumeStatus, currentVolumeAttributesClassName, conditions), the volume's class, and Events on the claim.

import { retryOf } from '../../../api/asks-for-retry.ts';
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttributesClass } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { CsiError } from '../../../csi/csi-error.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { isFinal, outcomeOf } from '../../../csi/outcome.ts';
import { eventTime } from '../../../runtime/events/event-record.ts';
import type { Informer } from '../../../runtime/informer/informer.ts';
import {
  done,
  type Outcome,
  type Reconcile,
  type Run,
  failed as retryLater,
} from '../../../runtime/queue/loop.ts';
import { SecretError } from '../../common/read-secret.ts';
import type { SidecarPorts } from '../../common/sidecar.ts';
import type { VolumeTurns } from '../../common/volume-turns.ts';
import { type ClaimWriter, tooSoon } from '../claim-writer.ts';
import type { VolumeWriter } from '../volume-writer.ts';
import { decideModification } from './decide-modification.ts';
import {
  beginPatch,
  calledAt,
  cancelPatch,
  failurePatch,
  finishPatch,
  modifiedVolumePatch,
  pendingPatch,
} from './modification-patches.ts';
import type { ModifyCalls } from './modify-calls.ts';

interface Modification {
  volume: PersistentVolume;
  target: string;
  isContinued: boolean;
}

export interface ModificationReconcilerOptions
  extends Pick<SidecarPorts, 'driver' | 'clock' | 'log' | 'recorder'> {
  claims: ClaimWriter;
  volumes: VolumeWriter;
  classes: Informer<VolumeAttributesClass>;
  calls: ModifyCalls;
  turns: VolumeTurns;
}

export interface ModificationReconciler {
  reconcile: Reconcile;
  forget(claim: PersistentVolumeClaim): void;
}

export function modificationReconciler(options: ModificationReconcilerOptions): ModificationReconciler {
  const { driver, clock, log, recorder, claims, volumes, classes, calls, turns } = options;
  /**
   * By the claim's UID: the last call is known to have failed. After a restart this is unknown, and assumed not to be
   * so.
   */
  const failedForSure = new Set<string>();
  const now = (): string => eventTime(clock.now());

  const reconcile: Reconcile = async (key, run) => {
    const { signal } = run;
    const claim = claims.get(key);
    if (claim === undefined) return done;
    const decision = decideModification({
      claim,
      volume: volumes.get(claim.spec.volumeName),
      driver: driver.name,
      failedForSure: failedForSure.has(claim.metadata.uid),
    });
    switch (decision.do) {
      case 'nothing':
        log.v(5).info('Nothing to do for a claim', { claim: key, why: decision.why });
        return done;
      case 'cancel':
        await claims.write(claim, cancelPatch(claim), signal);
        recorder.event(
          claim,
          'Normal',
          'VolumeModifyCanceled',
          'The request for other attributes was withdrawn',
        );
        return done;
      case 'modify':
        return inTurn(key, claim, decision, run);
      default:
        return decision satisfies never;
    }
  };

  async function inTurn(
    key: string,
    claim: PersistentVolumeClaim,
    modification: Modification,
    { signal, retries }: Run,
  ): Promise<Outcome> {
    const attributes = classes.get(modification.target);
    if (attributes?.driverName !== driver.name) return refuse(claim, modification, attributes, signal);
    const held = retries.held(inputsOf(claim, attributes));
    if (held) return held;
    const handle = (modification.volume.spec.csi?.volumeHandle ?? '') as VolumeHandle;
    if (!turns.tryEnter(handle, key)) return done;
    try {
      return await modify(claim, modification, attributes, signal);
    } finally {
      turns.leave(handle);
    }
  }

  /** The creation of the class enqueues the claim again. */
  async function refuse(
    claim: PersistentVolumeClaim,
    { target, isContinued }: Modification,
    attributes: VolumeAttributesClass | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const problem =
      attributes === undefined
        ? `VolumeAttributesClass ${target} does not exist`
        : `VolumeAttributesClass ${target} is for driver ${attributes.driverName}, the volume has driver ${driver.name}`;
    recorder.event(claim, 'Warning', 'VolumeModifyFailed', problem);
    // A modification that may be in flight stays visible in the status.
    const patch = isContinued ? undefined : pendingPatch(claim, target);
    if (patch !== undefined) await claims.write(claim, patch, signal);
    return done;
  }

  async function modify(
    claim: PersistentVolumeClaim,
    { volume, target, isContinued }: Modification,
    attributes: VolumeAttributesClass,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { uid } = claim.metadata;
    let current = claim;
    try {
      const call = await calls.prepare({ claim, volume, attributes }, signal);
      const begun = await claims.begin(claim, beginPatch(claim, target, now()), signal);
      if (begun === undefined) return tooSoon;
      current = begun;
      if (!isContinued)
        recorder.event(claim, 'Normal', 'VolumeModify', `Applying the attributes of ${target} to the volume`);
      // Until the response arrives, the outcome is unknown.
      failedForSure.delete(uid);
      await call();
    } catch (error) {
      return failed(current, target, attributes, error, signal);
    }
    signal.throwIfAborted();
    // The volume before the claim: a claim that shows the new class is not reconciled again.
    await volumes.write(volume, modifiedVolumePatch(volume, target), signal);
    await claims.report(
      current,
      (latest) => (isUnderWay(current, latest, target) ? finishPatch(latest, target) : undefined),
      signal,
    );
    recorder.event(claim, 'Normal', 'VolumeModifySuccessful', `The volume has the attributes of ${target}`);
    log.v(2).info('Modified', { claim: keyOf(claim), volume: volume.metadata.name, class: target });
    return done;
  }

  async function failed(
    claim: PersistentVolumeClaim,
    target: string,
    attributes: VolumeAttributesClass,
    error: unknown,
    signal: AbortSignal,
  ): Promise<Outcome> {
    signal.throwIfAborted();
    if (!(error instanceof CsiError || error instanceof SecretError)) throw error;
    const { uid } = claim.metadata;
    const verdict = outcomeOf('ControllerModifyVolume', error);
    const infeasible = verdict.outcome === 'infeasible';
    const isOver = error instanceof CsiError && isFinal(verdict);
    if (isOver) failedForSure.add(uid);
    recorder.event(claim, 'Warning', 'VolumeModifyFailed', error.message);
    if (error instanceof CsiError) {
      const failure = { error, infeasible, isFinal: isOver, now: now() };
      const patchFor = (latest: PersistentVolumeClaim) =>
        isUnderWay(claim, latest, target) ? failurePatch(latest, target, failure) : undefined;
      await claims.report(claim, patchFor, signal);
    }
    const why = `could not apply the attributes of ${target} to the volume: ${error.message}`;
    return retryLater({ why, slow: infeasible, inputs: inputsOf(claim, attributes) });
  }

  return {
    reconcile,
    forget({ metadata: { uid } }) {
      failedForSure.delete(uid);
    },
  };
}

/** Identifies an attempt: a new class of the same name has other parameters. */
function inputsOf(claim: PersistentVolumeClaim, attributes: VolumeAttributesClass): string {
  return `${claim.metadata.uid} ${attributes.metadata.uid} ${retryOf(claim)}`;
}

/** Another resizer may have taken over from one that was delayed and called the driver, or finished since. */
function isUnderWay(begun: PersistentVolumeClaim, now: PersistentVolumeClaim, target: string): boolean {
  const { status: state, targetVolumeAttributesClassName } = now.status?.modifyVolumeStatus ?? {};
  const isSame = state === 'InProgress' && targetVolumeAttributesClassName === target;
  return isSame && calledAt(now) === calledAt(begun);
}

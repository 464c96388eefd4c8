// Expands the volume of one claim: reads claim and volume, calls decideExpansion and performs the decision. Writes the
// claim's status (conditions, allocatedResources, capacity), the volume's capacity, two annotations, and Events on the
// claim. The size is recorded on the claim before the driver is called, so that a retry after a crash asks for the same
// size.

import { retryOf } from '../../../api/asks-for-retry.ts';
import { allocatedSize, currentSize, expansionState, wantsExpansion } from '../../../api/claim-expansion.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { CsiError } from '../../../csi/csi-error.ts';
import { AccessModeError } from '../../../csi/messages/volume-capability.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { isFinal, outcomeOf } from '../../../csi/outcome.ts';
import { eventTime } from '../../../runtime/events/event-record.ts';
import {
  done,
  type Outcome,
  type Reconcile,
  requeueAfter,
  failed as retryLater,
} from '../../../runtime/queue/loop.ts';
import { SecretError } from '../../common/read-secret.ts';
import type { SidecarPorts } from '../../common/sidecar.ts';
import type { VolumeTurns } from '../../common/volume-turns.ts';
import { type ClaimWriter, tooSoon } from '../claim-writer.ts';
import type { VolumeWriter } from '../volume-writer.ts';
import { podThatUses } from './claim-user.ts';
import { decideExpansion } from './decide-expansion.ts';
import { type ExpandCalls, ExpansionProblem, type GrownVolume } from './expand-calls.ts';
import {
  awaitNodePatch,
  beginPatch,
  calledAt,
  failurePatch,
  finishPatch,
  forgetOldCapacityPatch,
  grownVolumePatch,
  type PatchContext,
} from './expansion-patches.ts';

/** Key of the backoff before a node that failed is asked to try again. */
const SEND_BACK = 'send-back-to-node';

/** The driver was not called: the volume is in use. */
class InUse extends Error {
  override readonly name = 'InUse';
}

export interface ExpansionReconcilerOptions
  extends Pick<SidecarPorts, 'kube' | 'driver' | 'clock' | 'log' | 'recorder'> {
  claims: ClaimWriter;
  volumes: VolumeWriter;
  calls: ExpandCalls;
  place: 'controller' | 'node';
  turns: VolumeTurns;
  recovers: boolean;
  /** Record the claim's previous capacity on the volume until its filesystem is expanded. */
  annotates: boolean;
  /** Look for pods before calling again a driver that only expands unused volumes. */
  minds: boolean;
}

export interface ExpansionReconciler {
  reconcile: Reconcile;
  forget(claim: PersistentVolumeClaim): void;
}

export function expansionReconciler(options: ExpansionReconcilerOptions): ExpansionReconciler {
  const { kube, driver, clock, log, recorder, claims, volumes, calls, turns, recovers } = options;
  const { volumeExpansion } = driver.plugin;
  // From a driver that expands online, FAILED_PRECONDITION does not mean that the volume is in use.
  const minds = options.minds && !volumeExpansion.has('ONLINE');
  const isOfflineOnly = volumeExpansion.has('OFFLINE');
  /**
   * By the claim's UID: the last call is known to have failed. After a restart this is unknown, and assumed not to be
   * so.
   */
  const failedForSure = new Set<string>();
  /** By the claim's UID: the driver reported that the volume is in use. */
  const foundInUse = new Set<string>();
  const context = (): PatchContext => ({ now: eventTime(clock.now()), recovers });

  const reconcile: Reconcile = async (key, run) => {
    const { signal, retries } = run;
    const claim = claims.get(key);
    if (claim === undefined) return done;
    let volume = volumes.get(claim.spec.volumeName);
    if (volume?.spec.csi?.driver === driver.name && options.annotates) {
      // Its new size is written over this version.
      volume = await volumes.write(volume, forgetOldCapacityPatch(claim, volume), signal);
    }
    const { uid } = claim.metadata;
    const decision = decideExpansion({
      claim,
      volume,
      driver: driver.name,
      place: options.place,
      failedForSure: failedForSure.has(uid),
      recovers,
    });
    if (decision.do === 'nothing') {
      log.v(5).info('Nothing to do for a claim', { claim: key, why: decision.why });
      return done;
    }
    const inputs = `${uid} ${decision.size} ${retryOf(claim)}`;
    const held = retries.held(inputs);
    if (held) return held;
    const isSentBack = expansionState(claim) === 'NodeResizeInfeasible';
    const sendBack = { operation: SEND_BACK, inputs };
    const waitMs = isSentBack ? retries.waitMs(sendBack) : 0;
    if (waitMs > 0) return requeueAfter(waitMs, 'backoff of the node expansion');
    const handle = (decision.volume.spec.csi?.volumeHandle ?? '') as VolumeHandle;
    if (!turns.tryEnter(handle, key)) return done;
    try {
      if (isSentBack) retries.failed(sendBack);
      return await expand(claim, { ...decision, inputs }, signal);
    } finally {
      turns.leave(handle);
    }
  };

  async function expand(
    claim: PersistentVolumeClaim,
    { volume, size, inputs }: { volume: PersistentVolume; size: string; inputs: string },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { uid } = claim.metadata;
    let current = claim;
    let grown: GrownVolume;
    try {
      const call = await calls.prepare(volume, signal);
      await checkUse(claim, signal);
      const begun = await claims.begin(claim, beginPatch(claim, size, context()), signal);
      if (begun === undefined) return tooSoon;
      current = begun;
      recorder.event(current, 'Normal', 'Resizing', `Expanding volume ${volume.metadata.name} to ${size}`);
      foundInUse.delete(uid);
      // Until the response arrives, the outcome is unknown.
      failedForSure.delete(uid);
      grown = await call(size);
    } catch (error) {
      return failed(current, { size, inputs }, error, signal);
    }
    signal.throwIfAborted();
    await finish(current, volume, grown, signal);
    log.v(2).info('Expanded', { claim: keyOf(claim), volume: volume.metadata.name, ...grown });
    return done;
  }

  async function checkUse(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    if (!minds || !(isOfflineOnly || foundInUse.has(claim.metadata.uid))) return;
    const pod = await podThatUses(kube, claim, signal);
    if (pod === undefined) return;
    throw new InUse(
      `driver ${driver.name} expands a volume only while no pod uses it, and pod ${pod} does; ` +
        'it is expanded once the pod is gone',
    );
  }

  /**
   * Another resizer may have taken over from one that was delayed and called the driver, and a node may have finished
   * since. `begun` is the claim as it was when the driver was called: an API server before 1.28 does not keep the states.
   */
  function isUnderWay(begun: PersistentVolumeClaim, now: PersistentVolumeClaim): boolean {
    if (expansionState(begun) === undefined) return wantsExpansion(now);
    return (
      calledAt(now) === calledAt(begun) &&
      expansionState(now) === expansionState(begun) &&
      compareQuantities(allocatedSize(now) ?? '0', allocatedSize(begun) ?? '0') === 0
    );
  }

  /** The volume before the claim: a claim that shows the new size is not reconciled again. */
  async function finish(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    { capacity, nodeExpansionRequired }: GrownVolume,
    signal: AbortSignal,
  ): Promise<void> {
    const before = nodeExpansionRequired && options.annotates ? currentSize(claim) : undefined;
    await volumes.write(volume, grownVolumePatch(volume, { capacity, before }), signal);
    const written = await claims.report(
      claim,
      (now) => {
        if (!isUnderWay(claim, now)) return undefined;
        return nodeExpansionRequired ? awaitNodePatch(now, context()) : finishPatch(now, capacity, context());
      },
      signal,
    );
    if (written === undefined) return;
    if (nodeExpansionRequired) {
      const text = `The volume has ${capacity}; the node expands its filesystem`;
      recorder.event(claim, 'Normal', 'FileSystemResizeRequired', text);
    } else recorder.event(claim, 'Normal', 'VolumeResizeSuccessful', `The volume has ${capacity}`);
  }

  async function failed(
    claim: PersistentVolumeClaim,
    { size, inputs }: { size: string; inputs: string },
    error: unknown,
    signal: AbortSignal,
  ): Promise<Outcome> {
    signal.throwIfAborted();
    if (!concernsUser(error)) throw error;
    const { uid } = claim.metadata;
    const verdict = outcomeOf('ControllerExpandVolume', error);
    const infeasible = verdict.outcome === 'infeasible';
    if (error instanceof CsiError && isFinal(verdict)) {
      failedForSure.add(uid);
      if (error.code === 'FAILED_PRECONDITION') foundInUse.add(uid);
    }
    recorder.event(claim, 'Warning', 'VolumeResizeFailed', error.message);
    if (isFinal(verdict) || error instanceof InUse) {
      const state = infeasible && recovers;
      const patchFor = (now: PersistentVolumeClaim) =>
        isUnderWay(claim, now) ? failurePatch(now, error, { ...context(), infeasible: state }) : undefined;
      await claims.report(claim, patchFor, signal);
    }
    return retryLater({ why: `could not expand to ${size}: ${error.message}`, slow: infeasible, inputs });
  }

  return {
    reconcile,
    forget({ metadata: { uid } }) {
      failedForSure.delete(uid);
      foundInUse.delete(uid);
    },
  };
}

function concernsUser(error: unknown): error is Error {
  return (
    error instanceof CsiError ||
    error instanceof SecretError ||
    error instanceof AccessModeError ||
    error instanceof ExpansionProblem ||
    error instanceof InUse
  );
}

// Makes the volume of one claim. In order: plan; write the intent; ask the driver; create the PersistentVolume. A crash
// or an error after any of these leaves a state from which the next run goes on, with one volume at the end. The intent of
// a first call is in the ledger; after a call whose end is not known it is on the claim.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  type StorageClass,
} from '../../../api/kinds.ts';
import { type Draft, keyOf } from '../../../api/object.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import type { Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { type EarlierCalls, outcomeOf, provesNothingMade } from '../../../csi/outcome.ts';
import { type CsiSecrets, SecretError } from '../../../csi/secrets/credentials.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import { isAlreadyExists, isUnacceptable } from '../../../runtime/kube/kube-error.ts';
import { done, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { intentFor } from '../intents/intent.ts';
import { checkVolume } from '../planning/check-volume.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { createVolumeRequest } from '../planning/create-volume-request.ts';
import { persistentVolume } from '../planning/persistent-volume.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';
import { CHANGED_MS, intendedDigest, recordIntent, renewIntent } from './claim-intent.ts';
import {
  type ClaimWork,
  inputsOf,
  labelsOf,
  messageOf,
  moveIntentToClaim,
  provisionerSecrets,
  settle,
} from './claim-work.ts';
import { isRecorded } from './follow-claim.ts';
import type { PlannedVolume } from './volume-planner.ts';

/** The watch is rarely later than this. */
const CATCH_UP_MS = 50;

interface Attempt {
  work: ClaimWork;
  claim: PersistentVolumeClaim;
  storageClass: StorageClass;
  plan: VolumePlan;
  secrets: CsiSecrets | undefined;
  earlier: EarlierCalls;
  signal: AbortSignal;
}

export async function provisionClaim(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  signal: AbortSignal,
): Promise<Outcome> {
  const waitMs = work.gate.waitMs(claim.metadata.uid, inputsOf(claim, storageClass));
  if (waitMs > 0) return requeueAfter(waitMs, 'it failed before');
  const startMs = work.clock.monotonicMs();
  let planned: PlannedVolume;
  let secrets: CsiSecrets | undefined;
  try {
    const plan = await planFor(work, claim, storageClass, signal);
    if ('populator' in plan) {
      work.recorder.event(
        claim,
        'Normal',
        'Provisioning',
        `Assuming an external populator will provision the volume from ${plan.populator}`,
      );
      return done;
    }
    planned = plan;
    secrets = await provisionerSecrets(work, planned.plan, signal);
    await planned.source?.protect(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClaimProblem || error instanceof SecretError)) throw error;
    return cannotPlan(work, claim, storageClass, error, signal);
  }
  const { plan } = planned;
  const intended = await withIntent(work, claim, { storageClass, plan, signal });
  if (!intended) return requeueAfter(CHANGED_MS, 'the claim changed, and the cache does not show it yet');
  // An earlier attempt may have ended between the driver's answer and ours to it: asking again could only do harm.
  if (intended.earlier !== 'none' && (await isRecorded(work, plan.volumeName, claim.metadata.uid, signal))) {
    return requeueAfter(CATCH_UP_MS, 'its volume is recorded, and the cache does not show it yet');
  }
  const attempt = { work, storageClass, plan, secrets, signal, ...intended };
  return askDriver(attempt, startMs);
}

async function planFor(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  signal: AbortSignal,
) {
  const before = work.unrecorded.of(keyOf(claim), claim.metadata.uid)?.plan;
  const planned = await work.planner.plan(claim, storageClass, {
    signal,
    // While a call may be going on, the cluster's changes must not make the next one another request.
    pinned: before?.topology,
  });
  if ('populator' in planned || !before?.topology || before.selectedNode === planned.plan.selectedNode) {
    return planned;
  }
  return work.planner.plan(claim, storageClass, { signal });
}

/** The claim once its intent stands, and what is known of calls before this one; undefined when it must be re-read. */
async function withIntent(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  { storageClass, plan, signal }: Pick<Attempt, 'storageClass' | 'plan' | 'signal'>,
): Promise<Pick<Attempt, 'claim' | 'earlier'> | undefined> {
  if (hasFinalizer(claim, FINALIZER_PROVISIONING)) {
    const earlier = intendedDigest(claim) === plan.digest ? 'the same' : 'something else';
    const renewed = await renewIntent(work.kube, claim, signal);
    return renewed && { claim: work.claims.wrote(renewed), earlier };
  }
  const intent = intentFor(claim, { storageClass, digest: plan.digest, nowMs: work.clock.now() });
  if (await work.ledger.begin(intent, signal)) return { claim, earlier: 'none' };
  const intended = await recordIntent(work.kube, claim, { digest: plan.digest, spec: claim.spec }, signal);
  return intended && { claim: work.claims.wrote(intended), earlier: 'none' };
}

async function askDriver(attempt: Attempt, startMs: number): Promise<Outcome> {
  const { work, claim, plan, secrets, signal } = attempt;
  const { recorder, unrecorded } = work;
  const request = createVolumeRequest(plan);
  recorder.event(
    claim,
    'Normal',
    'Provisioning',
    `External provisioner is provisioning volume for claim "${keyOf(claim)}"`,
  );
  // The request that the intent stands for is the one to repeat: a later, different one must not take its place.
  if (attempt.earlier !== 'something else') {
    unrecorded.set(keyOf(claim), { claimUid: claim.metadata.uid, plan, request, secrets });
  }
  let volume: Volume | undefined;
  work.answered.delete(claim.metadata.uid);
  try {
    volume = await work.calls.create(request, secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return refusedByDriver(attempt, error);
  }
  work.answered.add(claim.metadata.uid);
  const check = checkVolume(volume, plan, (handle) => work.made.ownerOf(handle, plan.volumeName));
  switch (check.kind) {
    case 'nameless':
      return uncertain(attempt, `${check.why}; asking again`);
    case 'not-ours':
      await settle(work, claim, { signal });
      return failed(attempt, check.why, { slow: true });
    case 'useless':
      return deleteUseless(attempt, check.handle, check.why);
    case 'accepted': {
      if (!isWanted(attempt)) {
        // Shorter than making a PersistentVolume only to see it released.
        return deleteUseless(attempt, check.handle, 'the claim went away while its volume was made');
      }
      const { driver, withTopology } = work;
      const { handle, capacityBytes } = check;
      // Accepted only when there is a volume.
      const facts = { driver, claim, plan, volume: volume as Volume, handle, capacityBytes, withTopology };
      return record(attempt, persistentVolume(facts), handle, startMs);
    }
    default:
      return check satisfies never;
  }
}

/** The claim is still there and waits for this volume. */
function isWanted({ work, claim, plan }: Attempt): boolean {
  const now = work.claims.get(keyOf(claim));
  if (now?.metadata.uid !== claim.metadata.uid || now.metadata.deletionTimestamp !== undefined) return false;
  return !now.spec.volumeName || now.spec.volumeName === plan.volumeName;
}

async function record(
  attempt: Attempt,
  draft: Draft<PersistentVolume>,
  handle: VolumeHandle,
  startMs: number,
): Promise<Outcome> {
  const { work, claim, plan, signal } = attempt;
  const { uid } = claim.metadata;
  work.made.add(plan.volumeName, { handle, claimUid: uid });
  try {
    await work.kube.create(persistentVolumes, draft, { brief: true, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (isAlreadyExists(error)) {
      const existing = await work.kube.get(persistentVolumes, { name: plan.volumeName }, { signal });
      if (existing.spec.claimRef?.uid !== uid) {
        work.made.remove(plan.volumeName);
        await settle(work, claim, { signal });
        return failed(attempt, `PersistentVolume ${plan.volumeName} exists and is for another claim`, {
          slow: true,
        });
      }
    } else {
      work.made.remove(plan.volumeName);
      if (!isUnacceptable(error)) throw error;
      return deleteUseless(attempt, handle, `the volume cannot be recorded: ${messageOf(error)}`);
    }
  }
  work.unrecorded.delete(keyOf(claim), uid);
  work.ledger.end(uid);
  work.gate.forget(uid);
  work.metrics.provisioned(labelsOf(claim), (work.clock.monotonicMs() - startMs) / 1000);
  work.capacityChanged(labelsOf(claim).class);
  work.recorder.event(
    claim,
    'Normal',
    'ProvisioningSucceeded',
    `Successfully provisioned volume ${plan.volumeName}`,
  );
  work.log.v(2).info('Provisioned a volume', { claim: keyOf(claim), volume: plan.volumeName, handle });
  return done;
}

async function deleteUseless(attempt: Attempt, handle: VolumeHandle, why: string): Promise<Outcome> {
  const { work, claim, plan, secrets, signal } = attempt;
  // By the server's word: the cache may be so far behind that the volume was recorded long ago, and is in use.
  if (await isRecorded(work, plan.volumeName, claim.metadata.uid, signal)) {
    await settle(work, claim, { signal });
    return requeueAfter(CATCH_UP_MS, 'its volume is recorded, and the cache does not show it yet');
  }
  try {
    await work.calls.delete(handle, secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return uncertain(attempt, `${why}; deleting volume ${handle} failed, trying again: ${messageOf(error)}`);
  }
  await settle(work, claim, { signal });
  return failed(attempt, `${why}; volume ${handle} was deleted again`, { slow: true });
}

async function refusedByDriver(attempt: Attempt, error: unknown): Promise<Outcome> {
  const { work, claim, plan, earlier, signal } = attempt;
  const nodeSelected = plan.selectedNode !== undefined && work.withTopology;
  const verdict = outcomeOf('CreateVolume', error, { nodeSelected });
  const noVolume = provesNothingMade(verdict, earlier);
  const reschedule = verdict.outcome === 'reschedule' && noVolume;
  if (noVolume) await settle(work, claim, { reschedule, signal });
  if (verdict.outcome === 'reschedule') work.capacityChanged(labelsOf(claim).class);
  const infeasible = verdict.outcome === 'infeasible';
  const message = infeasible
    ? `Volume provisioning failed with infeasible error. Retries will be delayed. ${messageOf(error)}`
    : `failed to provision volume with StorageClass "${labelsOf(claim).class}": ${messageOf(error)}`;
  if (!noVolume) {
    return uncertain(attempt, `${message}; a volume may exist, asking again until that is certain`);
  }
  const outcome = failed(attempt, message, { slow: infeasible });
  if (!reschedule) return outcome;
  work.gate.forget(claim.metadata.uid);
  return done;
}

/** A volume may exist: from now on the claim says so itself, and is kept until that is certain. */
async function uncertain(attempt: Attempt, message: string): Promise<Outcome> {
  const { work, claim, plan, signal } = attempt;
  const outcome = failed(attempt, message, { slow: false });
  const now = work.claims.get(keyOf(claim));
  // What cannot be moved stays in the ledger, and the next run takes it up from there.
  if (now?.metadata.uid === claim.metadata.uid)
    await moveIntentToClaim(work, now, { digest: plan.digest, spec: claim.spec }, signal);
  return outcome;
}

function failed(
  { work, claim, storageClass }: Pick<Attempt, 'work' | 'claim' | 'storageClass'>,
  message: string,
  { slow }: { slow: boolean },
): Outcome {
  work.metrics.provisionFailed(labelsOf(claim));
  work.recorder.event(claim, 'Warning', 'ProvisioningFailed', message);
  const delayMs = work.gate.failed(claim.metadata.uid, inputsOf(claim, storageClass), slow);
  work.log.warn('Could not provision a volume, will try again', {
    claim: keyOf(claim),
    why: message,
    retryInMs: Math.round(delayMs),
  });
  return requeueAfter(delayMs, 'provisioning failed');
}

/** Nothing was asked of the driver in this run, so an intent that stands stays as it is. */
async function cannotPlan(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  problem: ClaimProblem | SecretError,
  signal: AbortSignal,
): Promise<Outcome> {
  const slow = problem instanceof ClaimProblem && problem.slow;
  const outcome = failed({ work, claim, storageClass }, problem.message, { slow });
  const intent = hasFinalizer(claim, FINALIZER_PROVISIONING);
  if (!(problem instanceof ClaimProblem && problem.reschedule) || intent) return outcome;
  await settle(work, claim, { reschedule: true, signal });
  work.gate.forget(claim.metadata.uid);
  return done;
}

// Creates the volume of one claim. In order: plan; write the intent; call the driver; create the PersistentVolume.
// After a crash or an error at any point the next run continues, with one volume at the end.

import { type PersistentVolumeClaim, persistentVolumes, type StorageClass } from '../../../api/kinds.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import type { Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { type EarlierCalls, outcomeOf, provesNothingMade } from '../../../csi/outcome.ts';
import type { SecretError } from '../../../csi/secrets/credentials.ts';
import { errorMessage } from '../../../runtime/error-message.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import { isAlreadyExists, isUnacceptable } from '../../../runtime/kube/kube-error.ts';
import { done, failed, type Outcome } from '../../../runtime/queue/loop.ts';
import { earlierOf, intentFor, intentWith, isSameRequest } from '../intents/intent.ts';
import { type CheckedVolume, checkVolume } from '../planning/check-volume.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { createVolumeRequest } from '../planning/create-volume-request.ts';
import { persistentVolume } from '../planning/persistent-volume.ts';
import type { Asked, AskedRequest } from './attempts.ts';
import {
  type ClaimRun,
  claimChanged,
  dropIntent,
  hasRecord,
  isUsersProblem,
  labelsOf,
  moveToClaim,
  ownRecordOf,
  provisionerSecrets,
} from './claim-work.ts';
import { cleanUpClaim } from './clean-up-claim.ts';

/** A watch is rarely later than the first pause, but may be silent for a minute. */
const catchUp = failed({
  why: 'its volume is recorded, and the cache does not show it yet',
  quiet: true,
  backoff: { startMs: 50, maxMs: 1_000 },
});

/** A run over a claim that needs a volume. */
export interface ProvisionRun extends ClaimRun {
  claim: PersistentVolumeClaim;
  storageClass: StorageClass;
}

/** A run whose intent is durable. */
interface BegunRun extends ProvisionRun {
  asked: Asked;
  earlier: EarlierCalls;
  startMs: number;
}

export async function provisionClaim(run: ProvisionRun): Promise<Outcome> {
  try {
    return await provision(run);
  } finally {
    // The claim may have been deleted before its source was protected: then its last event came too early to undo that.
    run.work.releaseSource(run.claim);
  }
}

async function provision(run: ProvisionRun): Promise<Outcome> {
  const { work, claim, signal } = run;
  const startMs = work.clock.monotonicMs();
  let prepared: AskedRequest;
  try {
    const planned = await planFor(run);
    if ('populator' in planned) {
      const text = `Assuming an external populator will provision the volume from ${planned.populator}`;
      work.recorder.event(claim, 'Normal', 'Provisioning', text);
      return done;
    }
    const { plan, source } = planned;
    prepared = { plan, request: createVolumeRequest(plan), secrets: await provisionerSecrets(run, plan) };
    await source?.protect();
  } catch (error) {
    signal.throwIfAborted();
    if (!isUsersProblem(error)) throw error;
    return cannotPlan(run, error);
  }
  const begun = await begin(run, prepared, startMs);
  return 'kind' in begun ? begun : askDriver(begun);
}

async function planFor({ work, claim, storageClass, attempt: { known }, signal }: ProvisionRun) {
  const before = known?.is === 'asking' ? known.asked?.plan : undefined;
  // While a call may be in flight, changes in the cluster must not turn the next one into another request.
  const planned = await work.planner.plan(claim, storageClass, { signal, pinned: before?.topology });
  if ('populator' in planned || !before?.topology || before.selectedNode === planned.plan.selectedNode) {
    return planned;
  }
  return work.planner.plan(claim, storageClass, { signal });
}

/** Writes the intent: to the ledger for a first call, on the claim for any other or without a ledger. */
async function begin(
  run: ProvisionRun,
  prepared: AskedRequest,
  startMs: number,
): Promise<Outcome | BegunRun> {
  const { work, claim, storageClass, signal } = run;
  const { inLedger, onClaim, known } = run.attempt;
  const before = onClaim ?? inLedger;
  const open = before ?? (known?.is === 'asking' ? known.asked?.intent : undefined);
  const earlier: EarlierCalls = open === undefined ? 'none' : earlierOf(open, prepared.plan);
  // A previous process may have recorded the volume of an earlier call: another call could only do harm.
  if (before && (await ownRecordOf(run))) return catchUp;
  const count = before ? before.asked + 1 : 1;
  const intent = open
    ? { ...intentWith(open, prepared.plan), asked: count }
    : intentFor(claim, { storageClass, ...prepared.plan, nowMs: work.clock.now() });
  const begun = {
    ...run,
    asked: { ...prepared, intent, others: othersThan(prepared.plan, run) },
    earlier,
    startMs,
  };
  if (!before && (await work.ledger.begin(intent, signal))) return begun;
  const kept = await moveToClaim(run, claim, intent);
  return kept ? { ...begun, claim: kept } : claimChanged;
}

/** Any of them may have made a volume. */
function othersThan(plan: Asked['plan'], { attempt: { known } }: ProvisionRun): AskedRequest[] {
  const last = known?.is === 'asking' ? known.asked : undefined;
  if (!last) return [];
  const { others = [], intent: _ours, ...alone } = last;
  return [...others, alone].filter((each) => !isSameRequest(each.plan, plan));
}

async function askDriver(run: BegunRun): Promise<Outcome> {
  const { work, uid, key, claim, asked, volume, signal } = run;
  const text = `External provisioner is provisioning volume for claim "${key}"`;
  work.recorder.event(claim, 'Normal', 'Provisioning', text);
  work.attempts.set(uid, { is: 'asking', asked });
  let made: Volume | undefined;
  try {
    made = await work.calls.create(asked.request, asked.secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return callFailed(run, error);
  }
  const check = checkVolume(made, asked.plan, (handle) => work.attempts.ownerOf(handle, volume.name));
  switch (check.kind) {
    case 'nameless':
      return uncertain(run, `${check.why}; asking again`);
    case 'not-ours':
      return nothingLeft(run, check.why, { slow: true });
    case 'useless':
      return deleteUseless(run, check.handle, check.why);
    case 'accepted':
      if (isWanted(run)) return record(run, check);
      // Saves creating a PersistentVolume that would be released at once.
      return deleteUseless(run, check.handle, 'the claim went away while its volume was made');
    default:
      return check satisfies never;
  }
}

/** The claim still exists and waits for this volume. */
function isWanted({ work, key, uid, volume }: BegunRun): boolean {
  const now = work.claims.get(key);
  if (now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined) return false;
  return !now.spec.volumeName || now.spec.volumeName === volume.name;
}

async function record(run: BegunRun, made: CheckedVolume): Promise<Outcome> {
  const { work, uid, key, claim, driver, asked, volume, signal, startMs } = run;
  const { attempts } = work;
  const { handle, warning } = made;
  if (warning)
    work.log.warn('Recording a volume although its source looks different', { claim: key, why: warning });
  const before = attempts.of(uid) ?? { is: 'asking', asked };
  const onClaim = hasFinalizer(claim, FINALIZER_PROVISIONING);
  const recorded = { is: 'recorded', volumeName: volume.name, handle, onClaim } as const;
  attempts.set(uid, recorded);
  const facts = { driver: work.driver.name, withTopology: work.topology !== undefined };
  const draft = persistentVolume({ ...facts, claim, plan: asked.plan, ...made });
  try {
    await work.kube.create(persistentVolumes, draft, { brief: true, signal });
  } catch (error) {
    attempts.set(uid, before);
    signal.throwIfAborted();
    if (isUnacceptable(error)) {
      return deleteUseless(run, handle, `the volume cannot be recorded: ${errorMessage(error)}`);
    }
    if (!isAlreadyExists(error)) {
      // Not thrown: an intent on the claim is written at each try, and wakes the key before its backoff is over.
      return failure(run, `volume ${handle} cannot be recorded, trying again: ${errorMessage(error)}`, false);
    }
    const existing = await work.kube.get(persistentVolumes, { name: volume.name }, { signal });
    if (existing.spec.claimRef?.uid !== uid) {
      const taken = `PersistentVolume ${volume.name} exists and is for another claim`;
      return nothingLeft(run, taken, { slow: true });
    }
    const { csi } = existing.spec;
    if (csi?.driver !== driver || csi.volumeHandle !== handle) {
      // A late write of an earlier process, for example, about a volume that is deleted. It cannot be changed, and the binder
      // may have bound it: nothing would ever record ours.
      const other = csi ? `volume ${csi.volumeHandle} of driver ${csi.driver}` : 'a volume of another type';
      const why = `PersistentVolume ${volume.name} exists for this claim with ${other}, not with volume ${handle}`;
      return deleteUseless(run, handle, why);
    }
    attempts.set(uid, recorded);
  }
  work.ledger.end(uid);
  const labels = labelsOf(claim);
  work.results.provision.succeeded(labels, (work.clock.monotonicMs() - startMs) / 1000);
  work.capacityChanged(labels.class);
  const text = `Successfully provisioned volume ${volume.name}`;
  work.recorder.event(claim, 'Normal', 'ProvisioningSucceeded', text);
  work.log.v(2).info('Provisioned a volume', { claim: key, volume: volume.name, handle });
  return done;
}

async function deleteUseless(run: BegunRun, handle: VolumeHandle, why: string): Promise<Outcome> {
  const { work, uid, asked, volume, signal } = run;
  // Read from the server: with a stale cache the volume may have been recorded long ago, and be in use.
  if (await hasRecord(run, handle)) {
    await dropIntent(run);
    // Or the next run would ask the driver again, for as long as the cache is stale.
    work.attempts.set(uid, { is: 'recorded', volumeName: volume.name, handle, onClaim: false });
    return done;
  }
  try {
    await work.calls.delete(handle, asked.secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return uncertain(run, `${why}; deleting volume ${handle} failed, trying again: ${errorMessage(error)}`);
  }
  return nothingLeft(run, `${why}; volume ${handle} was deleted again`, { slow: true });
}

async function callFailed(run: BegunRun, error: unknown): Promise<Outcome> {
  const { work, claim, asked, earlier } = run;
  const nodeSelected = asked.plan.selectedNode !== undefined && work.topology !== undefined;
  const verdict = outcomeOf('CreateVolume', error, { nodeSelected });
  const slow = verdict.outcome === 'infeasible';
  const reschedule = verdict.outcome === 'reschedule';
  if (reschedule) work.capacityChanged(labelsOf(claim).class);
  const message = slow
    ? `Volume provisioning failed with infeasible error. Retries will be delayed. ${errorMessage(error)}`
    : `failed to provision volume with StorageClass "${labelsOf(claim).class}": ${errorMessage(error)}`;
  return provesNothingMade(verdict, earlier)
    ? nothingLeft(run, message, { slow, reschedule })
    : uncertain(run, `${message}; a volume may exist, asking again until that is certain`);
}

/** The driver has nothing for the claim: the intent is dropped. `reschedule`: the scheduler chooses another node. */
async function nothingLeft(
  run: ProvisionRun,
  message: string,
  {
    slow,
    reschedule = false,
    hadIntent = true,
  }: { slow: boolean; reschedule?: boolean; hadIntent?: boolean },
): Promise<Outcome> {
  run.work.attempts.set(run.uid, { is: 'nothing-left', reschedule, hadIntent });
  const outcome = failure(run, message, slow);
  await dropIntent(run);
  return reschedule ? done : outcome;
}

/** A volume may exist: from now on the intent is on the claim, which is kept until the outcome is known. */
async function uncertain(run: BegunRun, message: string): Promise<Outcome> {
  const { work, uid, key, claim, asked } = run;
  const outcome = failure(run, message, false);
  const now = work.claims.get(key);
  // An intent that cannot be moved stays in the ledger, and the next run continues from there.
  const isThere = now?.metadata.uid === uid && !hasFinalizer(claim, FINALIZER_PROVISIONING);
  if (isThere) await moveToClaim(run, now, asked.intent);
  return outcome;
}

function failure({ work, claim, inputs }: ProvisionRun, why: string, slow: boolean): Outcome {
  work.results.provision.failed(labelsOf(claim));
  work.recorder.event(claim, 'Warning', 'ProvisioningFailed', why);
  return failed({ why, slow, inputs });
}

/** The driver was not called in this run, so an existing intent stays as it is, unless no later run could call it either. */
async function cannotPlan(run: ProvisionRun, problem: ClaimProblem | SecretError): Promise<Outcome> {
  const { slow, reschedule } = problem instanceof ClaimProblem ? problem : { slow: false, reschedule: false };
  const { inLedger, onClaim, known } = run.attempt;
  const isOpen = inLedger !== undefined || onClaim !== undefined || known !== undefined;
  if (reschedule && !isOpen) return nothingLeft(run, problem.message, { slow, reschedule, hadIntent: false });
  const outcome = failure(run, problem.message, slow);
  if (!reschedule) return outcome;
  return (await ownRecordOf(run)) ? catchUp : cleanUpClaim(run, { isRecorded: false, reschedule });
}

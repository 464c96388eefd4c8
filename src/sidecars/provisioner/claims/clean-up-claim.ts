// Finds out what the driver has created for a claim whose last call had an uncertain outcome, and deletes it unless a
// PersistentVolume records it. CSI looks up a volume by name only by repeating CreateVolume. That is repeated until the
// outcome is known; only then is the intent dropped.

import type { PersistentVolumeClaim } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import type { Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { type EarlierCalls, outcomeOf, provesNothingMade } from '../../../csi/outcome.ts';
import { SecretError } from '../../../csi/secrets/credentials.ts';
import { errorMessage } from '../../../runtime/error-message.ts';
import { failed, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { claimOf, earlierOf, type Intent, intentWith, isSameRequest } from '../intents/intent.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { createVolumeRequest } from '../planning/create-volume-request.ts';
import type { Asked, AskedRequest, Attempt } from './attempts.ts';
import {
  type ClaimRun,
  claimChanged,
  hasRecord,
  isUsersProblem,
  isWanted,
  moveToClaim,
  provisionerSecrets,
  recordOf,
} from './claim-work.ts';

type Repeat = AskedRequest & { earlier: EarlierCalls };

/**
 * `isRecorded`: the claim has its volume, and only a further call is uncertain. `reschedule`: the claim still waits for a
 * volume, but for one elsewhere. Ends with an attempt that can be dropped.
 */
export async function cleanUpClaim(
  run: ClaimRun,
  { isRecorded, reschedule = false }: { isRecorded: boolean; reschedule?: boolean },
): Promise<Outcome> {
  const { work, claim, attempt, inputs, volume } = run;
  const { onClaim, inLedger, known } = attempt;
  const asked = known?.is === 'asking' ? known.asked : undefined;
  const intent = onClaim ?? inLedger ?? asked?.intent;
  if (!intent) return over(run, 'nothing was asked', isRecorded);
  const again = (why: string): Outcome => {
    work.recorder.event(claim ?? claimOf(intent), 'Warning', 'ProvisioningCleanupFailed', why);
    return failed({ why, inputs });
  };
  if (!isRecorded) {
    if (await recordOf(run)) return over(run, 'it is recorded', false);
    if (!reschedule && (await isWanted(run))) return claimChanged;
  }
  let repeats: readonly Repeat[];
  try {
    repeats = await repeatsOf(run, intent, asked);
  } catch (error) {
    run.signal.throwIfAborted();
    if (!isUsersProblem(error)) throw error;
    const toForget = onClaim
      ? `remove the finalizer ${FINALIZER_PROVISIONING}`
      : `remove the claim's entry from Lease ${keyOf({ metadata: work.ledger.name })}`;
    return again(
      `cannot find out whether a volume ${volume.name} exists that must be deleted: ${error.message}. ` +
        `If you know that there is none, ${toForget}`,
    );
  }
  const written = repeats.reduce((with_, { plan }) => intentWith(with_, plan), onClaim ?? intent);
  if (claim && (onClaim || reschedule)) {
    const kept = await moveToClaim(run, claim, { ...written, asked: written.asked + 1 });
    if (!kept) return claimChanged;
  }
  const [last, ...others] = repeats;
  // Each may make a volume from now on. An intent in the ledger cannot say so: it is not written again.
  if (last && earlierOf(written, last.plan) === 'something else') {
    work.attempts.set(run.uid, { is: 'asking', asked: { ...last, intent: written, others } });
  }
  let uncertain = '';
  for (const repeat of repeats) {
    const ending = await findAndDelete(run, repeat);
    if ('how' in ending) return over(run, ending.how, isRecorded, reschedule && !ending.isRecorded);
    uncertain = ending.uncertain;
  }
  return again(uncertain);
}

/**
 * The requests one of which may have made the volume. Of different ones each is tried, until one is answered with a volume:
 * what the class asks for now is often what was asked for at first, before a restart.
 */
async function repeatsOf(
  run: ClaimRun,
  intent: Intent,
  asked: Asked | undefined,
): Promise<readonly Repeat[]> {
  if (!asked) return [await planAgain(run, intent)];
  if (earlierOf(asked.intent, asked.plan) === 'the same') return [{ ...asked, earlier: 'the same' }];
  const known = [asked, ...(asked.others ?? [])];
  const repeats = known.map((each): Repeat => ({ ...each, earlier: 'something else' }));
  try {
    const planned = await planAgain(run, asked.intent);
    // Secrets may be gone by now, or have been missing then.
    const isCovered = ({ plan, secrets }: Repeat) =>
      isSameRequest(plan, planned.plan) && (planned.secrets !== undefined || secrets === undefined);
    return [planned, ...repeats.filter((each) => !isCovered(each))];
  } catch (error) {
    if (!isUsersProblem(error)) throw error;
    return repeats;
  }
}

function over(
  { work, uid, key, volume }: ClaimRun,
  how: string,
  isRecorded: boolean,
  reschedule = false,
): Outcome {
  const attempt: Attempt = isRecorded
    ? { is: 'recorded', volumeName: volume.name, handle: undefined, onClaim: true }
    : { is: 'nothing-left', reschedule, hadIntent: true };
  work.attempts.set(uid, attempt);
  work.log.info('What the driver has for a claim is certain again', { claim: key, uid, how });
  return requeueAfter(0, 'its intent can be dropped');
}

async function findAndDelete(
  run: ClaimRun,
  { request, secrets, earlier }: Repeat,
): Promise<{ how: string; isRecorded?: boolean } | { uncertain: string }> {
  const { work, volume, signal } = run;
  let made: Volume | undefined;
  try {
    made = await work.calls.create(request, secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (provesNothingMade(outcomeOf('CreateVolume', error), earlier)) return { how: 'the driver made none' };
    return { uncertain: `a volume may be left, asking again: ${errorMessage(error)}` };
  }
  const id = made?.volumeId as VolumeHandle | undefined;
  if (!id) return { uncertain: 'the driver answered without a volume ID, asking again' };
  const owner = work.attempts.ownerOf(id, volume.name);
  if (owner !== undefined) return { how: `the driver answered with the volume of ${owner}` };
  // A PersistentVolume written by a previous process may have appeared during the call.
  if (await hasRecord(run, id)) return { how: 'it is recorded', isRecorded: true };
  try {
    await work.calls.delete(id, secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { uncertain: `volume ${id} could not be deleted, trying again: ${errorMessage(error)}` };
  }
  return { how: `volume ${id} was deleted` };
}

/** The request as far as it can be rebuilt, and whether it is the intent's request. */
async function planAgain(run: ClaimRun, intent: Intent): Promise<Repeat> {
  const { work, claim, storageClass, signal } = run;
  if (!storageClass) throw new ClaimProblem('its storage class does not exist any more; create it again');
  const first: PersistentVolumeClaim = claim ? { ...claim, spec: intent.spec } : claimOf(intent);
  const planned = await work.planner.plan(first, storageClass, {
    signal,
    madeFrom: intent.source,
    orAnywhere: true,
  });
  if ('populator' in planned) throw new ClaimProblem(`its source is ${planned.populator}`);
  const { plan } = planned;
  const request = createVolumeRequest(plan);
  try {
    return { plan, request, secrets: await provisionerSecrets(run, plan), earlier: earlierOf(intent, plan) };
  } catch (error) {
    if (!(error instanceof SecretError && error.missing)) throw error;
    // Secrets are often deleted with their namespace. Some drivers do not need them; a rejection proves nothing then.
    return { plan, request, secrets: undefined, earlier: 'something else' };
  }
}

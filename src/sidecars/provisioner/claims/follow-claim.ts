// Finds out whether a volume exists for a claim that does not want it any more (deleted, or bound to another volume),
// and deletes it. There is one way to learn of a volume by name: ask for it again. That is repeated until the answer is
// certain; only then is the claim let go.

import { type PersistentVolumeClaim, persistentVolumes, type StorageClass } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import type { Volume } from '../../../csi/generated/csi/v1/csi_pb.ts';
import { outcomeOf, provesNothingMade } from '../../../csi/outcome.ts';
import { type CsiSecrets, SecretError } from '../../../csi/secrets/credentials.ts';
import { isNotFound } from '../../../runtime/kube/kube-error.ts';
import { done, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { claimOf, type Intent } from '../intents/intent.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import { createVolumeRequest, type SecretlessRequest } from '../planning/create-volume-request.ts';
import { asFirstAsked, CHANGED_MS, intendedDigest, renewIntent } from './claim-intent.ts';
import { type ClaimWork, inputsOf, messageOf, provisionerSecrets, settle } from './claim-work.ts';
import type { UnrecordedVolume } from './unrecorded-volumes.ts';

interface Repeat {
  claimUid: string;
  volumeName: string;
  request: SecretlessRequest;
  secrets: CsiSecrets | undefined;
  /** The driver is asked for what it was asked for before, so that its refusal is an answer. */
  same: boolean;
}

export interface FollowContext {
  storageClass: StorageClass | undefined;
  volumeName: string;
  signal: AbortSignal;
}

/** The intent is on the claim. */
export async function followClaim(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  context: FollowContext,
): Promise<Outcome> {
  const { signal } = context;
  let current = claim;
  return follow(work, claim, {
    ...context,
    digest: intendedDigest(claim),
    toForget: `remove the finalizer ${FINALIZER_PROVISIONING}`,
    async renew() {
      const renewed = await renewIntent(work.kube, claim, signal);
      if (renewed) current = work.claims.wrote(renewed);
      return renewed !== undefined;
    },
    over: () => settle(work, current, { signal }),
  });
}

/** The intent is in the ledger alone: its claim is gone, or on its way out. */
export async function followIntent(
  work: ClaimWork,
  intent: Intent,
  context: FollowContext,
): Promise<Outcome> {
  const claim = claimOf(intent);
  return follow(work, claim, {
    ...context,
    digest: intent.digest,
    toForget: `remove the claim's entry from Lease ${keyOf({ metadata: work.ledger.name })}`,
    renew: async () => true,
    async over() {
      work.unrecorded.delete(keyOf(claim), intent.uid);
      work.ledger.end(intent.uid);
    },
  });
}

interface FollowOptions extends FollowContext {
  /** Of the request that the intent was written for. */
  digest: string | undefined;
  /** How a person ends it. */
  toForget: string;
  /** False when the intent may not stand any more. */
  renew(): Promise<boolean>;
  over(): Promise<void>;
}

async function follow(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  options: FollowOptions,
): Promise<Outcome> {
  const { storageClass, volumeName, digest, signal } = options;
  const { uid } = claim.metadata;
  const inputs = inputsOf(claim, storageClass);
  const waitMs = work.gate.waitMs(uid, inputs);
  if (waitMs > 0) return requeueAfter(waitMs, 'it failed before');
  const again = (why: string, slow = false): Outcome => {
    work.recorder.event(claim, 'Warning', 'ProvisioningCleanupFailed', why);
    return requeueAfter(work.gate.failed(uid, inputs, slow), why);
  };
  // By the server's word: if it exists, its volume is in use or on its own way out.
  if (await isRecorded(work, volumeName, uid, signal)) {
    await options.over();
    return done;
  }
  let repeat: Repeat;
  try {
    repeat = await repeatOf(work, claim, { storageClass, digest, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClaimProblem || error instanceof SecretError)) throw error;
    return again(
      `cannot find out whether a volume ${volumeName} exists that must be deleted: ${error.message}. ` +
        `If you know that there is none, ${options.toForget}`,
    );
  }
  if (!(await options.renew())) {
    return requeueAfter(CHANGED_MS, 'the claim changed, and the cache does not show it yet');
  }
  const ending = await findAndDelete(work, repeat, signal);
  if (ending.kind === 'uncertain') return again(ending.why);
  await options.over();
  work.gate.forget(uid);
  work.log.info('No volume is left of a claim that is gone', { claim: keyOf(claim), how: ending.how });
  return done;
}

/** The claim itself is gone: its intent was taken away by force. What this process remembers is all there is. */
export async function followOrphan(
  work: ClaimWork,
  key: string,
  orphan: UnrecordedVolume,
  signal: AbortSignal,
): Promise<Outcome> {
  const { plan, request, secrets, claimUid } = orphan;
  const waitMs = work.gate.waitMs(claimUid, 'orphan');
  if (waitMs > 0) return requeueAfter(waitMs, 'it failed before');
  if (!(await isRecorded(work, plan.volumeName, claimUid, signal))) {
    const repeat = { claimUid, volumeName: plan.volumeName, request, secrets, same: true };
    const ending = await findAndDelete(work, repeat, signal);
    if (ending.kind === 'uncertain') {
      work.log.warn('A volume may be left of a claim that is gone, will try again', {
        claim: key,
        why: ending.why,
      });
      return requeueAfter(work.gate.failed(claimUid, 'orphan', false), ending.why);
    }
  }
  work.unrecorded.delete(key, claimUid);
  work.gate.forget(claimUid);
  return done;
}

/**
 * The PersistentVolume exists, and yet a call for the same volume, of this process or of the one before it, got no
 * certain answer: it was repeated because nobody could know that the first had been recorded. Until it is certain, it may
 * make another volume as soon as this one is deleted. Undefined once it is.
 */
export async function followRecorded(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { uid } = claim.metadata;
  const waitMs = work.gate.waitMs(uid, 'recorded');
  if (waitMs > 0) return requeueAfter(waitMs, 'it failed before');
  const again = (why: string): Outcome => requeueAfter(work.gate.failed(uid, 'recorded', false), why);
  let repeated: Repeat;
  try {
    repeated = await repeatOf(work, claim, { storageClass, digest: intendedDigest(claim), signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClaimProblem || error instanceof SecretError)) throw error;
    const why = `cannot find out whether a second volume is being made for it: ${error.message}`;
    work.recorder.event(claim, 'Warning', 'ProvisioningCleanupFailed', why);
    return again(why);
  }
  const renewed = await renewIntent(work.kube, claim, signal);
  if (!renewed) return requeueAfter(CHANGED_MS, 'the claim changed, and the cache does not show it yet');
  work.claims.wrote(renewed);
  try {
    const made = await work.calls.create(repeated.request, repeated.secrets, signal);
    const { volumeName } = repeated;
    const recorded = await work.kube.get(persistentVolumes, { name: volumeName }, { signal });
    if (made && made.volumeId !== recorded.spec.csi?.volumeHandle) {
      await work.calls.delete(made.volumeId, repeated.secrets, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    const noVolume = provesNothingMade(outcomeOf('CreateVolume', error), 'the same');
    if (!noVolume) return again(`a call for its volume may be going on: ${messageOf(error)}`);
  }
  work.unrecorded.delete(keyOf(claim), uid);
  work.answered.add(uid);
  work.gate.forget(uid);
  return undefined;
}

type Ending = { kind: 'certain'; how: string } | { kind: 'uncertain'; why: string };

async function findAndDelete(work: ClaimWork, repeat: Repeat, signal: AbortSignal): Promise<Ending> {
  let volume: Volume | undefined;
  try {
    volume = await work.calls.create(repeat.request, repeat.secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    const earlier = repeat.same ? 'the same' : 'something else';
    const noVolume = provesNothingMade(outcomeOf('CreateVolume', error), earlier);
    if (noVolume) return { kind: 'certain', how: 'the driver made none' };
    return { kind: 'uncertain', why: `a volume may be left, asking again: ${messageOf(error)}` };
  }
  if (!volume?.volumeId)
    return { kind: 'uncertain', why: 'the driver answered without a volume ID, asking again' };
  const owner = work.made.ownerOf(volume.volumeId, repeat.volumeName);
  if (owner !== undefined) return { kind: 'certain', how: `the driver answered with the volume of ${owner}` };
  // Once more: a record that a process before this one sent may have arrived during the call.
  if (await isRecorded(work, repeat.volumeName, repeat.claimUid, signal)) {
    return { kind: 'certain', how: 'it is recorded after all' };
  }
  try {
    await work.calls.delete(volume.volumeId, repeat.secrets, signal);
  } catch (error) {
    signal.throwIfAborted();
    return {
      kind: 'uncertain',
      why: `volume ${volume.volumeId} could not be deleted, trying again: ${messageOf(error)}`,
    };
  }
  return { kind: 'certain', how: `volume ${volume.volumeId} was deleted` };
}

async function repeatOf(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  { storageClass, digest, signal }: Pick<FollowOptions, 'storageClass' | 'digest' | 'signal'>,
): Promise<Repeat> {
  const claimUid = claim.metadata.uid;
  const remembered = work.unrecorded.of(keyOf(claim), claimUid);
  if (remembered) {
    const { plan, request, secrets } = remembered;
    return { claimUid, volumeName: plan.volumeName, request, secrets, same: true };
  }
  if (!storageClass) throw new ClaimProblem('its storage class does not exist any more; create it again');
  const planned = await work.planner.plan(asFirstAsked(claim), storageClass, { signal });
  if ('populator' in planned) throw new ClaimProblem(`its source is ${planned.populator}`);
  const { plan } = planned;
  const common = { claimUid, volumeName: plan.volumeName, request: createVolumeRequest(plan) };
  try {
    const secrets = await provisionerSecrets(work, plan, signal);
    return { ...common, secrets, same: digest === plan.digest };
  } catch (error) {
    if (!(error instanceof SecretError && error.missing)) throw error;
    // Secrets often go with their namespace. Some drivers do without; a refusal proves nothing then.
    return { ...common, secrets: undefined, same: false };
  }
}

export async function isRecorded(
  work: ClaimWork,
  volumeName: string,
  claimUid: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const volume = await work.kube.get(persistentVolumes, { name: volumeName }, { signal });
    return volume.spec.claimRef?.uid === claimUid;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

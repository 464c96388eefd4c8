// What the steps on one claim share: the provisioner's ports and state, one run over one claim, and the outcomes of a
// run.

import { retryOf } from '../../../api/asks-for-retry.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
} from '../../../api/kinds.ts';
import { nameFromKey } from '../../../api/object.ts';
import { selectedNodeOf, storageClassOf } from '../../../api/volumes.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { type CsiSecrets, readSecret, SecretError } from '../../../csi/secrets/credentials.ts';
import type { ReadYourWrites } from '../../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import type { LeaseLedger } from '../../../runtime/leases/lease-ledger.ts';
import { failed, type Outcome } from '../../../runtime/queue/loop.ts';
import { dropFromClaim, keepOnClaim } from '../intents/claim-intents.ts';
import type { Intent } from '../intents/intent.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import type { Attempts } from './attempts.ts';
import type { ProvisioningSnapshot } from './decide-claim.ts';
import type { VolumePlanner } from './volume-planner.ts';

export interface ClaimWork extends ProvisionerContext {
  planner: VolumePlanner;
  claims: ReadYourWrites<PersistentVolumeClaim>;
  ledger: LeaseLedger<Intent>;
  attempts: Attempts;
  /** Its source's protection may be removed, unless a volume may still be asked for from it: for this claim or another. */
  releaseSource(claim: PersistentVolumeClaim): void;
}

/** One run over one claim. */
export interface ClaimRun extends ProvisioningSnapshot {
  work: ClaimWork;
  /** Of the claim, `namespace/name`. */
  key: string;
  /** The inputs of an attempt that others can change: a change resets the backoff. */
  inputs: string;
  signal: AbortSignal;
}

export function inputsOf(
  claim: PersistentVolumeClaim | undefined,
  storageClass: StorageClass | undefined,
  mayUseSource: boolean | undefined,
): string {
  return JSON.stringify([
    storageClass?.metadata.uid,
    storageClass?.metadata.resourceVersion,
    claim && selectedNodeOf(claim),
    claim?.spec.volumeAttributesClassName,
    claim?.spec.volumeName,
    claim?.metadata.deletionTimestamp,
    mayUseSource,
    claim && retryOf(claim),
  ]);
}

/** Another write came first; its watch event enqueues the claim again. */
export const claimChanged: Outcome = failed({
  why: 'the claim changed, and the cache does not show it yet',
  quiet: true,
});

export async function provisionerSecrets(
  { work, signal }: ClaimRun,
  plan: VolumePlan,
): Promise<CsiSecrets | undefined> {
  const ref = plan.secretRefs.provisioner;
  return ref && readSecret(work.kube, ref, { signal });
}

/**
 * Read from the server: the PersistentVolume that records the claim's volume, whatever claim it is for by now. A populator
 * and administrators give volumes to other claims, which use them from then on.
 */
export async function recordOf({
  work,
  volume,
  driver,
  signal,
}: ClaimRun): Promise<PersistentVolume | undefined> {
  const found = await ifThere(work.kube.get(persistentVolumes, { name: volume.name }, { signal }));
  return found?.spec.csi?.driver === driver ? found : undefined;
}

/** The same, unless it is for another claim: then this one still waits for a volume. */
export async function ownRecordOf(run: ClaimRun): Promise<PersistentVolume | undefined> {
  const found = await recordOf(run);
  return found?.spec.claimRef?.uid === run.uid ? found : undefined;
}

/** To be asked before every DeleteVolume: one that a PersistentVolume records may be in use. */
export async function hasRecord(run: ClaimRun, handle: VolumeHandle): Promise<boolean> {
  return (await recordOf(run))?.spec.csi?.volumeHandle === handle;
}

/** The claim with the intent on it; undefined when it changed, so that the intent stays where it was. */
export async function moveToClaim(
  { work, uid, signal }: ClaimRun,
  claim: PersistentVolumeClaim,
  intent: Intent,
): Promise<PersistentVolumeClaim | undefined> {
  const kept = await keepOnClaim(work.kube, claim, intent, signal);
  if (!kept) return undefined;
  work.ledger.end(uid);
  return work.claims.wrote(kept);
}

/** Read from the server: caches may be stale, and the volume of an existing claim is at stake. */
export async function isWanted({ work, key, uid, volume, node, signal }: ClaimRun): Promise<boolean> {
  const claim = await ifThere(work.kube.get(persistentVolumeClaims, nameFromKey(key), { signal }));
  if (claim?.metadata.uid !== uid || claim.metadata.deletionTimestamp !== undefined) return false;
  if (claim.spec.volumeName && claim.spec.volumeName !== volume.name) return false;
  // A claim that another node owns by now cannot be provisioned here.
  return !node || selectedNodeOf(claim) === node.name;
}

/** Drops the intent: the volume is recorded or known not to exist. */
export async function dropIntent({ work, uid, claim, signal }: ClaimRun): Promise<void> {
  const known = work.attempts.of(uid);
  const reschedule = known?.is === 'nothing-left' && known.reschedule;
  const left = claim && (await dropFromClaim(work.kube, claim, { reschedule, signal }));
  if (left) work.claims.wrote(left);
  work.ledger.end(uid);
  work.attempts.delete(uid);
}

export function labelsOf(claim: PersistentVolumeClaim): { class: string; source: string } {
  return { class: storageClassOf(claim) ?? '', source: claim.spec.dataSource?.kind ?? '' };
}

/** A problem found before the driver was called, which a user can correct. */
export function isUsersProblem(error: unknown): error is ClaimProblem | SecretError {
  return error instanceof ClaimProblem || error instanceof SecretError;
}

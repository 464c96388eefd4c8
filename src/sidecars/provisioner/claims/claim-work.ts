// What the steps on one claim share: ports, caches with the provisioner's own writes on top, and its short memory.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { selectedNodeOf, storageClassOf } from '../../../api/volumes.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import { type CsiSecrets, readSecret } from '../../../csi/secrets/credentials.ts';
import type { EventRecorder } from '../../../runtime/events/create-event-recorder.ts';
import type { ReadYourWrites } from '../../../runtime/informer/read-your-writes.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../../runtime/kube/kube.ts';
import type { Clock, Log } from '../../../runtime/ports.ts';
import type { RetryGate } from '../../common/retry-gate.ts';
import type { IntentLedger } from '../intents/intent-ledger.ts';
import type { VolumePlan } from '../planning/plan-volume.ts';
import type { ProvisionerMetrics } from '../provisioner-metrics.ts';
import { type AskedFor, dropIntent, recordIntent } from './claim-intent.ts';
import type { UnrecordedVolumes } from './unrecorded-volumes.ts';
import type { VolumeCalls } from './volume-calls.ts';
import type { VolumePlanner } from './volume-planner.ts';
import type { VolumesMade } from './volumes-made.ts';

export interface ClaimWork {
  driver: string;
  withTopology: boolean;
  kube: KubeClient;
  clock: Clock;
  log: Log;
  recorder: EventRecorder;
  metrics: ProvisionerMetrics;
  calls: VolumeCalls;
  planner: VolumePlanner;
  claims: ReadYourWrites<PersistentVolumeClaim>;
  made: VolumesMade;
  /** Where the intent of a claim stands while the driver is first asked; later it is on the claim. */
  ledger: IntentLedger;
  unrecorded: UnrecordedVolumes;
  /** UIDs of claims about which the driver's last answer to this process left nothing open. */
  answered: Set<string>;
  /** UIDs of claims whose intent is to go, and may have gone already; whether they are to be given back to the scheduler. */
  settling: Map<string, boolean>;
  gate: RetryGate;
  /** A volume of this class was made, or could not be: what is left has changed. */
  capacityChanged(className: string): void;
  /** The claim's volume exists: what it was made from may go. */
  releaseSource(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void>;
}

/** What an attempt is made from, as far as others can change it: a change is worth a new attempt at once. */
export function inputsOf(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): string {
  return JSON.stringify([
    storageClass?.metadata.uid ?? null,
    storageClass?.metadata.resourceVersion ?? null,
    selectedNodeOf(claim) ?? null,
    claim.spec.volumeAttributesClassName ?? null,
    claim.spec.volumeName ?? null,
    claim.metadata.deletionTimestamp !== undefined,
  ]);
}

export async function provisionerSecrets(
  work: Pick<ClaimWork, 'kube'>,
  plan: VolumePlan,
  signal: AbortSignal,
): Promise<CsiSecrets | undefined> {
  const ref = plan.secretRefs.provisioner;
  return ref && readSecret(work.kube, ref, { signal });
}

/** The volume is recorded or known not to exist: nothing is left to remember. */
export async function settle(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  options: { reschedule?: boolean; signal: AbortSignal },
): Promise<void> {
  const { uid } = claim.metadata;
  work.unrecorded.delete(keyOf(claim), uid);
  work.ledger.end(uid);
  work.settling.set(uid, options.reschedule ?? false);
  const settled = await dropIntent(work.kube, claim, options);
  if (settled) work.claims.wrote(settled);
  work.settling.delete(uid);
}

/**
 * The intent leaves the ledger for the claim, which is then kept until it is certain whether a volume exists. False when
 * the claim has changed since it was read, or is on its way out: the intent stays where it is.
 */
export async function moveIntentToClaim(
  work: ClaimWork,
  claim: PersistentVolumeClaim,
  asked: AskedFor,
  signal: AbortSignal,
): Promise<boolean> {
  const marked = hasFinalizer(claim, FINALIZER_PROVISIONING)
    ? claim
    : await recordIntent(work.kube, claim, asked, signal);
  if (!marked) return false;
  work.claims.wrote(marked);
  work.ledger.end(claim.metadata.uid);
  return true;
}

export function labelsOf(claim: PersistentVolumeClaim): { class: string; source: string } {
  return { class: storageClassOf(claim) ?? '', source: claim.spec.dataSource?.kind ?? '' };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// What to do for one claim, from a snapshot of it and of what it refers to. Pure: the binder performs the steps.
// A claim is in one of two states. Without the annotation `bind-completed` the binder looks for a volume, waits, or
// asks a provisioner. With it the binding is permanent: it is repaired or declared lost, never changed.

import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../api/kinds.ts';
import { provisionerOf, refersToClaim, selectedNodeOf, storageClassOf } from '../../api/volumes.ts';
import {
  ANN_BIND_COMPLETED,
  ANN_STORAGE_PROVISIONER,
  ANN_STORAGE_PROVISIONER_BETA,
} from '../../api/well-known.ts';
import { mismatch } from '../matching/match-volume.ts';

/** The provisioner of classes without dynamic provisioning. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

export interface ClaimSnapshot {
  claim: PersistentVolumeClaim;
  /** The volume that `spec.volumeName` names; undefined when it names none or it does not exist. */
  named: PersistentVolume | undefined;
  /** For a claim that names no volume: the best match, if any. */
  match: PersistentVolume | undefined;
  /** The class that the claim names; undefined when it names none or it does not exist. */
  storageClass: StorageClass | undefined;
  /** For a claim without a class: the current default class. */
  defaultClass: StorageClass | undefined;
  /** Pods that use the claim and wait to be scheduled. */
  waitingPods: readonly string[];
}

export type ClaimStep =
  | { do: 'bind'; volume: PersistentVolume }
  /** The claim was created before there was a default class. */
  | { do: 'assign-class'; className: string }
  | { do: 'ask-provisioner'; provisioner: string }
  | { do: 'set-phase'; phase: 'Pending' | 'Lost' }
  | { do: 'event'; type: 'Normal' | 'Warning'; reason: string; message: string };

const pending: ClaimStep = { do: 'set-phase', phase: 'Pending' };
const normal = (reason: string, message: string): ClaimStep => ({
  do: 'event',
  type: 'Normal',
  reason,
  message,
});
const warning = (reason: string, message: string): ClaimStep => ({
  do: 'event',
  type: 'Warning',
  reason,
  message,
});

export function decideClaim(snapshot: ClaimSnapshot): ClaimStep[] {
  const { claim } = snapshot;
  if (isBindCompleted(claim)) return decideBound(snapshot);
  return claim.spec.volumeName ? decideRequested(snapshot) : decideUnbound(snapshot);
}

/** The user asked for one volume by name, so no other is tried. */
function decideRequested({ claim, named }: ClaimSnapshot): ClaimStep[] {
  // The volume may be created later; its creation wakes the claim.
  if (!named) return [pending];
  const { claimRef } = named.spec;
  // Safe: the write that reserves the volume conflicts if another claim has reserved it since.
  if (!claimRef) {
    const why = mismatch(named, claim);
    if (why === undefined) return [{ do: 'bind', volume: named }];
    const message = `Cannot bind to requested volume "${named.metadata.name}": ${why}`;
    return [warning('VolumeMismatch', message), pending];
  }
  // Reserved for this claim, or bound by a run that was interrupted: completing it takes the volume from no other
  // claim.
  if (refersToClaim(claimRef, claim)) return [{ do: 'bind', volume: named }];
  const message = `volume "${named.metadata.name}" already bound to a different claim.`;
  return [warning('FailedBinding', message), pending];
}

/** The claim names no volume: any match will do. */
function decideUnbound(snapshot: ClaimSnapshot): ClaimStep[] {
  const { claim, match, storageClass, defaultClass, waitingPods } = snapshot;
  // Safe, as above: a single write decides which claim gets it.
  if (match) return [{ do: 'bind', volume: match }];
  // The write wakes the claim again, and then it has a class.
  if (defaultClass) return [{ do: 'assign-class', className: defaultClass.metadata.name }];
  const className = storageClassOf(claim) ?? '';
  if (className === '') {
    const message = 'no persistent volumes available for this claim and no storage class is set';
    return [normal('FailedBinding', message), pending];
  }
  if (!storageClass) {
    return [warning('ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`), pending];
  }
  if (isDelayed(storageClass) && selectedNodeOf(claim) === undefined) {
    return [
      waitingPods.length === 0
        ? normal('WaitForFirstConsumer', 'waiting for first consumer to be created before binding')
        : normal(
            'WaitForPodScheduled',
            `waiting for pod${waitingPods.length > 1 ? 's' : ''} ${waitingPods.join(',')} to be scheduled`,
          ),
      pending,
    ];
  }
  const { provisioner } = storageClass;
  if (provisioner === NO_PROVISIONER) {
    const message = `no persistent volumes available for this claim, and class "${className}" does not provision`;
    return [normal('FailedBinding', message), pending];
  }
  const annotations = claim.metadata.annotations;
  const isAsked =
    provisionerOf(claim) === provisioner &&
    annotations?.[ANN_STORAGE_PROVISIONER] === annotations?.[ANN_STORAGE_PROVISIONER_BETA];
  const message =
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' ` +
    'or manually by the system administrator. If volume creation is delayed, please verify that the provisioner ' +
    'is running and correctly registered.';
  return [
    ...(isAsked ? [] : [{ do: 'ask-provisioner', provisioner } as const]),
    normal('ExternalProvisioning', message),
    pending,
  ];
}

/** The claim was bound. Whatever has changed since, its data is on that one volume. */
function decideBound({ claim, named }: ClaimSnapshot): ClaimStep[] {
  const lost = (reason: string, message: string): ClaimStep[] =>
    claim.status?.phase === 'Lost' ? [] : [warning(reason, message), { do: 'set-phase', phase: 'Lost' }];
  if (!claim.spec.volumeName) {
    return lost(
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    );
  }
  if (!named) {
    return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  }
  const { claimRef } = named.spec;
  // Free again (someone edited it), or already this claim's: writing the reference again restores the binding.
  if (!claimRef || refersToClaim(claimRef, claim)) return [{ do: 'bind', volume: named }];
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

export function isDelayed(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}

/** The binding was completed once and is permanent from then on. */
export function isBindCompleted(claim: PersistentVolumeClaim): boolean {
  return claim.metadata.annotations?.[ANN_BIND_COMPLETED] !== undefined;
}

/** Neither bound nor tied to a volume by name: it takes any match. */
export function isWaiting(claim: PersistentVolumeClaim): boolean {
  return !claim.spec.volumeName && !isBindCompleted(claim);
}

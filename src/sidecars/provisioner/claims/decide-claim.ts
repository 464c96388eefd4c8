// What to do for one claim, from the claim, its class, its volume and the current attempt. Pure and complete: the
// reconciler performs the step and adds no decision.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import { provisionerOf, selectedNodeOf } from '../../../api/volumes.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import type { Intent } from '../intents/intent.ts';
import type { Attempt } from './attempts.ts';

export interface ProvisioningSnapshot {
  /** Undefined when it is gone. */
  claim: PersistentVolumeClaim | undefined;
  uid: string;
  driver: DriverName;
  /** The class that the claim names; undefined when it names none or it does not exist. */
  storageClass: StorageClass | undefined;
  /** The name of the claim's volume, and the claim that the PersistentVolume of this name belongs to. */
  volume: { name: string; claimUid: string | undefined };
  /** The intent in the ledger, the one on the claim, and what this process knows beyond them. */
  attempt: { inLedger: Intent | undefined; onClaim: Intent | undefined; known: Attempt | undefined };
  /** With one provisioner per node: this node, and whether it takes claims without a selected node. */
  node?: { name: string; takesImmediate: boolean } | undefined;
}

export type ProvisioningStep =
  | { do: 'nothing'; why: string }
  | { do: 'provision'; storageClass: StorageClass }
  /** No node is selected: try to take the claim for this node. */
  | { do: 'take'; storageClass: StorageClass }
  /** A call may have created a volume without a record: find out by repeating the call, and delete it. */
  | { do: 'clean-up'; isRecorded: boolean }
  /** Nothing is unrecorded: drop the intent. */
  | { do: 'drop-intent'; isRecorded: boolean }
  /** It has its volume: the protection of its source may be removed. */
  | { do: 'release-source' }
  | { do: 'refuse'; problem: string };

const nothing = (why: string): ProvisioningStep => ({ do: 'nothing', why });

export function decideClaim(snapshot: ProvisioningSnapshot): ProvisioningStep {
  const { claim, uid, driver, storageClass, volume, node } = snapshot;
  const { inLedger, onClaim } = snapshot.attempt;
  const known = isOutdated(snapshot.attempt) ? undefined : snapshot.attempt.known;
  const mayBeUnrecorded = known ? known.is === 'asking' : Boolean(inLedger ?? onClaim);
  const cleanUp: ProvisioningStep = { do: 'clean-up', isRecorded: false };
  const dropIntent: ProvisioningStep = { do: 'drop-intent', isRecorded: false };
  if (!claim) {
    if (mayBeUnrecorded) return cleanUp;
    return known ? dropIntent : nothing('it is gone');
  }
  if (provisionerOf(claim) !== driver) return nothing('it is for another provisioner');
  const selected = selectedNodeOf(claim);
  if (node && selected !== undefined && selected !== node.name) {
    // The ledger belongs to this node; the intent on the claim to the other node.
    return inLedger && mayBeUnrecorded ? cleanUp : nothing(`it is for node ${selected}`);
  }
  const deleting = claim.metadata.deletionTimestamp !== undefined;
  if (volume.claimUid === uid || claim.spec.volumeName === volume.name) {
    if (onClaim) {
      // Called again because the PersistentVolume was not known. Until the outcome is known, that call may create
      // another volume as soon as this one is deleted.
      if (mayBeUnrecorded && (known || onClaim.asked > 1)) return { do: 'clean-up', isRecorded: true };
      const isBound = claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost';
      if (!deleting && !isBound) return nothing('the binder is about to write it');
    }
    if (onClaim || inLedger) return { do: 'drop-intent', isRecorded: true };
    return claim.spec.volumeName ? { do: 'release-source' } : nothing('it has its volume');
  }
  if (known && !mayBeUnrecorded) return dropIntent;
  if (deleting || claim.spec.volumeName) {
    if (mayBeUnrecorded) return cleanUp;
    return nothing(deleting ? 'it is being deleted' : `it has volume ${claim.spec.volumeName}`);
  }
  if (volume.claimUid !== undefined) {
    const problem = `PersistentVolume ${volume.name} exists and belongs to another claim; a longer --volume-name-uuid-length makes names unique`;
    return { do: 'refuse', problem };
  }
  if (!storageClass) return nothing('its class does not exist');
  if (storageClass.provisioner !== driver) return nothing('its class is for another provisioner');
  if (selected === undefined) {
    if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') return nothing('no node is selected yet');
    if (node) return node.takesImmediate ? { do: 'take', storageClass } : nothing('no node is selected');
  }
  return { do: 'provision', storageClass };
}

/** The cache did not show the intent of another replica when it was found that nothing had been asked for. */
function isOutdated({ inLedger, onClaim, known }: ProvisioningSnapshot['attempt']): boolean {
  return known?.is === 'nothing-left' && !known.hadIntent && (inLedger ?? onClaim) !== undefined;
}

// What to do for one claim, from a snapshot of it and of what it refers to. Pure: the reconciler performs the step.
//
// The provisioning finalizer on a claim is an intent: a volume may exist for it that no PersistentVolume records, because
// the end of a call is not known. It goes when the PersistentVolume exists or the volume is known not to. A claim that
// carries it is never let go; whoever finds it, after whatever crash, takes it up here. Intents of first calls are in the
// ledger: what is left there is resumed before the claim is looked at.

import type { PersistentVolumeClaim, StorageClass } from '../../../api/kinds.ts';
import { provisionerOf, selectedNodeOf } from '../../../api/volumes.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';

export interface ClaimSnapshot {
  claim: PersistentVolumeClaim;
  driver: string;
  /** The name that the claim's volume has or will have. */
  volumeName: string;
  /** The claim that the PersistentVolume of this name is for; undefined when there is no such volume. */
  volumeFor: { claimUid: string | undefined } | undefined;
  /** The class that the claim names; undefined when it names none or it does not exist. */
  storageClass: StorageClass | undefined;
  /** With one provisioner a node: this node, and whether it takes claims that no node was selected for. */
  node?: { name: string; takesImmediate: boolean };
}

export type ClaimStep =
  | { do: 'nothing'; why: string }
  | { do: 'provision'; storageClass: StorageClass }
  /** No node was selected: offer to make it here. */
  | { do: 'take'; storageClass: StorageClass }
  /** The volume exists: the intent goes. */
  | { do: 'settle' }
  /** The volume exists and the binder is about to write the claim: let it, then settle. */
  | { do: 'await-binding' }
  /** It has its volume: what that was made from may go. */
  | { do: 'release-source' }
  /** Nobody wants the volume any more: find out whether there is one, and delete it. */
  | { do: 'follow'; storageClass: StorageClass | undefined }
  | { do: 'refuse'; problem: string };

const nothing = (why: string): ClaimStep => ({ do: 'nothing', why });

export function decideClaim(snapshot: ClaimSnapshot): ClaimStep {
  const { claim, driver, volumeName, volumeFor, storageClass, node } = snapshot;
  if (provisionerOf(claim) !== driver) return nothing('it is for another provisioner');
  const intent = hasFinalizer(claim, FINALIZER_PROVISIONING);
  const selected = selectedNodeOf(claim);
  if (node && selected !== undefined && selected !== node.name) {
    return nothing(`it is for node ${selected}`);
  }
  const deleting = claim.metadata.deletionTimestamp !== undefined;
  const isOurs = volumeFor?.claimUid === claim.metadata.uid;
  if (isOurs || claim.spec.volumeName === volumeName) {
    if (!intent) return claim.spec.volumeName ? { do: 'release-source' } : nothing('it has its volume');
    const isWritten = claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost';
    return deleting || isWritten ? { do: 'settle' } : { do: 'await-binding' };
  }
  if (deleting || claim.spec.volumeName) {
    if (intent) return { do: 'follow', storageClass };
    return nothing(deleting ? 'it is being deleted' : `it has volume ${claim.spec.volumeName}`);
  }
  if (volumeFor) {
    const problem = `PersistentVolume ${volumeName} exists and belongs to another claim; a longer --volume-name-uuid-length makes names unique`;
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

// The owner references of a set's claims, by the set's retention policy: none (the claims are kept), the set (they are
// deleted with it), or a pod that is being scaled down (they are deleted with the pod). Pure.

import type { PersistentVolumeClaim, Pod, StatefulSet } from '../../api/kinds.ts';
import type { OwnerReference } from '../../api/object.ts';
import { ownedByPod, ownedBySet } from './set-members.ts';

export interface ClaimOwnersSnapshot {
  set: StatefulSet;
  claim: PersistentVolumeClaim;
  /** The member that uses the claim; undefined when it does not exist yet. */
  pod: Pod | undefined;
  /** The member's ordinal is beyond the number of replicas. */
  isScaledAway: boolean;
}

/** The new owner references; undefined when they are right already, or are not the set's to change. */
export function decideClaimOwners({
  set,
  claim,
  pod,
  isScaledAway,
}: ClaimOwnersSnapshot): OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? [];
  const isOfSet = (each: OwnerReference) =>
    each.apiVersion === 'apps/v1' && each.kind === 'StatefulSet' && each.name === set.metadata.name;
  const isOfPod = (each: OwnerReference) =>
    each.apiVersion === 'v1' && each.kind === 'Pod' && each.name === pod?.metadata.name;
  // An earlier set or pod of the same name owns it: the garbage collector decides about it.
  const isStale = references.some(
    (each) =>
      (isOfSet(each) && each.uid !== set.metadata.uid) || (isOfPod(each) && each.uid !== pod?.metadata.uid),
  );
  if (isStale) return undefined;
  const others = references.filter((each) => !isOfSet(each) && !isOfPod(each));
  // Another controller owns it: an object has one controller, so the set and its pods must not.
  const isTaken = others.some(({ controller }) => controller === true);
  const next = isTaken ? others : [...others, ...wantedOwners(set, pod, isScaledAway)];
  return sameOwners(next, references) ? undefined : next;
}

function wantedOwners(set: StatefulSet, pod: Pod | undefined, isScaledAway: boolean): OwnerReference[] {
  const { whenDeleted, whenScaled } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (isScaledAway && whenScaled === 'Delete') return pod ? [ownedByPod(pod)] : [];
  return whenDeleted === 'Delete' ? [ownedBySet(set)] : [];
}

/** A reference without `controller: true` has to be replaced. */
function sameOwners(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  const owners = (references: readonly OwnerReference[]) =>
    references.map(({ uid, controller }) => `${uid} ${controller === true}`).sort();
  return JSON.stringify(owners(a)) === JSON.stringify(owners(b));
}

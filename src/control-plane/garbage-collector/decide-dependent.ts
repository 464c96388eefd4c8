// What happens to an object that has owners, from what is known of each of them. Pure: the collector performs it.

import type { KubeObject, OwnerReference } from '../../api/object.ts';

export const FINALIZER_ORPHAN = 'orphan';
export const FINALIZER_FOREGROUND = 'foregroundDeletion';

/**
 * - `present`: exists, and is not waiting for its dependents;
 * - `absent`: does not exist, confirmed by the server;
 * - `waiting`: is being deleted in the foreground, so it waits until its dependents are gone;
 * - `unknown`: cannot be told, because its kind is not served or it cannot be this object's owner. Nothing is deleted
 * because of it.
 */
export type OwnerState = 'present' | 'absent' | 'waiting' | 'unknown';

export interface DependentSnapshot {
  owners: readonly { reference: OwnerReference; state: OwnerState }[];
  finalizers: readonly string[];
  /** Objects that name this one as their owner. */
  dependents: readonly KubeObject[];
}

export type DependentStep =
  | { do: 'nothing' }
  /** It has other owners: references to owners that are gone or being deleted are removed. */
  | { do: 'drop-owners'; uids: string[] }
  | { do: 'delete'; propagation: 'Background' | 'Foreground' | 'Orphan'; unblockOwners: boolean };

export function decideDependent({ owners, finalizers, dependents }: DependentSnapshot): DependentStep {
  const going = owners.filter(({ state }) => state === 'absent' || state === 'waiting');
  if (going.length === 0) return { do: 'nothing' };
  if (going.length < owners.length) {
    return { do: 'drop-owners', uids: going.map(({ reference }) => reference.uid) };
  }
  const isAwaited = going.some(({ state }) => state === 'waiting');
  if (isAwaited && dependents.length > 0) {
    // An owner waits for this object, so this object must wait for its own dependents in turn. If one of these is
    // itself an owner that waits, they form a cycle, which only ends when this object stops blocking.
    return { do: 'delete', propagation: 'Foreground', unblockOwners: dependents.some(waitsForDependents) };
  }
  // An existing finalizer states which propagation policy was asked for.
  if (finalizers.includes(FINALIZER_ORPHAN)) {
    return { do: 'delete', propagation: 'Orphan', unblockOwners: false };
  }
  const propagation = finalizers.includes(FINALIZER_FOREGROUND) ? 'Foreground' : 'Background';
  return { do: 'delete', propagation, unblockOwners: false };
}

/** Is being deleted in the foreground. */
export function waitsForDependents({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && has(metadata.finalizers, FINALIZER_FOREGROUND);
}

/** Is being deleted, and its dependents are to stay. */
export function orphansDependents({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && has(metadata.finalizers, FINALIZER_ORPHAN);
}

/** Whether `dependent` blocks the foreground deletion of the owner with this UID. */
export function blocks(dependent: KubeObject, ownerUid: string): boolean {
  return (dependent.metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true,
  );
}

function has(finalizers: readonly string[] | undefined, finalizer: string): boolean {
  return finalizers?.includes(finalizer) ?? false;
}

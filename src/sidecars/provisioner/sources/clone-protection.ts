// Removes the cloning finalizer of claims that are being deleted, once no clone of them is pending. Watches and writes
// claims; nothing else ever removes this finalizer.

import { type PersistentVolumeClaim, persistentVolumeClaims, persistentVolumes } from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { FINALIZER_CLONE_PROTECTION } from '../../../api/well-known.ts';
import { hasFinalizer, removeFinalizer } from '../../../runtime/kube/finalizers.ts';
import { createLoop } from '../../../runtime/queue/create-loop.ts';
import { done, type Outcome } from '../../../runtime/queue/loop.ts';
import { uidKey } from '../../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../../runtime/sharding/shares.ts';
import { mayBeAsked } from '../intents/intent.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { sourceKey, sourceKeyOf } from './data-source.ts';

const PENDING_BY_SOURCE = 'provisioner/pending-by-source';

/** Claims for which a call with this source may be made or repeated; their sources must stay. */
export type PendingBySource = (sourceKey: string) => readonly PersistentVolumeClaim[];

/** Call once per set of informers. */
export function indexPendingBySource({
  informers,
  grants,
}: Pick<ProvisionerContext, 'informers' | 'grants'>): PendingBySource {
  const claims = informers.of(persistentVolumeClaims);
  claims.addIndex(PENDING_BY_SOURCE, (claim) => {
    const key = mayBeAsked(claim) ? sourceKeyOf(claim) : undefined;
    return key === undefined ? [] : [key];
  });
  return (key) => claims.byIndex(PENDING_BY_SOURCE, key).filter(grants.allows);
}

export function createCloneProtection(context: ProvisionerContext, pendingFrom: PendingBySource) {
  const { kube, flags, driver } = context;
  const claims = context.informers.of(persistentVolumeClaims);
  const volumes = context.informers.of(persistentVolumes);
  // The provisioner of another driver may still ask for a volume from it, for a claim that is gone.
  const isOfAnotherDriver = ({ spec }: PersistentVolumeClaim): boolean => {
    const volume = volumes.get(spec.volumeName ?? '');
    return volume !== undefined && volume.spec.csi?.driver !== driver.name;
  };
  const isDue = (claim: PersistentVolumeClaim) =>
    claim.metadata.deletionTimestamp !== undefined &&
    hasFinalizer(claim, FINALIZER_CLONE_PROTECTION) &&
    !isOfAnotherDriver(claim);

  const loop = createLoop({
    ...context.loop,
    workers: flags.cloningProtectionThreads,
    name: 'cloning-protection',
    reconcile: sharedReconcile(context.shares, { ownerKey: (key) => uidKey(claims.get(key)) }, reconcile),
  });

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const object = claims.get(key);
    if (!object || !isDue(object)) return done;
    const { name, namespace = '' } = object.metadata;
    // The last of them enqueues the source when it is bound or gone, and nothing is left of an attempt for it.
    if (pendingFrom(sourceKey({ kind: 'claim', name, namespace })).length > 0) return done;
    const resource = persistentVolumeClaims;
    await removeFinalizer({ kube, resource, object, finalizer: FINALIZER_CLONE_PROTECTION, signal });
    return done;
  }

  const look = (claim: PersistentVolumeClaim): void => {
    if (isDue(claim)) loop.add(keyOf(claim));
  };
  const lookAtSource = (claim: PersistentVolumeClaim): void => {
    const key = sourceKeyOf(claim);
    if (key?.startsWith('claim:')) loop.add(key.slice('claim:'.length));
  };
  // A grant that is withdrawn may have been what a source waited for.
  context.grants.subscribe((namespace) => {
    for (const claim of claims.list()) if (claim.metadata.namespace === namespace) look(claim);
  });
  claims.subscribe({
    added: look,
    updated(before, after) {
      look(after);
      if (mayBeAsked(before) && !mayBeAsked(after)) lookAtSource(after);
    },
    deleted: lookAtSource,
  });
  context.shares?.onGain(() => claims.list().forEach(look));
  return {
    run: (signal: AbortSignal): Promise<void> => loop.run(signal),
    /** The claim, or an attempt for it, needs its source no longer. */
    lookAtSourceOf: lookAtSource,
  };
}

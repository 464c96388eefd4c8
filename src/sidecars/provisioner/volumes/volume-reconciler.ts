// The loop over PersistentVolumes: deletes the storage of Released ones, then the object. Watches volumes and where they are
// used; writes the provisioner's finalizer and deletes PersistentVolumes; never deletes one that is in use or has a claim.

import {
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} from '../../../api/kinds.ts';
import { storageClassOf } from '../../../api/volumes.ts';
import { attacherFinalizer, FINALIZER_PROVISIONER } from '../../../api/well-known.ts';
import { CsiError } from '../../../csi/csi-error.ts';
import type { VolumeHandle } from '../../../csi/names/driver-name.ts';
import { type CsiSecrets, readSecret, SecretError } from '../../../csi/secrets/credentials.ts';
import { ReadYourWrites } from '../../../runtime/informer/read-your-writes.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from '../../../runtime/kube/finalizers.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import { createLoop, DEFAULT_BACKOFF } from '../../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { uidKey } from '../../../runtime/sharding/owner-keys.ts';
import { sharedReconcile } from '../../../runtime/sharding/shares.ts';
import { ClaimProblem } from '../planning/claim-problem.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { decideVolume } from './decide-volume.ts';
import { deletionSecretOf } from './deletion-secrets.ts';
import { watchVolumeUse } from './volume-use.ts';

/** How long a detach may take before it is reported, in multiples of the first retry delay. */
const DETACH_PATIENCE = 5;

/** `isLocal`: with one provisioner per node, whether the volume belongs to this node. */
export function createVolumeReconciler(
  context: ProvisionerContext,
  isLocal: (volume: PersistentVolume) => boolean,
): Loop {
  const { kube, informers, recorder, calls, clock, log, results } = context;
  const driver = context.driver.name;
  /** Attachments say whether a volume is in use, and otherwise nodes. */
  const attaches = context.driver.controller.has('PUBLISH_UNPUBLISH_VOLUME');
  const volumes = informers.of(persistentVolumes);
  const classes = informers.of(storageClasses);
  const latest = new ReadYourWrites(volumes);
  const loop = createLoop({
    ...context.loop,
    name: 'volumes',
    // What is about to be deleted is read from the server in any case.
    reconcile: sharedReconcile(context.shares, { ownerKey: (key) => uidKey(volumes.get(key)) }, reconcile),
  });
  /** When volumes were first found Released and still attached. */
  const releasedSinceMs = new Map<string, number>();

  const use = watchVolumeUse(context, attaches, (volumeName) => loop.add(volumeName));
  const look = (volume: PersistentVolume): void => {
    if (decideVolume(volume, driver) !== 'nothing') loop.add(volume.metadata.name);
  };
  volumes.subscribe({ added: look, updated: (_before, after) => look(after) });
  context.shares?.onGain(() => volumes.list().forEach(look));

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const volume = latest.get(key);
    if (!volume || !isLocal(volume)) return done;
    const step = decideVolume(volume, driver);
    const request = { kube, resource: persistentVolumes, object: volume, signal };
    switch (step) {
      case 'nothing':
        return done;
      case 'protect':
        latest.wrote(await addFinalizer({ ...request, finalizer: FINALIZER_PROVISIONER }));
        return done;
      case 'release': {
        const released = await removeFinalizer({ ...request, finalizer: FINALIZER_PROVISIONER });
        if (released) latest.wrote(released);
        return done;
      }
      case 'delete': {
        const wait = detachWait(volume);
        if (wait) return wait;
        const current = await stillToDelete(volume, signal);
        if (!current) return done;
        return detachWait(current) ?? deleteStorage(current, signal);
      }
      default:
        return step satisfies never;
    }
  }

  /** A volume is released a moment before it is detached: only one that stays attached is reported. */
  function detachWait(volume: PersistentVolume): Outcome | undefined {
    const key = volume.metadata.name;
    if (!mayBeUsed(volume)) {
      releasedSinceMs.delete(key);
      return undefined;
    }
    const nowMs = clock.monotonicMs();
    const sinceMs = releasedSinceMs.get(key) ?? nowMs;
    releasedSinceMs.set(key, sinceMs);
    const leftMs = sinceMs + DETACH_PATIENCE * (context.loop.backoff ?? DEFAULT_BACKOFF).startMs - nowMs;
    return leftMs > 0 ? requeueAfter(leftMs, 'it is in use, and was released just now') : undefined;
  }

  /**
   * The volume as the server has it, because data is about to be destroyed and the cache may be behind. Undefined when
   * it is no longer to be deleted; the watch brings what changed and wakes the loop.
   */
  async function stillToDelete(
    { metadata: { name, uid } }: PersistentVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolume | undefined> {
    const found = await ifThere(kube.get(persistentVolumes, { name }, { signal }));
    const current = found && latest.wrote(found);
    const isSame = current?.metadata.uid === uid;
    return isSame && decideVolume(current, driver) === 'delete' ? current : undefined;
  }

  /**
   * The cache of attachments may be behind. The attacher puts its finalizer on a volume before it attaches it, takes it
   * off after the last detach, and attaches no Released volume. So the current object of a Released volume shows
   * whether it is attached, and it stays so.
   */
  function mayBeUsed(volume: PersistentVolume): boolean {
    return use.of(volume) !== undefined || (attaches && hasFinalizer(volume, attacherFinalizer(driver)));
  }

  async function deleteStorage(volume: PersistentVolume, signal: AbortSignal): Promise<Outcome> {
    const startMs = clock.monotonicMs();
    const className = storageClassOf(volume) ?? '';
    try {
      await refuseIfUsed(volume, signal);
      const secrets = await secretsFor(volume, signal);
      await calls.delete((volume.spec.csi?.volumeHandle ?? '') as VolumeHandle, secrets, signal);
    } catch (error) {
      signal.throwIfAborted();
      results.delete.failed({ class: className });
      if (error instanceof CsiError || error instanceof ClaimProblem || error instanceof SecretError) {
        recorder.event(volume, 'Warning', 'VolumeFailedDelete', error.message);
      }
      throw error;
    }
    results.delete.succeeded({ class: className }, (clock.monotonicMs() - startMs) / 1000);
    context.capacityChanged(className);
    log.v(2).info('Deleted a volume', { volume: volume.metadata.name });
    // Others may have removed their finalizers meanwhile, or made another volume of this name.
    const now = latest.get(volume.metadata.name);
    await deleteObject(now?.metadata.uid === volume.metadata.uid ? now : volume, signal);
    return done;
  }

  /**
   * The storage is gone. The finalizer is removed before the object is deleted, so that no other write comes in between. A
   * crash there is harmless: DeleteVolume is idempotent and is called again.
   */
  async function deleteObject(object: PersistentVolume, signal: AbortSignal): Promise<void> {
    const resource = persistentVolumes;
    const left = await removeFinalizer({ kube, resource, object, finalizer: FINALIZER_PROVISIONER, signal });
    if (!left) return;
    latest.wrote(left);
    if (object.metadata.deletionTimestamp === undefined) {
      const { name, uid } = object.metadata;
      await ifThere(kube.delete(persistentVolumes, { name }, { preconditions: { uid }, signal }));
    }
  }

  async function refuseIfUsed(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { name } = volume.metadata;
    const used = attaches && mayBeUsed(volume) ? await attachedTo(volume, signal) : use.of(volume);
    if (used !== undefined) throw new ClaimProblem(`persistentvolume ${name} is ${used}`);
    const { claimRef } = volume.spec;
    if (!claimRef?.name || !claimRef.namespace) return;
    // Read from the server: the phase may have been written by hand, and data is about to be destroyed.
    const claimName = { name: claimRef.name, namespace: claimRef.namespace };
    const claim = await ifThere(kube.get(persistentVolumeClaims, claimName, { signal }));
    if (!claim || (claimRef.uid && claim.metadata.uid !== claimRef.uid)) return;
    if (claim.spec.volumeName && claim.spec.volumeName !== name) return;
    throw new ClaimProblem(
      `persistentvolume ${name} is marked Released, but its claim ${claimRef.namespace}/${claimRef.name} exists; not deleting it`,
    );
  }

  /** Read from the server, because the official attacher leaves its finalizer on a volume until that is deleted. */
  async function attachedTo(volume: PersistentVolume, signal: AbortSignal): Promise<string | undefined> {
    const { items } = await kube.list(volumeAttachments, { signal });
    const found = items.find((attachment) => use.isOf(attachment, volume));
    return found && `still attached to node ${found.spec.nodeName}`;
  }

  async function secretsFor(volume: PersistentVolume, signal: AbortSignal): Promise<CsiSecrets | undefined> {
    const className = storageClassOf(volume);
    const ref = deletionSecretOf(volume, className ? classes.get(className) : undefined);
    if (!ref) return undefined;
    try {
      return await readSecret(kube, ref, { signal });
    } catch (error) {
      if (!(error instanceof SecretError && error.missing)) throw error;
      // The Secret may have been deleted with its namespace; the driver decides whether it needs it.
      log.warn('Deleting a volume without its secret', { volume: volume.metadata.name, err: error });
      return undefined;
    }
  }

  return loop;
}

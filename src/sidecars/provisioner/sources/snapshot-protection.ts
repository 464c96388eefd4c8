// Removes the source finalizer of snapshots that no pending claim restores from: once the last such claim is bound or gone,
// and in a periodic sweep for leftovers of crashes. Watches claims; writes VolumeSnapshots, and lists them only for the sweep.

import {
  leases,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type VolumeSnapshot,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../api/kinds.ts';
import { nameFromKey } from '../../../api/object.ts';
import { provisionerOf, selectedNodeOf } from '../../../api/volumes.ts';
import { FINALIZER_SNAPSHOT_SOURCE_PROTECTION } from '../../../api/well-known.ts';
import { hasFinalizer, releaseFinalizer } from '../../../runtime/kube/finalizers.ts';
import { ifThere } from '../../../runtime/kube/if-there.ts';
import { isForbidden, isNotFound } from '../../../runtime/kube/kube-error.ts';
import { createLoop } from '../../../runtime/queue/create-loop.ts';
import { done, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { claimOf, mayBeAsked } from '../intents/intent.ts';
import { ledgerName, pageOf } from '../intents/intent-ledger.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import type { PendingBySource } from './clone-protection.ts';
import { sourceKey, sourceKeyOf } from './data-source.ts';

/** What a crash left waits for the first sweep, so one that fails does not wait for a whole interval. */
const SWEEP_RETRY_MS = 10_000;
/** A protection that its sender gave up takes effect by then, so what was looked at before is looked at again. */
const LATE_WRITES_MS = 30_000;
/** Other replicas look later than the owner of the claim, which usually has released the snapshot by then. */
const OTHERS_LOOK_AFTER_MS = 5_000;

export function createSnapshotProtection(context: ProvisionerContext, pendingFrom: PendingBySource) {
  const { kube, clock, log, driver, nodeName, shares } = context;
  const takesSnapshots = driver.controller.has('CREATE_DELETE_SNAPSHOT');
  const sweepIntervalMs = takesSnapshots ? context.flags.snapshotOrphanSweepIntervalMs : 0;
  const loop = createLoop({ ...context.loop, name: 'snapshot-protection', reconcile });
  const lookAgain = new Set<string>();
  let hasSwept = false;

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    try {
      await release(await kube.get(volumeSnapshots, nameFromKey(key), { signal }), signal);
    } catch (error) {
      // Gone, or roles from before this protection existed.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      lookAgain.delete(key);
    }
    return lookAgain.delete(key) ? requeueAfter(LATE_WRITES_MS, 'it may be protected late') : done;
  }

  /** With shares every replica looks: the owner's cache may be behind, or the claim have no owner at that moment. */
  const lookAtSource = (claim: PersistentVolumeClaim): void => {
    const source = sourceKeyOf(claim);
    if (!source?.startsWith('snapshot:')) return;
    const key = source.slice('snapshot:'.length);
    lookAgain.add(key);
    if (shares?.owns(claim.metadata.uid) ?? true) loop.add(key);
    else loop.addAfter(key, OTHERS_LOOK_AFTER_MS);
  };
  context.informers.of(persistentVolumeClaims).subscribe({
    deleted: (claim) => {
      // Only the provisioner that worked on the claim knows whether something is left of that.
      const isOurNode = nodeName === undefined || selectedNodeOf(claim) === nodeName;
      // Also one that had a volume: it may go with its intent, which a deletion does not show any more.
      if (provisionerOf(claim) === driver.name && isOurNode) lookAtSource(claim);
    },
  });

  async function release(object: VolumeSnapshot, signal: AbortSignal): Promise<void> {
    const { name, namespace = '' } = object.metadata;
    const finalizer = FINALIZER_SNAPSHOT_SOURCE_PROTECTION;
    if (!hasFinalizer(object, finalizer)) return;
    const source = sourceKey({ kind: 'snapshot', name, namespace });
    if (pendingFrom(source).length > 0 || (await isPendingElsewhere(source, signal))) return;
    if (await isOfAnotherDriver(object, signal)) return;
    await releaseFinalizer({ kube, resource: volumeSnapshots, object, finalizer, signal });
    log.v(3).info('Removed the source finalizer of a snapshot', { snapshot: `${namespace}/${name}` });
  }

  /**
   * Another replica may have begun with a claim that this one's cache does not show yet, or follow what was left in the
   * ledger for a claim that is gone.
   */
  async function isPendingElsewhere(source: string, signal: AbortSignal): Promise<boolean> {
    if (shares === undefined) return false;
    const { items } = await kube.list(persistentVolumeClaims, { signal });
    if (items.some((claim) => mayBeAsked(claim) && sourceKeyOf(claim) === source)) return true;
    const ledger = { namespace: context.namespace, name: ledgerName(driver.name) };
    const { entries } = pageOf(await ifThere(kube.get(leases, ledger, { signal })));
    return entries.some((intent) => sourceKeyOf(claimOf(intent)) === source);
  }

  /** Its provisioner may still ask for a volume from it, for a claim that is gone. */
  async function isOfAnotherDriver({ status }: VolumeSnapshot, signal: AbortSignal): Promise<boolean> {
    const name = status?.boundVolumeSnapshotContentName;
    if (!name) return false;
    const content = await ifThere(kube.get(volumeSnapshotContents, { name }, { signal }));
    return content !== undefined && content.spec.driver !== driver.name;
  }

  /** How long to wait for the next one. */
  async function sweep(signal: AbortSignal): Promise<number> {
    try {
      const { items } = await kube.list(volumeSnapshots, { signal });
      for (const snapshot of items) await release(snapshot, signal);
    } catch (error) {
      if (signal.aborted) return 0;
      // No snapshots in this cluster, or roles from before this protection existed.
      if (isNotFound(error) || isForbidden(error)) return sweepIntervalMs;
      const retryInMs = Math.min(sweepIntervalMs, SWEEP_RETRY_MS);
      log.warn('Could not sweep the snapshots; retrying', { err: error, retryInMs });
      return retryInMs;
    }
    if (hasSwept) return sweepIntervalMs;
    hasSwept = true;
    // What the process before this one has sent may take effect only now.
    return Math.min(sweepIntervalMs, LATE_WRITES_MS);
  }

  return {
    run: (signal: AbortSignal): Promise<void> => loop.run(signal),
    /** The claim, or an attempt for it, needs its source no longer. */
    lookAtSourceOf: lookAtSource,
    async runSweep(signal: AbortSignal): Promise<void> {
      if (sweepIntervalMs === 0) return;
      hasSwept = false;
      while (!signal.aborted) {
        const waitMs = await sweep(signal);
        await clock.sleep(waitMs, signal).catch(() => {});
      }
    },
  };
}

// The loop over claims. Watches claims, classes and volumes; writes intents, in the ledger and on claims, and
// PersistentVolumes; never touches a claim that another provisioner was asked for.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type StorageClass,
  storageClasses,
} from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { provisionerOf, storageClassOf } from '../../../api/volumes.ts';
import { FINALIZER_PROVISIONING } from '../../../api/well-known.ts';
import type { Informers } from '../../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../../runtime/informer/read-your-writes.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';
import { createLoop, type LoopOptions } from '../../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import { claimOf, type Intent } from '../intents/intent.ts';
import type { NodeOwner } from '../node-deployment/node-owner.ts';
import { type VolumeNaming, volumeNameFor } from '../planning/volume-name.ts';
import { sourceKeyOf } from '../sources/data-source.ts';
import { timesAsked } from './claim-intent.ts';
import { type ClaimWork, inputsOf, settle } from './claim-work.ts';
import { decideClaim } from './decide-claim.ts';
import { followClaim, followOrphan, followRecorded } from './follow-claim.ts';
import { provisionClaim } from './provision-claim.ts';
import { resumeIntent } from './resume-intent.ts';

const WAITING_BY_CLASS = 'provisioner/waiting-by-class';

export interface ClaimReconcilerOptions {
  work: Omit<ClaimWork, 'claims'>;
  informers: Informers;
  naming: VolumeNaming;
  /** With one provisioner a node. */
  node: NodeOwner | undefined;
  loop: Omit<LoopOptions, 'name' | 'reconcile'>;
}

export function createClaimReconciler(options: ClaimReconcilerOptions): Loop {
  const { informers, naming, node } = options;
  const claims = informers.of(persistentVolumeClaims);
  const classes = informers.of(storageClasses);
  const work: ClaimWork = { ...options.work, claims: new ReadYourWrites(claims) };
  const { driver } = work;
  const loop = createLoop({ ...options.loop, name: 'claims', reconcile });

  claims.addIndex(WAITING_BY_CLASS, (claim) =>
    provisionerOf(claim) === driver && isOpen(claim) ? [storageClassOf(claim) ?? ''] : [],
  );
  const look = (claim: PersistentVolumeClaim): void => {
    if (provisionerOf(claim) === driver && isOpen(claim)) loop.add(keyOf(claim));
  };
  claims.subscribe({
    added: look,
    updated: (before, after) => {
      look(after);
      if (!before.spec.volumeName && after.spec.volumeName && sourceKeyOf(after)) loop.add(keyOf(after));
    },
    deleted: (claim) => {
      const { uid } = claim.metadata;
      if (work.unrecorded.of(keyOf(claim), uid) || work.ledger.has(uid)) loop.add(keyOf(claim));
      work.gate.forget(uid);
      work.answered.delete(uid);
      work.settling.delete(uid);
      node?.forget(uid);
    },
  });
  const wake = ({ metadata: { name } }: StorageClass): void => {
    for (const claim of claims.byIndex(WAITING_BY_CLASS, name)) loop.add(keyOf(claim));
    for (const claim of work.ledger.all().map(claimOf))
      if (storageClassOf(claim) === name) loop.add(keyOf(claim));
  };
  classes.subscribe({ added: wake, updated: (_before, after) => wake(after) });

  async function reconcile(key: string, { signal }: { signal: AbortSignal }): Promise<Outcome> {
    const outcomes: Outcome[] = [];
    // At the beginning of a run none is under way: what stands here was left by a run that did not come to its end.
    for (const intent of work.ledger.of(key)) outcomes.push(await resume(intent, signal));
    const claim = work.claims.get(key);
    if (claim && !work.ledger.has(claim.metadata.uid)) {
      outcomes.push(await reconcileClaim(key, claim, signal));
    }
    for (const orphan of work.unrecorded.orphansOf(key, claim?.metadata.uid)) {
      if (!work.ledger.has(orphan.claimUid)) outcomes.push(await followOrphan(work, key, orphan, signal));
    }
    return soonest(outcomes);
  }

  function resume(intent: Intent, signal: AbortSignal): Promise<Outcome> {
    const storageClass = classes.get(storageClassOf(claimOf(intent)) ?? '');
    const volumeName = volumeNameFor(intent.uid, naming);
    return resumeIntent(work, intent, { storageClass, volumeName, nodeName: node?.name, signal });
  }

  async function reconcileClaim(
    key: string,
    claim: PersistentVolumeClaim,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const className = storageClassOf(claim);
    const storageClass = className ? classes.get(className) : undefined;
    const volumeName = volumeNameFor(claim.metadata.uid, naming);
    const step = decideClaim({
      claim,
      driver,
      volumeName,
      volumeFor: work.made.claimOf(volumeName),
      storageClass,
      ...(node && { node: { name: node.name, takesImmediate: node.takesImmediate } }),
    });
    const reschedule = work.settling.get(claim.metadata.uid);
    if (reschedule !== undefined && (step.do === 'follow' || step.do === 'provision')) {
      // What there was to find out is known; only the write that says so has failed.
      await settle(work, claim, { reschedule, signal });
      return requeueAfter(0, 'nothing is left of the last attempt');
    }
    const remembered = work.unrecorded.of(key, claim.metadata.uid);
    const mayBeAsking = remembered || (timesAsked(claim) > 1 && !work.answered.has(claim.metadata.uid));
    if (mayBeAsking && (step.do === 'settle' || step.do === 'await-binding')) {
      const outcome = await followRecorded(work, claim, storageClass, signal);
      // The claim was written: it comes again.
      return outcome ?? requeueAfter(0, 'its volume is certain');
    }
    switch (step.do) {
      case 'nothing':
        node?.forget(claim.metadata.uid);
        work.log.v(5).info('Nothing to do for a claim', { claim: key, why: step.why });
        return done;
      case 'settle':
        await settle(work, claim, { signal });
        await work.releaseSource(claim, signal);
        return done;
      case 'await-binding':
        // It comes again when it is bound, or deleted.
        return done;
      case 'release-source':
        await work.releaseSource(claim, signal);
        return done;
      case 'provision':
        return provisionClaim(work, claim, step.storageClass, signal);
      case 'take':
        return node ? node.take(work, claim, step.storageClass, signal) : done;
      case 'follow':
        return followClaim(work, claim, { storageClass: step.storageClass, volumeName, signal });
      case 'refuse':
        work.recorder.event(claim, 'Warning', 'ProvisioningFailed', step.problem);
        return requeueAfter(
          work.gate.failed(claim.metadata.uid, inputsOf(claim, storageClass), true),
          step.problem,
        );
      default:
        return step satisfies never;
    }
  }

  return loop;
}

/** Something may be left to do: it has no volume yet, or its intent still stands. */
function isOpen(claim: PersistentVolumeClaim): boolean {
  return !claim.spec.volumeName || hasFinalizer(claim, FINALIZER_PROVISIONING);
}

function soonest(outcomes: readonly Outcome[]): Outcome {
  let first: (Outcome & { kind: 'requeueAfter' }) | undefined;
  for (const outcome of outcomes) {
    if (outcome.kind !== 'requeueAfter') continue;
    if (first === undefined || outcome.delayMs < first.delayMs) first = outcome;
  }
  return first ?? done;
}

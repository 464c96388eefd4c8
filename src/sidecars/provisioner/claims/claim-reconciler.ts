// The loop over claims, one key per attempt. Watches claims, classes and volumes; writes intents, in the ledger and on
// claims, and PersistentVolumes; never changes a claim of another provisioner.

import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from '../../../api/kinds.ts';
import { keyOf } from '../../../api/object.ts';
import { foreignNamespaceOf } from '../../../api/reference-grants.ts';
import { provisionerOf, selectedNodeOf, storageClassOf } from '../../../api/volumes.ts';
import { ReadYourWrites } from '../../../runtime/informer/read-your-writes.ts';
import { createLoop } from '../../../runtime/queue/create-loop.ts';
import { done, failed, type Outcome, type Run, requeueAfter } from '../../../runtime/queue/loop.ts';
import { sharedReconcile } from '../../../runtime/sharding/shares.ts';
import { attemptKey, claimOf, intentOn, mayBeAsked } from '../intents/intent.ts';
import { createIntentLedger } from '../intents/intent-ledger.ts';
import { volumeNameFor } from '../planning/volume-name.ts';
import type { ProvisionerContext } from '../provisioner-context.ts';
import { sourceKeyOf } from '../sources/data-source.ts';
import { Attempts, FORGET_AFTER_MS } from './attempts.ts';
import { type ClaimRun, type ClaimWork, dropIntent, inputsOf, isWanted, ownRecordOf } from './claim-work.ts';
import { cleanUpClaim } from './clean-up-claim.ts';
import { decideClaim, type ProvisioningStep } from './decide-claim.ts';
import { type ProvisionRun, provisionClaim } from './provision-claim.ts';
import { TAKE, takeClaim } from './take-claim.ts';
import { createVolumePlanner } from './volume-planner.ts';

const WAITING_BY_CLASS = 'provisioner/waiting-by-class';
const WAITING_BY_NAMESPACE = 'provisioner/waiting-by-foreign-namespace';

const lookLater = requeueAfter(FORGET_AFTER_MS + 1, 'the cache does not show its volume yet');

/** Its volume was recorded and is not shown: the watch may only be silent. */
const isWaiting = ({ claim, attempt }: ClaimRun): boolean =>
  attempt.known?.is === 'recorded' &&
  attempt.known.handle !== undefined &&
  claim !== undefined &&
  !claim.spec.volumeName &&
  !claim.metadata.deletionTimestamp;

export function createClaimReconciler(
  context: ProvisionerContext,
  releaseSource: ClaimWork['releaseSource'],
) {
  const { informers, flags, nodeName } = context;
  const claims = informers.of(persistentVolumeClaims);
  const classes = informers.of(storageClasses);
  const { shares } = context;
  const uidOf = (loopKey: string): string => loopKey.slice(loopKey.lastIndexOf('/') + 1);
  // No read from the server beforehand: with sharding the intent is written on the claim, and that fails when the cache is
  // behind what another replica wrote.
  const loop = createLoop({
    ...context.loop,
    name: 'claims',
    reconcile: sharedReconcile(shares, { ownerKey: uidOf }, reconcile),
  });
  const work: ClaimWork = {
    ...context,
    claims: new ReadYourWrites(claims),
    ledger: createIntentLedger(context, {
      found: (intent) => loop.add(attemptKey(intent)),
      left: (intent) => releaseSource(claimOf(intent)),
    }),
    attempts: new Attempts(context, (intent) => releaseSource(claimOf(intent))),
    planner: createVolumePlanner(context),
    releaseSource,
  };
  const { ledger, attempts } = work;
  const driver = context.driver.name;
  const node =
    nodeName === undefined
      ? undefined
      : { name: nodeName, takesImmediate: flags.nodeDeploymentImmediateBinding };

  const add = ({ metadata }: PersistentVolumeClaim): void => loop.add(attemptKey(metadata));
  const look = (claim: PersistentVolumeClaim): void => {
    if (isOpen(claim)) add(claim);
  };
  /** The claim may need work: it has no volume yet, or it still has an intent. */
  const isOpen = (claim: PersistentVolumeClaim): boolean =>
    provisionerOf(claim) === driver && mayBeAsked(claim);
  const isOurs = (claim: PersistentVolumeClaim): boolean =>
    provisionerOf(claim) === driver && (node === undefined || selectedNodeOf(claim) === node.name);

  claims.addIndex(WAITING_BY_CLASS, (claim) => (isOpen(claim) ? [storageClassOf(claim) ?? ''] : []));
  claims.addIndex(WAITING_BY_NAMESPACE, (claim) => {
    const namespace = isOpen(claim) ? foreignNamespaceOf(claim) : undefined;
    return namespace === undefined ? [] : [namespace];
  });
  context.grants.subscribe((namespace) => {
    for (const claim of claims.byIndex(WAITING_BY_NAMESPACE, namespace)) add(claim);
  });
  claims.subscribe({
    added: look,
    updated: (before, after) => {
      look(after);
      if (!mayBeAsked(before) || mayBeAsked(after) || !sourceKeyOf(after)) return;
      add(after);
      // At once: by the time of that run the claim may be gone, and then nobody would look at its source.
      if (isOurs(after)) releaseSource(after);
    },
    deleted: (claim) => {
      const { uid } = claim.metadata;
      // Another replica has finished what this one may have begun.
      const isOwner = shares?.owns(uid) ?? true;
      if (isOwner && (ledger.get(uid) || attempts.of(uid)?.is === 'asking')) add(claim);
      else attempts.delete(uid);
    },
  });
  shares?.beforeGain(async (before, after) => {
    // Other replicas have worked on these claims since.
    attempts.forget((uid) => after(uid) && !before(uid));
    await ledger.share(after);
  });
  shares?.onGain(() => {
    claims.list().forEach(look);
    for (const intent of ledger.all()) loop.add(attemptKey(intent));
  });
  const wake = ({ metadata: { name } }: StorageClass): void => {
    for (const claim of claims.byIndex(WAITING_BY_CLASS, name)) add(claim);
    for (const claim of ledger.all().map(claimOf)) if (storageClassOf(claim) === name) add(claim);
  };
  classes.subscribe({ added: wake, updated: (_before, after) => wake(after) });
  /** By UID, claims whose volume vanished. They may be gone, too, which a silent watch does not show. */
  const doubtful = new Set<string>();
  // After the attempts, which must have heard of it.
  informers.of(persistentVolumes).subscribe({
    deleted({ spec: { csi, claimRef } }) {
      const claim =
        csi?.driver === driver && claimRef ? claims.get(keyOf({ metadata: claimRef })) : undefined;
      if (!claim || claim.metadata.uid !== claimRef?.uid) return;
      doubtful.add(claim.metadata.uid);
      look(claim);
    },
  });
  claims.subscribe({ deleted: ({ metadata }) => doubtful.delete(metadata.uid) });

  async function reconcile(loopKey: string, { signal, retries, attempt }: Run): Promise<Outcome> {
    const run = runOver(loopKey, signal);
    const step = decideClaim(run);
    if (step.do === 'take') return retries.held(TAKE) ?? takeClaim(run, step, attempt);
    const isTry = step.do === 'provision' || step.do === 'clean-up' || step.do === 'refuse';
    const outcome = (isTry ? retries.held(run.inputs) : undefined) ?? (await perform(step, run));
    // A volume that was deleted in a gap of the watch is never shown, and nothing else would wake its claim.
    const isUnseen = outcome.kind === 'done' && attempts.of(run.uid)?.is === 'recorded';
    return isUnseen ? lookLater : outcome;
  }

  function runOver(loopKey: string, signal: AbortSignal): ClaimRun {
    const slash = loopKey.lastIndexOf('/');
    const key = loopKey.slice(0, slash);
    const uid = loopKey.slice(slash + 1);
    const found = work.claims.get(key);
    const claim = found?.metadata.uid === uid ? found : undefined;
    const inLedger = ledger.get(uid);
    const known = attempts.of(uid);
    const intent = inLedger ?? (known?.is === 'asking' ? known.asked?.intent : undefined);
    const subject = claim ?? (intent && claimOf(intent));
    const storageClass = subject && classes.get(storageClassOf(subject) ?? '');
    const name = volumeNameFor(uid, flags);
    return {
      work,
      key,
      uid,
      claim,
      driver,
      storageClass,
      volume: { name, claimUid: attempts.claimUidOf(name, uid) },
      attempt: { inLedger, onClaim: claim && intentOn(claim), known },
      node,
      inputs: inputsOf(claim, storageClass, claim && context.grants.allows(claim)),
      signal,
    };
  }

  async function perform(step: Exclude<ProvisioningStep, { do: 'take' }>, run: ClaimRun): Promise<Outcome> {
    const { claim, key, inputs } = run;
    switch (step.do) {
      case 'nothing':
        work.log.v(5).info('Nothing to do for a claim', { claim: key, why: step.why });
        return done;
      case 'drop-intent':
        if (!step.isRecorded && isWaiting(run)) {
          if (await ownRecordOf(run)) return lookLater;
          doubtful.add(run.uid);
        }
        await dropIntent(run);
        if (!step.isRecorded) return requeueAfter(0, 'nothing is left of the last attempt');
        if (claim) work.releaseSource(claim);
        return done;
      case 'release-source':
        if (claim) work.releaseSource(claim);
        return done;
      case 'provision':
        // Else each volume that is made for it is deleted, and vanishes again.
        if (doubtful.has(run.uid) && !(await isWanted(run))) return done;
        doubtful.delete(run.uid);
        return provisionClaim({ ...run, storageClass: step.storageClass } as ProvisionRun);
      case 'clean-up':
        return cleanUpClaim(run, step);
      case 'refuse':
        if (claim) work.recorder.event(claim, 'Warning', 'ProvisioningFailed', step.problem);
        return failed({ why: step.problem, slow: true, inputs });
      default:
        return step satisfies never;
    }
  }

  return {
    /**
     * Claims, also deleted ones, for which a call with this source may be made or repeated: also by whoever finds the intent
     * after a crash, unless it was ended and stays in a Lease that cannot be written: nothing can wait for that.
     * `releaseSource` is called when there is one less.
     */
    openFrom(sourceKey: string): PersistentVolumeClaim[] {
      // What another replica has taken over counts by its claim, which has the intent.
      const ours = [...attempts.openIntents()].filter(({ uid }) => shares?.owns(uid) ?? true);
      const open = [...ledger.findable(), ...ours].map(claimOf);
      return open.filter((claim) => sourceKeyOf(claim) === sourceKey);
    },
    open: (signal: AbortSignal) => ledger.open(signal),
    run: (signal: AbortSignal) => Promise.all([ledger.run(signal), loop.run(signal)]),
  };
}

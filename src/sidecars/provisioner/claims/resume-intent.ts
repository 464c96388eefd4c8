// Takes up an intent that stands in the ledger although nobody is asking the driver: left by an earlier process, or by a
// run of this one that came to no end. The caches may be behind, and somebody else's volume is at stake: it goes by the
// server's word alone.

import { type PersistentVolumeClaim, persistentVolumeClaims } from '../../../api/kinds.ts';
import { selectedNodeOf } from '../../../api/volumes.ts';
import { isNotFound } from '../../../runtime/kube/kube-error.ts';
import { done, type Outcome, requeueAfter } from '../../../runtime/queue/loop.ts';
import type { Intent } from '../intents/intent.ts';
import { CHANGED_MS } from './claim-intent.ts';
import { type ClaimWork, moveIntentToClaim } from './claim-work.ts';
import { type FollowContext, followIntent, isRecorded } from './follow-claim.ts';

/** `done` once it has left the ledger: the claim is then looked at as any other. */
export async function resumeIntent(
  work: ClaimWork,
  intent: Intent,
  context: FollowContext & { nodeName: string | undefined },
): Promise<Outcome> {
  const { volumeName, nodeName, signal } = context;
  if (await isRecorded(work, volumeName, intent.uid, signal)) {
    work.unrecorded.delete(`${intent.namespace}/${intent.name}`, intent.uid);
    work.ledger.end(intent.uid);
    return done;
  }
  const claim = await claimFor(work, intent, signal);
  // One that is another node's by now cannot be asked for there.
  if (!claim || (nodeName !== undefined && selectedNodeOf(claim) !== nodeName)) {
    return followIntent(work, intent, context);
  }
  if (await moveIntentToClaim(work, claim, intent, signal)) return done;
  return requeueAfter(CHANGED_MS, 'the claim changed');
}

/** Undefined when it is gone, or takes no finalizer any more. */
async function claimFor(
  work: ClaimWork,
  { namespace, name, uid }: Intent,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim | undefined> {
  try {
    const claim = await work.kube.get(persistentVolumeClaims, { namespace, name }, { signal });
    const isIt = claim.metadata.uid === uid && claim.metadata.deletionTimestamp === undefined;
    return isIt ? claim : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

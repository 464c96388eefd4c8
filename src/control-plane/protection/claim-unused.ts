// The condition `Unused` of bound claims: since when no pod that has not ended refers to the claim. Behind the gate
// PersistentVolumeClaimUnusedSinceTime. Before a claim is called unused the server is asked for pods, because the cache may
// lag. Watches claims and pods; writes that one condition.

import { type PersistentVolumeClaim, type Pod, persistentVolumeClaims } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf, isTerminated } from '../../api/volumes.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, type Loop, requeueAfter } from '../../runtime/queue/loop.ts';
import type { ControllerPorts } from '../controller.ts';
import { claimKeysOf, indexPodsByClaim, isMadeFor } from '../pods-by-claim.ts';
import type { LivePods } from './live-pods.ts';

const TYPE = 'Unused';
const WORKERS = 16;
const BACKOFF = { startMs: 50, maxMs: 60_000 };
/** A poll costs one list of the namespace's pods, and is needed only while the cache lags. */
const UNSEEN_MS = 5_000;

export function createUnusedCondition(
  ports: ControllerPorts,
  caches: { claims: Informer<PersistentVolumeClaim>; pods: Informer<Pod>; livePods: LivePods },
): Loop {
  const { kube, clock } = ports;
  const { claims, pods, livePods } = caches;
  const podsOf = indexPodsByClaim(pods);

  const loop = createLoop({
    ...ports,
    name: 'claim-unused',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const claim = claims.get(key);
      if (claim === undefined || !isTracked(claim)) return done;
      const { name, namespace = '', uid } = claim.metadata;
      const isSeen = podsOf(key).some((pod) => refersTo(pod, claim));
      const isUsed = isSeen || (await livePods.in(namespace, signal)).some((pod) => refersTo(pod, claim));
      // A watch that expires skips pods that come and go meanwhile, so no change of this one may ever be seen.
      const outcome = isUsed && !isSeen ? requeueAfter(UNSEEN_MS, 'an unseen pod uses the claim') : done;
      const status = isUsed ? 'False' : 'True';
      if (conditionOf(claim)?.status === status) return outcome;
      const condition = {
        type: TYPE,
        status,
        lastTransitionTime: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
        reason: isUsed ? 'PodUsingPVC' : 'NoPodsUsingPVC',
        message: isUsed
          ? 'A pod is currently referencing this PVC'
          : 'No pods are currently referencing this PVC',
      };
      // Merged by type: the conditions of others stay.
      const patch = { metadata: { uid }, status: { conditions: [condition] } };
      const how = { type: 'strategic', subresource: 'status', signal } as const;
      await ifThere(kube.patch(persistentVolumeClaims, { name, namespace }, patch, how));
      return outcome;
    },
  });

  const claimChanged = (claim: PersistentVolumeClaim): void => {
    if (isTracked(claim) && conditionOf(claim) === undefined) loop.add(keyOf(claim));
  };
  claims.subscribe({
    added: claimChanged,
    updated(before, claim) {
      claimChanged(claim);
      // What was written may have been decided before a pod came or went, and looked at again before the watch showed it.
      if (conditionOf(before)?.status !== conditionOf(claim)?.status) loop.add(keyOf(claim));
    },
  });
  const podChanged = (pod: Pod): void => {
    for (const key of claimKeysOf(pod)) loop.add(key);
  };
  pods.subscribe({
    added: podChanged,
    updated(before, pod) {
      if (before.metadata.uid !== pod.metadata.uid) podChanged(before);
      if (before.metadata.uid !== pod.metadata.uid || isTerminated(before) !== isTerminated(pod))
        podChanged(pod);
    },
    deleted: podChanged,
  });
  return loop;
}

/** Not before it is bound: the binder writes the same status. */
function isTracked({ metadata, status }: PersistentVolumeClaim): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase === 'Bound';
}

function conditionOf({ status }: PersistentVolumeClaim) {
  return status?.conditions?.find(({ type }) => type === TYPE);
}

/** Also a pod without a node. */
function refersTo(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (isTerminated(pod) || pod.metadata.namespace !== claim.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some(
    (volume) =>
      claimNameOf(pod, volume) === claim.metadata.name && (!volume.ephemeral || isMadeFor(claim, pod)),
  );
}

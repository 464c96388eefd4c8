// Keeps claims from being deleted while pods use them: a finalizer on every claim, removed once the claim is being
// deleted and no scheduled pod uses it. The server is asked for pods, because a pod that the cache has not seen may
// already be running. Watches claims and pods; writes that one finalizer.

import { type PersistentVolumeClaim, type Pod, persistentVolumeClaims, pods } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf } from '../../api/volumes.ts';
import { FINALIZER_PVC_PROTECTION } from '../../api/well-known.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, requeueAfter } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { claimKeysOf, indexPodsByClaim, isMadeFor } from '../pods-by-claim.ts';
import { createUnusedCondition } from './claim-unused.ts';
import { decideProtection, withFinalizer, withoutFinalizer } from './decide-protection.ts';
import { LivePods } from './live-pods.ts';

const WORKERS = 16;
const BACKOFF = { startMs: 50, maxMs: 60_000 };
/** A poll costs one list of the namespace's pods, and is needed only while the cache lags. */
const UNSEEN_MS = 5_000;

export function createClaimProtection(ports: ControllerPorts): Controller {
  const { kube, informers } = ports;
  const log = ports.log.with({ controller: 'pvc-protection' });
  const claims = informers.of(persistentVolumeClaims);
  const podCache = informers.of(pods);
  const podsOf = indexPodsByClaim(podCache);
  const livePods = new LivePods(kube);
  const unused = ports.gates?.PersistentVolumeClaimUnusedSinceTime
    ? createUnusedCondition({ ...ports, log }, { claims, pods: podCache, livePods })
    : undefined;

  const loop = createLoop({
    ...ports,
    log,
    name: 'claim-protection',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const claim = claims.get(key);
      if (!claim) return done;
      switch (decideProtection(claim, FINALIZER_PVC_PROTECTION)) {
        case 'add':
          await kube.update(persistentVolumeClaims, withFinalizer(claim, FINALIZER_PVC_PROTECTION), {
            signal,
          });
          return done;
        case 'remove-if-unused':
          // Its change wakes the claim.
          if (podsOf(key).some((pod) => uses(pod, claim))) return done;
          // A watch that expires skips pods that come and go meanwhile, so no change of this one may ever be seen.
          if (await isUsedLive(claim, signal)) return requeueAfter(UNSEEN_MS, 'an unseen pod uses the claim');
          await kube.update(persistentVolumeClaims, withoutFinalizer(claim, FINALIZER_PVC_PROTECTION), {
            signal,
          });
          log.v(2).info('Removed the protection finalizer of an unused claim', { claim: key });
          return done;
        case 'leave':
          return done;
      }
    },
  });

  async function isUsedLive(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<boolean> {
    const live = await livePods.in(claim.metadata.namespace ?? '', signal);
    return live.some((pod) => uses(pod, claim));
  }

  const claimChanged = (claim: PersistentVolumeClaim): void => {
    if (decideProtection(claim, FINALIZER_PVC_PROTECTION) !== 'leave') loop.add(keyOf(claim));
  };
  claims.subscribe({ added: claimChanged, updated: (_before, claim) => claimChanged(claim) });
  const podChanged = (pod: Pod): void => {
    for (const key of claimKeysOf(pod)) {
      if (claims.get(key)?.metadata.deletionTimestamp) loop.add(key);
    }
  };
  podCache.subscribe({ updated: (_before, pod) => podChanged(pod), deleted: podChanged });

  return {
    name: 'persistentvolumeclaim-protection-controller',
    async run(signal) {
      if (!(await cachesSynced([claims, podCache], signal))) return;
      await Promise.all([loop.run(signal), unused?.run(signal)]);
    },
  };
}

/** A pod without a node does not run, and a kubelet starts no pod whose claim is being deleted. */
function uses(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec.nodeName || pod.metadata.namespace !== claim.metadata.namespace) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (claimNameOf(pod, volume) !== claim.metadata.name) return false;
    // A claim that only has the name of the pod's ephemeral claim is not the pod's.
    return !volume.ephemeral || (isMadeFor(claim, pod) && !isShutDown(pod));
  });
}

/**
 * Its node has unpublished its volumes and deleted it with no grace period, or it was force-deleted. A finalizer may keep it
 * until the claims that it owns are gone (foreground deletion): they must not wait for it in turn.
 */
const isShutDown = ({ metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;

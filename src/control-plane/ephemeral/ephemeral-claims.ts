// Generic ephemeral volumes: creates the claim for each volume of a pod that has a claim template. The pod owns the
// claim, so the garbage collector deletes it with the pod. A claim of that name with another owner is never used.
// Watches pods and claims; creates claims.

import {
  type PersistentVolumeClaim,
  type Pod,
  type PodVolume,
  persistentVolumeClaims,
  pods,
} from '../../api/kinds.ts';
import { type Draft, keyOf } from '../../api/object.ts';
import { claimNameOf, isTerminated } from '../../api/volumes.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { isAlreadyExists } from '../../runtime/kube/kube-error.ts';
import { createLoop } from '../../runtime/queue/create-loop.ts';
import { done, failed } from '../../runtime/queue/loop.ts';
import { cachesSynced } from '../caches-synced.ts';
import type { Controller, ControllerPorts } from '../controller.ts';
import { indexPodsByClaim, isMadeFor } from '../pods-by-claim.ts';

const WORKERS = 16;
const BACKOFF = { startMs: 100, maxMs: 60_000 };

/** The cache may never show that claim, if it is deleted first: then its deletion is no event. */
const claimIsUnseen = failed({ why: 'the cache does not show a claim yet', quiet: true });

export function createEphemeralClaims(ports: ControllerPorts): Controller {
  const { kube, informers, recorder } = ports;
  const log = ports.log.with({ controller: 'ephemeral-volume' });
  const podCache = informers.of(pods);
  const claims = informers.of(persistentVolumeClaims);
  const podsOf = indexPodsByClaim(podCache);

  const loop = createLoop({
    ...ports,
    log,
    name: 'ephemeral-claims',
    workers: WORKERS,
    backoff: BACKOFF,
    async reconcile(key, { signal }) {
      const pod = podCache.get(key);
      if (!pod || !isWanting(pod)) return done;
      let isUnseen = false;
      for (const volume of pod.spec.volumes ?? []) {
        const draft = claimFor(pod, volume);
        if (!draft) continue;
        const existing = claims.get(keyOf(draft)) ?? (await create(pod, volume, draft, signal));
        if (!isMadeFor(existing, pod)) reportForeign(pod, volume, existing);
        isUnseen ||= claims.get(keyOf(draft)) === undefined;
      }
      return isUnseen ? claimIsUnseen : done;
    },
  });

  /** The new claim, or the one of that name that the server has already. */
  async function create(
    pod: Pod,
    volume: PodVolume,
    draft: Draft<PersistentVolumeClaim>,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const { name = '', namespace = '' } = draft.metadata;
    try {
      return await kube.create(persistentVolumeClaims, draft, { signal });
    } catch (error) {
      if (isAlreadyExists(error)) return kube.get(persistentVolumeClaims, { name, namespace }, { signal });
      const message = `ephemeral volume ${volume.name}: create PVC ${name}: ${errorMessage(error)}`;
      if (!signal.aborted) recorder.event(pod, 'Warning', 'FailedBinding', message);
      throw error;
    }
  }

  /** Once the cache shows that claim, its deletion enqueues the pod again. */
  function reportForeign(pod: Pod, volume: PodVolume, claim: PersistentVolumeClaim): void {
    const message = `ephemeral volume ${volume.name}: PVC ${keyOf(claim)} was not created for pod ${keyOf(pod)} (pod is not owner)`;
    recorder.event(pod, 'Warning', 'FailedBinding', message);
  }

  const look = (pod: Pod): void => {
    if (isWanting(pod)) loop.add(keyOf(pod));
  };
  podCache.subscribe({ added: look, updated: (_before, after) => look(after) });
  claims.subscribe({
    deleted: (claim) => {
      for (const pod of podsOf(keyOf(claim))) look(pod);
    },
  });

  return {
    name: 'ephemeral-volume-controller',
    async run(signal) {
      if (await cachesSynced([podCache, claims], signal)) await loop.run(signal);
    },
  };
}

function isWanting(pod: Pod): boolean {
  if (pod.metadata.deletionTimestamp || isTerminated(pod)) return false;
  return (pod.spec.volumes ?? []).some(({ ephemeral }) => ephemeral?.volumeClaimTemplate !== undefined);
}

/** The claim of an ephemeral volume; undefined for other kinds of volumes. */
function claimFor(pod: Pod, volume: PodVolume): Draft<PersistentVolumeClaim> | undefined {
  const template = volume.ephemeral?.volumeClaimTemplate;
  const { namespace = '', name, uid } = pod.metadata;
  if (!template) return undefined;
  const { labels, annotations } = template.metadata ?? {};
  return {
    metadata: {
      name: claimNameOf(pod, volume) ?? '',
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: template.spec,
  };
}

// Writes the status of this node's pods, and deletes a terminating pod from the API once its volumes are unmounted. The
// only writer of pods on this node.

import { dirname } from 'node:path';
import { type Pod, pods } from '../../api/kinds.ts';
import { keyOf, nameFromKey } from '../../api/object.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../api/well-known.ts';
import { UnsafePathError, type VolumeFiles } from '../../csi-plugin/mount/volume-files.ts';
import type { VolumePaths } from '../../csi-plugin/mount/volume-paths.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import { ReadYourWrites } from '../../runtime/informer/read-your-writes.ts';
import { ifThere } from '../../runtime/kube/if-there.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { isConflict, isNotFound } from '../../runtime/kube/kube-error.ts';
import type { Log } from '../../runtime/ports.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import type { VolumeManager } from '../volume-manager/volume-manager.ts';
import type { GracePeriods } from './grace-periods.ts';
import { podNeed } from './pod-phase.ts';
import { podStatusPatch, versionOf } from './pod-status.ts';

/** A first status is delayed by this: with a fast driver a pod is Running within 100 ms, and one write is enough. */
const PATIENCE_MS = 200;

export interface PodLifecycle {
  /** Something about this pod's volumes has changed. */
  changed(podKey: string): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createPodLifecycle(
  ports: LoopPorts & {
    kube: KubeClient;
    pods: Informer<Pod>;
    volumes: Pick<VolumeManager, 'stateOf' | 'isClear'>;
    gracePeriods: GracePeriods;
    files: VolumeFiles;
    paths: VolumePaths;
  },
): PodLifecycle {
  const { kube, volumes, gracePeriods, files, paths, clock, log } = ports;
  /** Pods without a status so far, and since when. */
  const newSinceMs = new Map<string, number>();
  // Read-your-writes: against a stale cache the same status would be written again.
  const latest = new ReadYourWrites(ports.pods);

  const loop: Loop = createLoop({
    ...ports,
    log,
    name: 'pod-lifecycle',
    workers: 32,
    backoff: { startMs: 200, maxMs: 30_000, jitter: 0.1 },
    async reconcile(key, { signal }) {
      const pod = latest.get(key);
      if (!pod) return done;
      const need = podNeed(pod, gracePeriods.leftMs(pod));
      if (need.kind === 'nothing') return await finish(pod, signal);
      const patienceMs = reportPatienceMs(pod);
      if (patienceMs > 0) return requeueAfter(patienceMs, 'its volumes may be mounted in a moment');
      const again = await report(pod, signal);
      if (again) return again;
      return need.leftMs === undefined
        ? done
        : requeueAfter(Math.max(1, need.leftMs), "the pod's grace period ends then");
    },
  });

  /** How long to wait before a new pod's Pending status is written: most are Running before that. */
  function reportPatienceMs(pod: Pod): number {
    const { uid } = pod.metadata;
    const isNew = pod.status?.startTime === undefined && !pod.metadata.deletionTimestamp;
    if (!isNew || volumes.stateOf(pod)?.ready !== false) {
      newSinceMs.delete(uid);
      return 0;
    }
    const nowMs = clock.monotonicMs();
    const sinceMs = newSinceMs.get(uid) ?? nowMs;
    newSinceMs.set(uid, sinceMs);
    return sinceMs + PATIENCE_MS - nowMs;
  }

  async function report(pod: Pod, signal: AbortSignal): Promise<Outcome | undefined> {
    const state = volumes.stateOf(pod);
    const patch = state && podStatusPatch(pod, state, clock.now());
    return patch && (await write(pod, patch, signal));
  }

  async function finish(pod: Pod, signal: AbortSignal): Promise<Outcome> {
    // The unmount of its last volume wakes this loop again.
    if (!volumes.isClear(pod.metadata.uid)) return done;
    await removePodDirectory(files, paths, pod.metadata.uid, log);
    if (pod.metadata.deletionTimestamp) {
      const { name, namespace, uid } = pod.metadata;
      try {
        await kube.delete(
          pods,
          { name, ...(namespace !== undefined && { namespace }) },
          { gracePeriodSeconds: 0, preconditions: { uid }, signal },
        );
      } catch (error) {
        // Deleted, or replaced by another pod of the same name.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    } else if (pod.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] !== undefined) {
      const metadata = { ...versionOf(pod), annotations: { [ANN_PUBLISHED_VOLUMES]: null } };
      return (await write(pod, { metadata }, signal)) ?? done;
    }
    return done;
  }

  /** Returns when to look again if the pod has changed meanwhile: then the newest version decides, not a late cache. */
  async function write(pod: Pod, patch: object, signal: AbortSignal): Promise<Outcome | undefined> {
    const name = nameFromKey(keyOf(pod));
    try {
      const options = { subresource: 'status', type: 'strategic', signal } as const;
      latest.wrote(await kube.patch(pods, name, patch, options));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error)) throw error;
      const newest = await ifThere(kube.get(pods, name, { signal }));
      // Another one of that name may be on another node.
      if (newest?.metadata.uid !== pod.metadata.uid) return undefined;
      if (newest.metadata.resourceVersion === pod.metadata.resourceVersion) throw error;
      latest.wrote(newest);
      return requeueAfter(0, 'the pod has changed');
    }
    return undefined;
  }

  return {
    changed: (podKey) => loop.add(podKey),
    async run(signal) {
      const add = (pod: Pod) => loop.add(keyOf(pod));
      const stop = ports.pods.subscribe({
        added: add,
        updated: (_before, pod) => add(pod),
        deleted({ metadata: { uid } }) {
          newSinceMs.delete(uid);
          gracePeriods.forget(uid);
        },
      });
      try {
        await loop.run(signal);
      } finally {
        stop();
      }
    },
  };
}

/** Removes empty directories only; foreign content stays and is logged. */
export async function removePodDirectory(
  files: VolumeFiles,
  paths: VolumePaths,
  podUid: string,
  log: Log,
): Promise<void> {
  const { filesystem, block } = paths.podVolumes(podUid);
  const directories = [filesystem, dirname(filesystem), block, dirname(block), paths.podDir(podUid)];
  try {
    for (const directory of directories) await files.removeDirectory(directory);
  } catch (error) {
    if (!(error instanceof UnsafePathError)) throw error;
    log.warn('the directory of a deleted pod is not empty and is kept', { podUid, why: error.message });
  }
}

// Fills the desired state from the pods of this node. A resolved pod is not resolved again; an unresolved one is
// retried when its claims change, and with backoff.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { claimNameOf } from '../../api/volumes.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, failed, type Loop, type Outcome, type Run, requeueAfter } from '../../runtime/queue/loop.ts';
import type { GracePeriods } from '../pod/grace-periods.ts';
import { podNeed } from '../pod/pod-phase.ts';
import { waitText } from '../pod/pod-status.ts';
import type { ClaimWatches } from './claim-watches.ts';
import type { DesiredMount, DesiredState } from './desired-state.ts';
import type { PodWaits } from './pod-waits.ts';
import { OPERATION_BACKOFF } from './reconciler.ts';
import { resolveVolumes } from './resolve-volumes.ts';

/** A claim is often bound a moment after its pod is scheduled: the first failures are not reported. */
const QUIET_FAILURES = 2;

export interface Populator {
  /** Processes the pod again, at once. */
  retry(podUid: string): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createPopulator(
  ports: LoopPorts & {
    kube: KubeClient;
    pods: Informer<Pod>;
    gracePeriods: GracePeriods;
    driverObject(name: string): CSIDriver | undefined;
    seLinuxLabel(mount: DesiredMount): string | undefined;
    desired: DesiredState;
    waits: PodWaits;
    claims: ClaimWatches;
    recorder: EventRecorder;
    /** The desired state of these volumes, and of all that is mounted for the pod, has changed. */
    volumesChanged(podUid: string, keys: Iterable<string>): void;
    /** The desired state of this pod has changed. */
    podChanged(podKey: string): void;
    podGone(podUid: string): void;
    /** Every pod that existed at the start has been resolved once. */
    populated(): void;
  },
): Populator {
  const { desired, waits, claims } = ports;
  const uidByKey = new Map<string, string>();
  const keyByUid = new Map<string, string>();
  const unseen = new Set<string>();

  const loop: Loop = createLoop({
    ...ports,
    name: 'volume-populator',
    workers: 32,
    backoff: OPERATION_BACKOFF,
    async reconcile(key, run) {
      try {
        return await reconcile(key, run);
      } finally {
        if (!run.signal.aborted) seen(key);
      }
    },
  });

  function seen(key: string): void {
    if (!unseen.delete(key) || unseen.size > 0) return;
    ports.populated();
  }

  async function reconcile(key: string, run: Run): Promise<Outcome> {
    const pod = ports.pods.get(key);
    const known = uidByKey.get(key);
    if (known !== undefined && known !== pod?.metadata.uid) forget(key, known);
    if (!pod) return done;
    const { uid } = pod.metadata;
    uidByKey.set(key, uid);
    keyByUid.set(uid, key);
    const need = podNeed(pod, ports.gracePeriods.leftMs(pod));
    if (need.kind === 'nothing') {
      leave(uid);
      ports.podChanged(key);
      return done;
    }
    const outcome = desired.pod(uid)?.resolved ? refresh(pod) : await resolve(pod, run);
    if (need.leftMs === undefined || outcome.kind !== 'done') return outcome;
    return requeueAfter(Math.max(1, need.leftMs), "the pod's grace period ends then");
  }

  /** A pod's volumes are immutable; operations get its other fields as they are now. */
  function refresh(pod: Pod): Outcome {
    const before = desired.pod(pod.metadata.uid);
    if (before && before.pod !== pod) {
      const mounts = new Map([...before.mounts].map(([name, mount]) => [name, { ...mount, pod }]));
      desired.set({ pod, resolved: true, mounts });
    }
    return done;
  }

  async function resolve(pod: Pod, { signal, attempt, retries }: Run): Promise<Outcome> {
    const { uid } = pod.metadata;
    const held = desired.pod(uid) && retries.held(uid);
    if (held) return held;
    const { mounts, claims: read, problems } = await resolveVolumes(ports, pod, signal);
    signal.throwIfAborted();
    // Deleted or replaced meanwhile: that has queued another run.
    if (ports.pods.get(keyOf(pod))?.metadata.uid !== uid) return done;
    for (const volume of pod.spec.volumes ?? []) {
      const claimName = claimNameOf(pod, volume);
      const claimKey = `${pod.metadata.namespace}/${claimName}`;
      if (claimName !== undefined) claims.follow(claimKey, uid, read.get(claimKey));
    }
    const current = ports.pods.get(keyOf(pod)) ?? pod;
    const resolved = problems.size === 0;
    ports.volumesChanged(uid, desired.set({ pod: current, resolved, mounts }));
    const names = (pod.spec.volumes ?? []).map(({ name }) => name);
    waits.clear(
      uid,
      names.filter((name) => !problems.has(name)),
    );
    for (const [name, { why }] of problems) waits.set(uid, [name], why);
    ports.podChanged(keyOf(pod));
    if (resolved) return done;
    const quiet = attempt < QUIET_FAILURES;
    if (!quiet) {
      for (const { event } of problems.values()) ports.recorder.event(pod, 'Warning', 'FailedMount', event);
    }
    return failed({ why: waitText(waits.of(uid)), inputs: uid, quiet });
  }

  function leave(uid: string): void {
    claims.release(uid);
    if (!desired.pod(uid)) return;
    ports.volumesChanged(uid, desired.remove(uid));
    waits.forget(uid);
  }

  function forget(key: string, uid: string): void {
    leave(uid);
    keyByUid.delete(uid);
    if (uidByKey.get(key) === uid) uidByKey.delete(key);
    ports.podGone(uid);
  }

  return {
    retry(podUid) {
      const key = keyByUid.get(podUid);
      if (key === undefined || desired.pod(podUid)?.resolved) return;
      loop.forget(key);
      loop.add(key);
    },
    async run(signal) {
      for (const pod of ports.pods.list()) unseen.add(keyOf(pod));
      if (unseen.size === 0) ports.populated();
      const add = (pod: Pod) => loop.add(keyOf(pod));
      const stop = ports.pods.subscribe({ added: add, updated: (_before, pod) => add(pod), deleted: add });
      try {
        await loop.run(signal);
      } finally {
        stop();
        claims.stopAll();
      }
    },
  };
}

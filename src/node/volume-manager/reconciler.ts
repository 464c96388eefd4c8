// Moves volumes from actual to desired state. One loop key per volume, so one operation at a time on a volume. Each
// operation has its own backoff: an unpublish that keeps failing does not delay the publish for another pod.

import type { CSIDriver, Pod } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import type { MountableVolume } from '../../csi-plugin/mount/mountable-volume.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createLoop, type LoopPorts } from '../../runtime/queue/create-loop.ts';
import { done, type Loop, type Outcome, requeueAfter } from '../../runtime/queue/loop.ts';
import type { Retries } from '../../runtime/queue/retries.ts';
import type { BackoffPolicy } from '../../runtime/time/backoff.ts';
import type { ActualMount, ActualState } from './actual-state.ts';
import { decideVolume, type Step, type WaitForPod } from './decide-volume.ts';
import type { DesiredMount, DesiredState } from './desired-state.ts';
import { failureEvent, type MountStep, type PodEvent, waitEvent } from './operation-events.ts';
import { NoLongerWantedError, type Perform, type Performed } from './operations.ts';
import type { PodWaits } from './pod-waits.ts';

/** The number of workers. Calls to a driver that hangs take two minutes each; other drivers must not wait for them. */
const WORKERS = 1000;
/** For requiresRepublish: the kubelet's pod sync period. */
const REPUBLISH_MS = 60_000;
/** The kubelet's backoff per operation. */
export const OPERATION_BACKOFF: BackoffPolicy = { startMs: 500, maxMs: 122_000 };
/** Attach takes a moment, and drivers register after the node starts: no warning and no event before this time. */
const QUIET_WAITS = 4;

export interface Reconciler {
  add(volumeKey: string): void;
  /** Resets the backoff and runs at once. */
  retry(volumeKey: string): void;
  run(signal: AbortSignal): Promise<void>;
}

export function createReconciler(
  ports: LoopPorts & {
    desired: DesiredState;
    actual: ActualState;
    waits: PodWaits;
    perform: Perform;
    driverObject(name: string): CSIDriver | undefined;
    needsStaging(volume: MountableVolume): boolean;
    growsTo(mount: DesiredMount): string | undefined;
    recorder: EventRecorder;
    /** Includes pods that are being deleted. */
    podByUid(uid: string): Pod | undefined;
    /** Something was mounted or unmounted for this pod. */
    podChanged(podUid: string): void;
    /** The volumes in use may have changed. */
    useChanged(): void;
  },
): Reconciler {
  const { desired, actual, waits, clock, log } = ports;
  const duration = ports.metrics?.histogram({
    name: 'storage_operation_duration_seconds',
    help: 'Storage operation duration',
    labelNames: ['operation_name', 'status'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  });

  const loop: Loop = createLoop({
    ...ports,
    log,
    name: 'volume-reconciler',
    workers: WORKERS,
    backoff: OPERATION_BACKOFF,
    reconcile: (key, { signal, retries }) => reconcile(key, retries, signal),
  });

  function steps(key: string): Step[] {
    return decideVolume({
      desired: desired.mountsOf(key),
      actual: actual.get(key),
      podOf: (uid) => desired.pod(uid),
      isPopulated: desired.isPopulated,
      isRepublishDue: (mount) => republishInMs(mount) <= 0,
      needsStaging: ports.needsStaging,
      growsTo: ports.growsTo,
    });
  }

  function republishInMs(mount: ActualMount): number {
    if (ports.driverObject(mount.volume.driver)?.spec.requiresRepublish !== true)
      return Number.POSITIVE_INFINITY;
    return mount.publishedAtMs + REPUBLISH_MS - clock.monotonicMs();
  }

  async function reconcile(key: string, retries: Retries, signal: AbortSignal): Promise<Outcome> {
    for (;;) {
      const pending = steps(key);
      retries.keepOnly(new Set(pending.map(({ id }) => id)));
      const next = pending.find(({ id }) => retries.waitMs({ operation: id }) === 0);
      if (next === undefined) return whenToLookAgain(key, pending, retries);
      if (next.kind === 'wait-for-pod') waitForPod(next, retries);
      else await performOne(key, next, retries, signal);
      signal.throwIfAborted();
    }
  }

  async function performOne(
    key: string,
    step: MountStep,
    retries: Retries,
    signal: AbortSignal,
  ): Promise<void> {
    const startedMs = clock.monotonicMs();
    let status = 'success';
    try {
      const result = await ports.perform(step, key, signal);
      if (result.kind === 'done') {
        retries.succeeded(step.id);
        log.v(2).info('volume operation done', { operation: step.kind, volume: key });
      } else {
        status = 'fail-unknown';
        notBegun(key, step, result, retries);
      }
    } catch (error) {
      signal.throwIfAborted();
      status = 'fail-unknown';
      if (!(error instanceof NoLongerWantedError)) failed(key, step, error, retries);
    } finally {
      duration?.observe(
        { operation_name: NAMES[step.kind], status },
        (clock.monotonicMs() - startedMs) / 1000,
      );
    }
    if (step.kind === 'set-up' && status === 'success')
      waits.clear(step.mount.pod.metadata.uid, step.mount.volumeNames);
    const podUid = podUidOf(step);
    if (podUid !== undefined) ports.podChanged(podUid);
    ports.useChanged();
  }

  function failed(key: string, step: MountStep, error: unknown, retries: Retries): void {
    const retryInMs = Math.round(retries.failed({ operation: step.id }));
    const why = errorMessage(error);
    log.warn('a volume operation failed and will be tried again', {
      operation: step.kind,
      volume: key,
      retryInMs,
      why,
    });
    setWait(step, why);
    tellPod(step, failureEvent(step, why));
  }

  /** A precondition of the step is missing. */
  function notBegun(
    key: string,
    step: MountStep,
    result: Exclude<Performed, { kind: 'done' }>,
    retries: Retries,
  ): void {
    const retryInMs = Math.round(retries.failed({ operation: step.id }));
    const isLong = retries.failures(step.id) >= QUIET_WAITS;
    const fields = { operation: step.kind, volume: key, retryInMs, why: result.why };
    if (isLong && result.kind === 'no-driver') log.warn('a volume operation waits for its driver', fields);
    else log.v(2).info('a volume operation waits', fields);
    setWait(step, result.why);
    tellPod(step, waitEvent(step, result, isLong));
  }

  /** Not for republish and expansion: the pod does not wait for those. */
  function setWait(step: MountStep, why: string): void {
    if (step.kind === 'mount-device' || (step.kind === 'set-up' && !step.again))
      waits.set(step.mount.pod.metadata.uid, step.mount.volumeNames, why);
  }

  function tellPod(step: MountStep, event: PodEvent | undefined): void {
    if (!event || step.kind === 'unmount-device') return;
    const pod = step.kind === 'tear-down' ? ports.podByUid(step.mount.podUid) : step.mount.pod;
    if (pod) ports.recorder.event(pod, 'Warning', event.reason, event.message);
  }

  function waitForPod({ id, mount, otherPodUid, because }: WaitForPod, retries: Retries): void {
    retries.failed({ operation: id });
    const other = ports.podByUid(otherPodUid);
    const holder = `pod ${other ? keyOf(other) : `with UID ${otherPodUid}`}`;
    const { specName, seLinuxLabel } = mount.volume;
    const how = {
      exclusive: `is ReadWriteOncePod and ${holder} has it`,
      label:
        `is mounted for ${holder} with another SELinux label than ` +
        `${seLinuxLabel ?? 'the default one'}, which this pod needs`,
      place:
        `is mounted for ${holder} through another PersistentVolume with the same volumeHandle, ` +
        'or in the other volume mode',
    };
    const why = `volume ${specName} ${how[because]}; waiting for that pod to end`;
    waits.set(mount.pod.metadata.uid, mount.volumeNames, why);
    ports.recorder.event(mount.pod, 'Warning', 'FailedMount', why);
  }

  function whenToLookAgain(key: string, pending: readonly Step[], retries: Retries): Outcome {
    const waits = pending.map(({ id }) => retries.waitMs({ operation: id }));
    const retryMs = Math.min(...waits, Number.POSITIVE_INFINITY);
    const republishMs = nextRepublishInMs(key, pending);
    if (pending.length > 0 && retryMs <= republishMs)
      return requeueAfter(retryMs, `${pending[0]?.kind} is to be tried again`);
    if (republishMs !== Number.POSITIVE_INFINITY)
      return requeueAfter(Math.max(1, republishMs), 'the driver wants to publish again');
    return done;
  }

  /** Of the mounts that need it later. One that is due is pending, or its staging, and waits for a retry. */
  function nextRepublishInMs(key: string, pending: readonly Step[]): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [id, wanted] of desired.mountsOf(key)) {
      const mount = actual.get(key)?.mounts.get(id);
      const isPending = pending.some(
        (step) => (step.kind === 'set-up' || step.kind === 'mount-device') && step.mount === wanted,
      );
      if (mount?.state === 'mounted' && !isPending) nextMs = Math.min(nextMs, republishInMs(mount));
    }
    return nextMs;
  }

  return {
    add: (key) => loop.add(key),
    retry(key) {
      loop.forget(key);
      loop.add(key);
    },
    run: (signal) => loop.run(signal),
  };
}

const NAMES: Record<MountStep['kind'], string> = {
  'tear-down': 'volume_unmount',
  'unmount-device': 'unmount_device',
  'mount-device': 'volume_mount_device',
  'set-up': 'volume_mount',
  expand: 'volume_fs_resize',
};

function podUidOf(step: Step): string | undefined {
  if (step.kind === 'tear-down') return step.mount.podUid;
  return step.kind === 'unmount-device' ? undefined : step.mount.pod.metadata.uid;
}

// Rejects pods whose node has reached its volume limit. Such a pod can only run elsewhere, so it is rejected, as by a
// kubelet, and its controller creates another. Only after a while: a volume that is being detached counts for a moment
// longer.

import type { DriverName } from '../../csi/names/driver-name.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { PodRejection } from '../pod/pod-status.ts';
import type { DesiredMount, DesiredState } from './desired-state.ts';
import type { Performed } from './operations.ts';

/** The kubelet's time-out for the volumes of a pod, after which it checks the volume limit. */
const PATIENCE_MS = 2 * 60_000 + 3_000;

export interface AttachLimit {
  /** The result of an operation on the volume. */
  observe(volumeKey: string, result: Performed, signal: AbortSignal): Promise<void>;
  rejection(podUid: string): PodRejection | undefined;
  forget(podUid: string): void;
}

export function createAttachLimit(ports: {
  desired: DesiredState;
  recorder: EventRecorder;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Updates the driver's volume limit in CSINode. */
  readAllocatable(driver: DriverName, signal: AbortSignal): Promise<void>;
  podChanged(podUid: string): void;
}): AttachLimit {
  const { desired, clock } = ports;
  /** Since when the node has been full, by volume and then by pod. */
  const fullSinceMs = new Map<string, Map<string, number>>();
  const rejections = new Map<string, PodRejection>();

  function isOver(volumeKey: string, { pod }: DesiredMount): boolean {
    const pods = fullSinceMs.get(volumeKey) ?? new Map<string, number>();
    const nowMs = clock.monotonicMs();
    const sinceMs = pods.get(pod.metadata.uid) ?? nowMs;
    fullSinceMs.set(volumeKey, pods.set(pod.metadata.uid, sinceMs));
    return nowMs - sinceMs >= PATIENCE_MS && pod.status?.phase !== 'Running';
  }

  function reject({ pod, volumeNames }: DesiredMount, why: string): void {
    const names = volumeNames.join(' ');
    const message =
      'Node has reached its volume attachment limit, rejecting pod. ' +
      `unmounted volumes=[${names}], unattached volumes=[${names}], failed to process volumes=[]: ${why}`;
    const reason = 'VolumeAttachmentLimitExceeded';
    rejections.set(pod.metadata.uid, { reason, message: `Pod was rejected: ${message}` });
    ports.recorder.event(pod, 'Warning', reason, message);
    ports.podChanged(pod.metadata.uid);
  }

  return {
    async observe(volumeKey, result, signal) {
      if (result.kind !== 'attach-failed' || !result.isNodeFull) {
        fullSinceMs.delete(volumeKey);
        return;
      }
      const mounts = [...desired.mountsOf(volumeKey).values()];
      const over = mounts.filter(
        (mount) => isOver(volumeKey, mount) && !rejections.has(mount.pod.metadata.uid),
      );
      const driver = over[0]?.volume.driver;
      if (driver === undefined) return;
      // First: the replacement of this pod must not be scheduled here again.
      await ports.readAllocatable(driver, signal);
      for (const mount of over) reject(mount, result.why);
    },
    rejection: (podUid) => rejections.get(podUid),
    forget(podUid) {
      rejections.delete(podUid);
      for (const { volume } of desired.pod(podUid)?.mounts.values() ?? [])
        fullSinceMs.get(volumeKeyOf(volume))?.delete(podUid);
    },
  };
}

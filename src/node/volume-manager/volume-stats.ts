// Volume statistics: calls NodeGetVolumeStats for the mounted volumes of each pod, periodically, and serves the answers as
// the kubelet's `kubelet_volume_stats_*` gauges. An abnormal condition is an Event on the pod. Reads desired and actual
// state, changes neither. As in the kubelet, a call does not hold up the volume's other operations: it may hang on a dead
// server, and the volume must still be unmounted.

import { VolumeUsage_Unit as Unit } from '../../csi/generated/csi/v1/csi_pb.ts';
import { nodeClient } from '../../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Timer } from '../../runtime/ports.ts';
import type { LoopPorts } from '../../runtime/queue/create-loop.ts';
import type { DriverRegistry } from '../registration/driver-registry.ts';
import type { ActualState } from './actual-state.ts';
import type { DesiredMount, DesiredState } from './desired-state.ts';
import { type ClaimStats, claimGauges } from './volume-stats-gauges.ts';

/** The kubelet's default of `volumeStatsAggPeriod`. */
export const STATS_PERIOD_MS = 60_000;

export interface VolumeStats {
  /** The pod is gone: stops asking for its volumes and removes their gauges. */
  forget(podUid: string): void;
  /** Starts asking. Returns the function that stops it. */
  start(signal: AbortSignal): () => void;
}

export function createVolumeStats(
  ports: LoopPorts & {
    desired: DesiredState;
    actual: ActualState;
    registry: DriverRegistry;
    recorder: EventRecorder;
    /** Zero or less: never. */
    statsPeriodMs: number;
  },
): VolumeStats {
  const { desired, actual, registry, clock, random, log, statsPeriodMs } = ports;
  const gauges = claimGauges(ports.metrics);
  const duration = ports.metrics?.histogram({
    name: 'kubelet_volume_metric_collection_duration_seconds',
    help: 'Duration in seconds to calculate volume stats',
    labelNames: ['metric_source'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  /** By pod UID; undefined while its volumes are being asked for. */
  const followed = new Map<string, Timer | undefined>();

  function driverOf({ volume }: DesiredMount) {
    const driver = registry.get(volume.driver);
    return driver?.capabilities.has('GET_VOLUME_STATS') ? driver : undefined;
  }

  async function ask(mount: DesiredMount, signal: AbortSignal): Promise<ClaimStats | undefined> {
    const { volume, pod } = mount;
    const driver = driverOf(mount);
    const mounted = actual.mount(volumeKeyOf(volume), pod.metadata.uid, volume.specName);
    if (driver === undefined || mounted?.state !== 'mounted') return undefined;
    const startedMs = clock.monotonicMs();
    try {
      const request = { volumeId: volume.handle, volumePath: mounted.path };
      const { usage, volumeCondition } = await nodeClient(driver).nodeGetVolumeStats(request, { signal });
      const condition = driver.capabilities.has('VOLUME_CONDITION')
        ? { abnormal: volumeCondition?.abnormal ?? false, message: volumeCondition?.message ?? '' }
        : undefined;
      if (usage.length === 0 && condition === undefined) throw new Error('the driver returned no usage');
      if (condition?.abnormal) {
        const text = condition.message || 'The driver reports an abnormal condition';
        const message = `Volume ${mount.volumeNames.join(', ')}: ${text}`;
        ports.recorder.event(pod, 'Warning', 'VolumeConditionAbnormal', message);
      }
      return {
        bytes: usage.find(({ unit }) => unit === Unit.BYTES),
        inodes: usage.find(({ unit }) => unit === Unit.INODES),
        ...(condition && { isAbnormal: condition.abnormal }),
      };
    } catch (error) {
      if (!signal.aborted) {
        log.v(4).info('could not read the statistics of a volume', {
          volume: volume.specName,
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          err: error,
        });
      }
      return undefined;
    } finally {
      duration?.observe({ metric_source: volume.driver }, (clock.monotonicMs() - startedMs) / 1000);
    }
  }

  async function askForPod(uid: string, signal: AbortSignal): Promise<void> {
    const found = new Map<string, ClaimStats>();
    for (const mount of desired.pod(uid)?.mounts.values() ?? []) {
      const stats = await ask(mount, signal);
      if (signal.aborted || !followed.has(uid)) return;
      if (stats !== undefined && mount.claimKey !== undefined) found.set(mount.claimKey, stats);
    }
    gauges.set(uid, found);
    // The kubelet's jitter of one more period at most: the volumes of a node are not all asked for at once.
    follow(uid, statsPeriodMs * (1 + random.next()), signal);
  }

  function follow(uid: string, delayMs: number, signal: AbortSignal): void {
    const timer = clock.setTimeout(() => {
      followed.set(uid, undefined);
      void askForPod(uid, signal);
    }, delayMs);
    followed.set(uid, timer);
  }

  function forget(uid: string): void {
    followed.get(uid)?.cancel();
    followed.delete(uid);
    gauges.remove(uid);
  }

  return {
    forget,
    start(signal) {
      if (statsPeriodMs <= 0) return () => {};
      let timer: Timer | undefined;
      const lookForPods = () => {
        for (const { pod, mounts } of desired.pods()) {
          const { uid } = pod.metadata;
          if (!followed.has(uid) && [...mounts.values()].some(driverOf)) follow(uid, 0, signal);
        }
        timer = clock.setTimeout(lookForPods, statsPeriodMs);
      };
      timer = clock.setTimeout(lookForPods, statsPeriodMs);
      return () => {
        timer?.cancel();
        for (const uid of [...followed.keys()]) forget(uid);
      };
    },
  };
}

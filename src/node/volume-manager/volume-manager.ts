// The kubelet's volume manager: composes desired state, actual state, populator, reconciler and operations. They are woken
// by follow-changes.ts, and by changes of claims.

import type { CSIDriver, Node, Pod } from '../../api/kinds.ts';
import { keyOf } from '../../api/object.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { isNewer } from '../../api/resource-version.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { needsStaging } from '../../csi-plugin/mount/mount-device.ts';
import type { MountPorts } from '../../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../../csi-plugin/mount/mountable-volume.ts';
import type { EventRecorder } from '../../runtime/events/create-event-recorder.ts';
import type { Informer } from '../../runtime/informer/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { Timer } from '../../runtime/ports.ts';
import type { LoopPorts } from '../../runtime/queue/create-loop.ts';
import type { GracePeriods } from '../pod/grace-periods.ts';
import { removePodDirectory } from '../pod/pod-lifecycle.ts';
import type { PodVolumesState } from '../pod/pod-status.ts';
import type { DriverRegistry } from '../registration/driver-registry.ts';
import type { SELinux } from '../selinux/host-selinux.ts';
import { mountLabel } from '../selinux/mount-label.ts';
import { ActualState } from './actual-state.ts';
import { createAttachLimit } from './attach-limit.ts';
import { createClaimWatches } from './claim-watches.ts';
import { type DesiredMount, DesiredState } from './desired-state.ts';
import { awaitsNodeExpansion, settledSize, sizeOnEveryNode } from './finish-expansion.ts';
import { followChanges } from './follow-changes.ts';
import { createMountHealth, HEALTH_PERIOD_MS } from './mount-health.ts';
import { createOperations } from './operations.ts';
import { PodWaits } from './pod-waits.ts';
import { createPopulator } from './populator.ts';
import { createReconciler } from './reconciler.ts';
import { reconstruct } from './reconstruct.ts';
import { createVolumeStats } from './volume-stats.ts';
import { createVolumesInUse } from './volumes-in-use.ts';

export interface VolumeManagerPorts extends LoopPorts {
  kube: KubeClient;
  nodeName: string;
  pods: Informer<Pod>;
  gracePeriods: GracePeriods;
  node: Informer<Node>;
  csiDrivers: Informer<CSIDriver>;
  registry: DriverRegistry;
  plugin: MountPorts;
  recorder: EventRecorder;
  /** Between two readings of a volume's statistics; zero or less: none are read. */
  statsPeriodMs: number;
  /** Absent where the host has none. */
  selinux?: SELinux;
  /** The gate SELinuxMount: volumes of every access mode are mounted with the pod's SELinux label. */
  seLinuxMount: boolean;
  /** Updates the driver's volume limit in CSINode. */
  readAllocatable(driver: DriverName, signal: AbortSignal): Promise<void>;
  /** The state of this pod's volumes has changed. */
  podChanged(podKey: string): void;
}

export interface VolumeManager {
  /** Undefined until the pod has been resolved once. */
  stateOf(pod: Pod): PodVolumesState | undefined;
  /** Nothing is mounted for this pod, is uncertain, or will be mounted. */
  isClear(podUid: string): boolean;
  /** Unique names of the volumes that are mounted, may be, or are about to be. */
  inUse(): string[];
  /** The informers must have synced. `known` is called once the actual state is reconstructed. */
  run(signal: AbortSignal, known: () => void): Promise<void>;
}

export function createVolumeManager(ports: VolumeManagerPorts): VolumeManager {
  const { plugin, registry, clock, log } = ports;
  const desired = new DesiredState();
  const actual = new ActualState();
  const podKeys = new Map<string, string>();
  const podByUid = (uid: string): Pod | undefined => {
    const pod = ports.pods.get(podKeys.get(uid) ?? '');
    return pod?.metadata.uid === uid ? pod : undefined;
  };
  const podChanged = (uid: string) => {
    const pod = podByUid(uid);
    if (pod) ports.podChanged(keyOf(pod));
    else void tidy(uid);
  };
  const driverObject = (name: string) => ports.csiDrivers.get(name);
  const waits = new PodWaits(podChanged);

  const inUse = createVolumesInUse({
    ...ports,
    inUse() {
      const keys: string[] = [];
      for (const key of desired.volumeKeys()) {
        const [first] = desired.mountsOf(key).values();
        if (first?.volume.attachedAs) keys.push(key);
      }
      // Also for drivers without attach: the provisioner must not delete a volume that is staged here.
      for (const { volume } of actual.values()) if (volume.attachedAs) keys.push(volumeKeyOf(volume));
      return keys;
    },
    mayShrink: () => desired.isPopulated,
  });
  const claims = createClaimWatches({
    ...ports,
    changed(claimKey, users) {
      for (const uid of users) {
        populator.retry(uid);
        for (const { claimKey: key, volume } of desired.pod(uid)?.mounts.values() ?? []) {
          if (key === claimKey) reconciler.add(volumeKeyOf(volume));
        }
      }
    },
  });
  const limit = createAttachLimit({ ...ports, desired, podChanged });
  const perform = createOperations({
    ...ports,
    desired,
    actual,
    inUse,
    settledSize: ({ claimKey }) => settledSize(claimKey ? claims.get(claimKey) : undefined),
    driver: (name) => registry.get(name),
    driverNames: () => registry.names(),
    driverObject,
  });
  const reconciler = createReconciler({
    ...ports,
    desired,
    actual,
    waits,
    async perform(step, key, signal) {
      const result = await perform(step, key, signal);
      await limit.observe(key, result, signal);
      return result;
    },
    driverObject,
    needsStaging(volume) {
      const driver = registry.get(volume.driver);
      return driver !== undefined && needsStaging(driver, volume);
    },
    podByUid,
    podChanged,
    growsTo,
    useChanged: () => inUse.changed(),
  });
  const populator = createPopulator({
    ...ports,
    desired,
    waits,
    claims,
    driverObject,
    seLinuxLabel,
    volumesChanged(podUid, keys) {
      // After a restart more may be mounted for the pod than is resolved so far.
      const had = actual.mountsOfPod(podUid).map(({ volume }) => volumeKeyOf(volume));
      for (const key of new Set([...keys, ...had])) reconciler.add(key);
      inUse.changed();
    },
    podGone: (uid) => void tidy(uid),
    populated() {
      desired.isPopulated = true;
      for (const key of actual.keys()) reconciler.add(key);
      for (const uid of untidied) void tidy(uid);
      untidied.clear();
      // isClear was false for every pod until now.
      for (const pod of ports.pods.list()) ports.podChanged(keyOf(pod));
      inUse.changed();
    },
  });
  const stats = createVolumeStats({ ...ports, desired, actual });
  const health = createMountHealth({ ...ports, actual, found: (key) => reconciler.retry(key) });
  /** Pods whose directories are looked at once it is known which pods there are. */
  const untidied = new Set<string>();
  let running: AbortSignal | undefined;

  /** A pod that has the volume already keeps its label, also after the driver's object changed. */
  function seLinuxLabel({ pod, volume, volumeNames }: DesiredMount): string | undefined {
    const mounted = actual.mount(volumeKeyOf(volume), pod.metadata.uid, volume.specName);
    if (mounted !== undefined) return mounted.volume.seLinuxLabel;
    const driver = driverObject(volume.driver);
    const { selinux, seLinuxMount: everyAccessMode } = ports;
    return mountLabel({ pod, volume, volumeNames, driver, selinux, everyAccessMode });
  }

  function growsTo(mount: DesiredMount): string | undefined {
    if (!mount.claimKey) return undefined;
    const claim = claims.get(mount.claimKey);
    const { expanded, size } = actual.get(volumeKeyOf(mount.volume)) ?? {};
    const wanted = awaitsNodeExpansion(claim);
    if (claim && wanted !== undefined) {
      if (expanded?.to !== wanted) return wanted;
      const { asOf = claim.metadata.resourceVersion } = expanded;
      return isNewer(claim.metadata.resourceVersion, asOf) ? wanted : undefined;
    }
    // As with a kubelet, a pod that only reads needs no larger filesystem.
    const everywhere = mount.readOnly ? undefined : sizeOnEveryNode(claim);
    // An unknown size may be smaller.
    const isSmaller = everywhere && (size === undefined || compareQuantities(everywhere, size) > 0);
    return isSmaller ? everywhere : undefined;
  }

  /** Removes the directory of a pod that is gone, once nothing is mounted below it. */
  async function tidy(uid: string): Promise<void> {
    if (!desired.isPopulated) untidied.add(uid);
    if (running?.aborted || podByUid(uid) || !isClear(uid)) return;
    plugin.tokens.forget(uid);
    limit.forget(uid);
    stats.forget(uid);
    podKeys.delete(uid);
    await removePodDirectory(plugin.files, plugin.paths, uid, log).catch((error: unknown) => {
      log.warn('could not remove the directory of a pod that is gone', { podUid: uid, err: error });
    });
  }

  function isClear(uid: string): boolean {
    return desired.isPopulated && !desired.pod(uid) && actual.mountsOfPod(uid).length === 0;
  }

  async function checkHealth(signal: AbortSignal, driver?: DriverName): Promise<void> {
    await health.check(signal, driver).catch((error: unknown) => {
      if (!signal.aborted) log.warn('could not check the mounts; will retry', { err: error });
    });
  }

  return {
    stateOf(pod) {
      const { uid } = pod.metadata;
      const known = desired.pod(uid);
      if (!known) return undefined;
      const published = new Map<string, string>();
      let ready = known.resolved;
      for (const mount of known.mounts.values()) {
        const found = actual.mount(volumeKeyOf(mount.volume), uid, mount.volume.specName);
        if (found?.state === 'mounted') for (const name of mount.volumeNames) published.set(name, found.path);
        else ready = false;
      }
      const rejected = limit.rejection(uid);
      return { ready, waits: waits.of(uid), published, ...(rejected && { rejected }) };
    },
    isClear,
    inUse: inUse.list,
    async run(signal, known) {
      running = signal;
      for (const uid of await reconstruct(plugin, actual, log)) untidied.add(uid);
      signal.throwIfAborted();
      known();
      const stopFollowing = followChanges({
        ...ports,
        desired,
        actual,
        reconciler,
        populator,
        podSeen: (pod) => podKeys.set(pod.metadata.uid, keyOf(pod)),
        registered: (driver) => void checkHealth(signal, driver),
      });
      const stopGauges = gauges(ports.metrics, desired, actual);
      const stopStats = stats.start(signal);
      let timer: Timer | undefined;
      const periodically = () => {
        timer = clock.setTimeout(() => {
          periodically();
          void checkHealth(signal);
          claims.refresh(signal).catch(() => {
            // Stopped, or the API server does not answer: the next attempt is in a minute.
          });
        }, HEALTH_PERIOD_MS);
      };
      periodically();
      try {
        await Promise.all([populator.run(signal), reconciler.run(signal), inUse.run(signal)]);
      } finally {
        timer?.cancel();
        stopFollowing();
        stopGauges();
        stopStats();
      }
    },
  };
}

function gauges(metrics: Metrics | undefined, desired: DesiredState, actual: ActualState): () => void {
  if (!metrics) return () => {};
  const init = {
    name: 'volume_manager_total_volumes',
    help: 'Number of volumes in Volume Manager',
    labelNames: ['state', 'plugin_name'] as const,
  };
  const count = (items: Iterable<unknown>) => [...items].length;
  const stops = [
    metrics.gaugeFrom(init, { state: 'desired_state_of_world', plugin_name: 'kubernetes.io/csi' }, () =>
      count(desired.volumeKeys()),
    ),
    metrics.gaugeFrom(init, { state: 'actual_state_of_world', plugin_name: 'kubernetes.io/csi' }, () =>
      count(actual.values()),
    ),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

// The node agent: the volume half of a kubelet. Registers the node, discovers drivers, mounts and unmounts the volumes
// of its pods. One factory over explicit ports, used by `berth node`, `berth up` and the simulation.

import { csiDrivers, nodes, pods } from '../api/kinds.ts';
import type { CsiConnection } from '../csi/client/connect-csi.ts';
import type { MountPorts } from '../csi-plugin/mount/mount-plugin.ts';
import { volumeKeyOf } from '../csi-plugin/mount/mountable-volume.ts';
import { createServiceAccountTokens } from '../csi-plugin/mount/service-account-tokens.ts';
import type { VolumeFiles } from '../csi-plugin/mount/volume-files.ts';
import { volumePaths } from '../csi-plugin/mount/volume-paths.ts';
import { errorMessage } from '../runtime/error-message.ts';
import type { EventRecorder } from '../runtime/events/create-event-recorder.ts';
import type { Informers } from '../runtime/informer/informer.ts';
import type { KubeClient } from '../runtime/kube/kube.ts';
import type { Mounter } from '../runtime/mount/mounter.ts';
import type { LoopPorts } from '../runtime/queue/create-loop.ts';
import { childSignal } from '../runtime/time/child-signal.ts';
import { createNodeRegistration } from './node-object/node-registration.ts';
import type { HostFacts } from './node-object/node-status.ts';
import { GracePeriods } from './pod/grace-periods.ts';
import { createPodLifecycle, type PodLifecycle } from './pod/pod-lifecycle.ts';
import { createAllocatableUpdater } from './registration/allocatable-updater.ts';
import { DriverRegistry } from './registration/driver-registry.ts';
import { createNodeInfoWriter } from './registration/node-info-writer.ts';
import { createPluginWatcher } from './registration/plugin-watcher.ts';
import type { SELinux } from './selinux/host-selinux.ts';
import { ActualState } from './volume-manager/actual-state.ts';
import { isAttachable } from './volume-manager/read-attachment.ts';
import { reconstruct } from './volume-manager/reconstruct.ts';
import { createVolumeManager } from './volume-manager/volume-manager.ts';
import { STATS_PERIOD_MS } from './volume-manager/volume-stats.ts';

export interface NodeAgentOptions {
  nodeName: string;
  /** The kubelet's root directory: `pods`, `plugins` and `plugins_registry` lie below it. Absolute. */
  rootDir: string;
  host: HostFacts;
  /** Additional labels for a new Node; the API server decides which ones a node may set. */
  labels?: Readonly<Record<string, string>>;
  /** Replace a topology label that only one driver uses when that driver reports another value. */
  replaceTopologyLabels?: boolean;
  /** The kubelet's `volumeStatsAggPeriod`; zero or less: no volume statistics. */
  volumeStatsAggPeriodMs?: number;
  /** The gate SELinuxMount: the label is a mount option of every access mode, not only of ReadWriteOncePod. */
  seLinuxMount?: boolean;
}

export interface NodeAgentPorts extends LoopPorts {
  /** Authenticated as `system:node:<name>`; needs no more than the node authorizer allows. */
  kube: KubeClient;
  /** Over the same client, started by the caller. Used for this node's pods, its Node and all CSIDrivers. */
  informers: Informers;
  /** A new connection to a registrar's or driver's socket. */
  connect(address: string): CsiConnection;
  mounter: Mounter;
  files: VolumeFiles;
  recorder: EventRecorder;
  /** Absent where the host has no SELinux. */
  selinux?: SELinux;
  options: NodeAgentOptions;
}

export interface NodeAgent {
  /** Runs until `signal` aborts; leaves every mount as it is. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once the Node is registered and the mounts of an earlier run are reconstructed. */
  readonly ready: Promise<void>;
}

export function createNodeAgent(ports: NodeAgentPorts): NodeAgent {
  const { kube, informers, clock, random, options, files } = ports;
  const { nodeName } = options;
  const log = ports.log.with({ node: nodeName });
  const common = { kube, nodeName, clock, random, log, ...(ports.metrics && { metrics: ports.metrics }) };
  const paths = volumePaths(options.rootDir);
  const tokens = createServiceAccountTokens({ kube, clock });
  const plugin: MountPorts = { nodeName, paths, files, mounter: ports.mounter, kube, tokens };
  const podInformer = informers.of(pods, { fieldSelector: `spec.nodeName=${nodeName}` });
  const nodeInformer = informers.of(nodes, { fieldSelector: `metadata.name=${nodeName}` });
  const driverInformer = informers.of(csiDrivers);
  const registry = new DriverRegistry();
  const ready = Promise.withResolvers<void>();

  const writer = createNodeInfoWriter({
    ...common,
    node: nodeInformer,
    replaceTopologyLabels: options.replaceTopologyLabels ?? false,
  });
  const watcher = createPluginWatcher({
    ...common,
    connect: ports.connect,
    directory: paths.pluginsRegistry,
    files,
    registry,
    writer,
    registrationFailed(driver, error) {
      const node = nodeInformer.get(nodeName);
      const why = errorMessage(error);
      const message = `CSI driver ${driver} could not be registered: ${why}`;
      if (node) ports.recorder.event(node, 'Warning', 'FailedCSIDriverRegistration', message);
    },
  });
  const allocatable = createAllocatableUpdater({ ...common, registry, csiDrivers: driverInformer, writer });
  const registration = createNodeRegistration({
    ...common,
    host: options.host,
    labels: options.labels ?? {},
    async volumesOnDisk() {
      const actual = new ActualState();
      await reconstruct(plugin, actual, log);
      const attachable = [...actual.values()].filter(({ volume }) => isAttachable(volume, undefined));
      return attachable.map(({ volume }) => volumeKeyOf(volume)).sort();
    },
    async volumesInUse() {
      // Before that the volume manager does not know what an earlier run has mounted.
      await ready.promise;
      return volumes.inUse();
    },
  });
  const gracePeriods = new GracePeriods(clock);
  const volumes = createVolumeManager({
    ...common,
    pods: podInformer,
    gracePeriods,
    node: nodeInformer,
    csiDrivers: driverInformer,
    registry,
    plugin,
    recorder: ports.recorder,
    ...(ports.selinux && { selinux: ports.selinux }),
    seLinuxMount: options.seLinuxMount ?? false,
    statsPeriodMs: options.volumeStatsAggPeriodMs ?? STATS_PERIOD_MS,
    readAllocatable: (driver, signal) => allocatable.ask(driver, signal),
    podChanged: (key) => lifecycle.changed(key),
  });
  const lifecycle: PodLifecycle = createPodLifecycle({
    ...common,
    pods: podInformer,
    gracePeriods,
    volumes,
    files,
    paths,
  });

  return {
    ready: ready.promise,
    async run(signal) {
      // When one part fails the others are stopped, so that the process ends instead of half working.
      const stop = childSignal(signal);
      const both = stop.signal;
      const together = async (parts: Promise<unknown>[]) => {
        try {
          await Promise.all(parts);
        } catch (error) {
          // A heartbeat may be waiting for it.
          ready.reject(error);
          stop.abort(error);
          await Promise.allSettled(parts);
          throw error;
        }
      };
      ready.promise.catch(() => {});
      try {
        await registration.register(both);
        await Promise.all([podInformer.synced(both), nodeInformer.synced(both), driverInformer.synced(both)]);
        await together([
          registration.run(both),
          watcher.run(both),
          writer.run(both),
          allocatable.run(both),
          volumes.run(both, () => ready.resolve()),
          lifecycle.run(both),
        ]);
      } catch (error) {
        ready.reject(error);
        if (!signal.aborted) throw error;
      } finally {
        stop.detach();
      }
    },
  };
}

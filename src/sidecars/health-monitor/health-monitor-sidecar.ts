// `berth health-monitor` as a sidecar: the official external-health-monitor-controller's flags and lease.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, intFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createHealthMonitor, reportsConditions } from './health-monitor.ts';

const FOLLOWED = 'volumes and nodes are followed as they change';

export const healthMonitorSidecar = defineSidecar({
  name: 'health-monitor',
  flags: {
    timeout: durationFlag({ help: 'Time-out of each call to the driver', default: 15_000, min: 1 }),
    'monitor-interval': durationFlag({
      help: 'Interval at which each volume is checked, for drivers without ListVolumes',
      default: 60_000,
      min: 1,
    }),
    'list-volumes-interval': durationFlag({
      help: 'Interval at which all volumes are listed, for drivers with ListVolumes',
      default: 300_000,
      min: 1,
    }),
    'worker-threads': intFlag({ help: 'Volumes checked concurrently', default: 10, min: 1 }),
    'enable-node-watcher': boolFlag({
      help: 'Report nodes that are lost on the pods and claims whose volumes they hold',
    }),
    resync: durationFlag({ help: 'Resync interval', default: 600_000, ignored: FOLLOWED }),
    'volume-list-add-interval': durationFlag({
      help: 'Interval at which new volumes are taken up',
      default: 300_000,
      ignored: FOLLOWED,
    }),
    'node-list-add-interval': durationFlag({
      help: 'Interval at which new nodes are taken up',
      default: 300_000,
      ignored: FOLLOWED,
    }),
    'feature-gates': featureGatesFlag(releaseOnExitGate),
  },
  leaseName: (driver) => `external-health-monitor-leader-${driver}`,
  eventSource: (driver) => `csi-pv-monitor-controller-${driver}`,
  suits: ({ controller }) => reportsConditions(controller),
  create: (ports, flags) =>
    createHealthMonitor(ports, {
      timeoutMs: flags.timeoutMs,
      listIntervalMs: flags.listVolumesIntervalMs,
      checkIntervalMs: flags.monitorIntervalMs,
      workers: flags.workerThreads,
      watchesNodes: flags.enableNodeWatcher,
    }),
});

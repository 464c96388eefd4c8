// `berth attacher` as a sidecar: the official external-attacher's flags, lease and feature gates.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { durationFlag, intFlag, stringFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createAttacher } from './attacher.ts';

export const attacherSidecar = defineSidecar({
  name: 'attacher',
  flags: {
    timeout: durationFlag({
      help: 'Time-out of ControllerPublishVolume and ControllerUnpublishVolume',
      default: 15_000,
      min: 1,
    }),
    'worker-threads': intFlag({ help: 'Volumes attached and detached at once', default: 10, min: 1 }),
    'max-entries': intFlag({ help: 'Volumes a page of ListVolumes; 0: no limit', default: 0, min: 0 }),
    'retry-interval-start': durationFlag({
      help: 'Initial retry interval; doubles with each failure',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({ help: 'Maximum retry interval', default: 300_000, min: 1 }),
    resync: durationFlag({ help: 'Interval of the full resync', default: 600_000 }),
    'reconcile-sync': durationFlag({
      help: 'Compare attachments with ListVolumes at this interval',
      default: 60_000,
    }),
    'default-fstype': stringFlag({
      help: 'File system type told to the driver where the volume names none',
      default: '',
    }),
    'max-grpc-log-length': intFlag({
      help: 'Longest log line of a CSI message, in characters; -1: no limit',
      default: -1,
    }),
    'feature-gates': featureGatesFlag({
      ...releaseOnExitGate,
      MutableCSINodeAllocatableCount: {
        default: true,
        stage: 'stable',
        help: "Put the driver's error code into status.attachError.errorCode",
      },
    }),
  },
  leaseName: (driver) => `external-attacher-leader-${driver}`,
  eventSource: (driver) => `external-attacher ${driver}`,
  create: (ports, flags) =>
    createAttacher(ports, {
      timeoutMs: flags.timeoutMs,
      workers: flags.workerThreads,
      retryStartMs: flags.retryIntervalStartMs,
      retryMaxMs: flags.retryIntervalMaxMs,
      resyncMs: flags.resyncMs,
      driftCheckMs: flags.reconcileSyncMs,
      maxEntries: flags.maxEntries,
      defaultFsType: flags.defaultFstype,
      reportErrorCode: flags.featureGates.MutableCSINodeAllocatableCount,
    }),
});

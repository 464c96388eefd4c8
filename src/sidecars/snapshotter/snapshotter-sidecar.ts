// `berth snapshotter` as a sidecar: the official csi-snapshotter's flags, lease and feature gates.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import {
  boolFlag,
  durationFlag,
  flagOf,
  InvalidValue,
  intFlag,
  stringFlag,
} from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createSnapshotter } from './snapshotter.ts';

const names = 'Snapshots';
const groups = 'Group snapshots';
const NO_GROUPS = 'group snapshots are not made by this snapshotter';

export const snapshotterSidecar = defineSidecar({
  name: 'snapshotter',
  flags: {
    timeout: durationFlag({ help: 'Time-out of each call to the driver', default: 60_000, min: 1 }),
    'worker-threads': intFlag({ help: 'Snapshots made and deleted at once', default: 10, min: 1 }),
    'resync-period': durationFlag({ help: 'Look at everything again at this interval', default: 900_000 }),
    'retry-interval-start': durationFlag({
      help: 'Pause after the first failure, and before a snapshot is first looked at again; it doubles with each',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({ help: 'Longest such pause', default: 300_000, min: 1 }),
    'snapshot-name-prefix': flagOf<string>(
      {
        type: 'string',
        parse: (text) => {
          if (text === '') throw new InvalidValue('must not be empty');
          return text;
        },
        format: (value) => value,
      },
      { help: "What snapshots' names begin with", default: 'snapshot', group: names },
    ),
    'snapshot-name-uuid-length': intFlag({
      help: "How much of the VolumeSnapshot's UID snapshots' names hold, without dashes; -1: all of it, with dashes",
      default: -1,
      min: -1,
      max: 32,
      group: names,
    }),
    'extra-create-metadata': boolFlag({
      help: 'Pass the names of snapshot and content to the driver, as parameters under csi.storage.k8s.io/',
      group: names,
    }),
    'node-deployment': boolFlag({
      help: 'Make snapshots of the volumes of this node alone, whose name is in NODE_NAME; no leader is elected',
      group: names,
    }),
    'groupsnapshot-name-prefix': stringFlag({
      help: "What group snapshots' names begin with",
      default: 'groupsnapshot',
      group: groups,
      ignored: NO_GROUPS,
    }),
    'groupsnapshot-name-uuid-length': intFlag({
      help: "How much of the VolumeGroupSnapshot's UID group snapshots' names hold",
      default: -1,
      min: -1,
      max: 32,
      group: groups,
      ignored: NO_GROUPS,
    }),
    'feature-gates': featureGatesFlag({
      ...releaseOnExitGate,
      CSIVolumeGroupSnapshot: {
        default: false,
        stage: 'stable',
        help: 'Make snapshots of several volumes at one moment; taken, and without effect',
      },
    }),
  },
  leaseName: (driver) => `external-snapshotter-leader-${driver}`,
  eventSource: (driver) => `csi-snapshotter ${driver}`,
  suits: ({ controller }) => controller.has('CREATE_DELETE_SNAPSHOT'),
  needsLease: (flags) => !flags.nodeDeployment,
  create: (ports, flags) => {
    const { env } = ports;
    if (flags.nodeDeployment && !env.NODE_NAME) {
      throw new Error('--node-deployment needs the environment variable NODE_NAME');
    }
    if (flags.featureGates.CSIVolumeGroupSnapshot) ports.log.warn(`CSIVolumeGroupSnapshot: ${NO_GROUPS}`);
    return createSnapshotter(ports, {
      timeoutMs: flags.timeoutMs,
      workers: flags.workerThreads,
      retryStartMs: flags.retryIntervalStartMs,
      retryMaxMs: flags.retryIntervalMaxMs,
      resyncMs: flags.resyncPeriodMs,
      namePrefix: flags.snapshotNamePrefix,
      nameUuidLength: flags.snapshotNameUuidLength,
      extraCreateMetadata: flags.extraCreateMetadata,
      ...(flags.nodeDeployment && env.NODE_NAME && { nodeName: env.NODE_NAME }),
    });
  },
});

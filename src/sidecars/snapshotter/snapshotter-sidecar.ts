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
const NO_GROUPS = 'this snapshotter does not support group snapshots';

export const snapshotterSidecar = defineSidecar({
  name: 'snapshotter',
  flags: {
    timeout: durationFlag({ help: 'Time-out of each call to the driver', default: 60_000, min: 1 }),
    'worker-threads': intFlag({ help: 'Snapshots created and deleted concurrently', default: 10, min: 1 }),
    'resync-period': durationFlag({ help: 'Interval of the full resync', default: 900_000 }),
    'retry-interval-start': durationFlag({
      help: 'Backoff after the first failure, and before a snapshot is first checked again; it doubles with each',
      default: 1_000,
      min: 1,
    }),
    'retry-interval-max': durationFlag({ help: 'Maximum retry interval', default: 300_000, min: 1 }),
    'snapshot-name-prefix': flagOf<string>(
      {
        type: 'string',
        parse: (text) => {
          if (text === '') throw new InvalidValue('must not be empty');
          return text;
        },
        format: (value) => value,
      },
      { help: 'Prefix of snapshot names', default: 'snapshot', group: names },
    ),
    'snapshot-name-uuid-length': intFlag({
      help: "Characters of the VolumeSnapshot's UID in snapshot names, without dashes; -1: the whole UID, with dashes",
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
      help: 'Handle only volumes of this node, named by NODE_NAME; no leader election',
      group: names,
    }),
    'groupsnapshot-name-prefix': stringFlag({
      help: 'Prefix of group snapshot names',
      default: 'groupsnapshot',
      group: groups,
      ignored: NO_GROUPS,
    }),
    'groupsnapshot-name-uuid-length': intFlag({
      help: "Characters of the VolumeGroupSnapshot's UID in group snapshot names",
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
        help: 'Consistent snapshots of several volumes; accepted, without effect',
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

// `berth snapshotter` as a sidecar: the official csi-snapshotter's flags, lease and feature gates.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag, flagOf, InvalidValue, intFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createSnapshotter } from './snapshotter.ts';

const names = 'Snapshots';
const groups = 'Group snapshots';

const prefixFlag = (help: string, { prefix, group }: { prefix: string; group: string }) =>
  flagOf<string>(
    {
      type: 'string',
      parse: (text) => {
        if (text === '') throw new InvalidValue('must not be empty');
        return text;
      },
      format: (value) => value,
    },
    { help, default: prefix, group },
  );

export const snapshotterSidecar = defineSidecar({
  name: 'snapshotter',
  shards: true,
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
    'snapshot-name-prefix': prefixFlag('Prefix of snapshot names', { prefix: 'snapshot', group: names }),
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
    'groupsnapshot-name-prefix': prefixFlag('Prefix of group snapshot names', {
      prefix: 'groupsnapshot',
      group: groups,
    }),
    'groupsnapshot-name-uuid-length': intFlag({
      help: "Characters of the VolumeGroupSnapshot's UID in group snapshot names, without dashes; -1: the whole UID",
      default: -1,
      min: -1,
      max: 32,
      group: groups,
    }),
    'feature-gates': featureGatesFlag({
      ...releaseOnExitGate,
      CSIVolumeGroupSnapshot: {
        default: false,
        stage: 'stable',
        help: 'Consistent snapshots of several volumes (VolumeGroupSnapshot)',
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
    return createSnapshotter(ports, {
      timeoutMs: flags.timeoutMs,
      workers: flags.workerThreads,
      retryStartMs: flags.retryIntervalStartMs,
      retryMaxMs: flags.retryIntervalMaxMs,
      resyncMs: flags.resyncPeriodMs,
      naming: { prefix: flags.snapshotNamePrefix, uuidLength: flags.snapshotNameUuidLength },
      ...(flags.featureGates.CSIVolumeGroupSnapshot && {
        groups: { prefix: flags.groupsnapshotNamePrefix, uuidLength: flags.groupsnapshotNameUuidLength },
      }),
      extraCreateMetadata: flags.extraCreateMetadata,
      ...(flags.nodeDeployment && env.NODE_NAME && { nodeName: env.NODE_NAME }),
    });
  },
});

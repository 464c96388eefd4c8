// `berth snapshotter`: a drop-in for the official csi-snapshotter.

import { snapshotterSidecar } from '../sidecars/snapshotter/snapshotter-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(snapshotterSidecar, {
  summary: 'Creates and deletes the snapshots of one CSI driver',
  description:
    'Watches VolumeSnapshotContents and calls CreateSnapshot and DeleteSnapshot. The snapshot controller must run once ' +
    'per cluster as well. Accepts the flags of the official csi-snapshotter.',
});

// `berth snapshotter`: a drop-in for the official csi-snapshotter.

import { snapshotterSidecar } from '../sidecars/snapshotter/snapshotter-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(snapshotterSidecar, {
  summary: 'Makes and deletes the snapshots of one CSI driver',
  description:
    'Follows VolumeSnapshotContents and calls CreateSnapshot and DeleteSnapshot. Once in the cluster the snapshot ' +
    'controller must run too. Takes the flags of the official csi-snapshotter.',
});

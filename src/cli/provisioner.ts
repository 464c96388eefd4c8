// `berth provisioner`: a drop-in for the official external-provisioner.

import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(provisionerSidecar, {
  summary: 'Creates and deletes the volumes of one CSI driver',
  description:
    'Watches PersistentVolumeClaims and PersistentVolumes and calls CreateVolume and DeleteVolume. Accepts the flags of ' +
    'the official external-provisioner.',
});

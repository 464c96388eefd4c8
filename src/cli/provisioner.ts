// `berth provisioner`: a drop-in for the official external-provisioner.

import { provisionerSidecar } from '../sidecars/provisioner/provisioner-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(provisionerSidecar, {
  summary: 'Makes and deletes the volumes of one CSI driver',
  description:
    'Follows PersistentVolumeClaims and PersistentVolumes and calls CreateVolume and DeleteVolume. Takes the flags of ' +
    'the official external-provisioner.',
});

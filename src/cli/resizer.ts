// `berth resizer`: a drop-in for the official external-resizer.

import { resizerSidecar } from '../sidecars/resizer/resizer-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(resizerSidecar, {
  summary: 'Makes the volumes of one CSI driver larger when their claims grow',
  description:
    'Follows PersistentVolumeClaims: calls ControllerExpandVolume for those that ask for more than they have, and ' +
    'ControllerModifyVolume for those that name another VolumeAttributesClass. Takes the flags of the official ' +
    'external-resizer.',
});

// `berth resizer`: a drop-in for the official external-resizer.

import { resizerSidecar } from '../sidecars/resizer/resizer-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(resizerSidecar, {
  summary: 'Expands the volumes of one CSI driver when their claims request more',
  description:
    'Watches PersistentVolumeClaims: calls ControllerExpandVolume for those that request more than their capacity, and ' +
    'ControllerModifyVolume for those that name another VolumeAttributesClass. Accepts the flags of the official ' +
    'external-resizer.',
});

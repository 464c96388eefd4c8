// `berth attacher`: a drop-in for the official external-attacher.

import { attacherSidecar } from '../sidecars/attacher/attacher-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(attacherSidecar, {
  summary: 'Attaches and detaches the volumes of one CSI driver',
  description:
    'Watches VolumeAttachments and calls ControllerPublishVolume and ControllerUnpublishVolume. Accepts the flags of the ' +
    'official external-attacher.',
});

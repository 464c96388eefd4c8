// `berth health-monitor`: a drop-in for the official external-health-monitor-controller.

import { healthMonitorSidecar } from '../sidecars/health-monitor/health-monitor-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(healthMonitorSidecar, {
  summary: 'Reports volumes of one CSI driver whose condition is abnormal',
  description:
    'Asks the driver for the condition of its volumes (ListVolumes, or ControllerGetVolume) and reports abnormal ones, and ' +
    'their end, as Events on the claims. Accepts the flags of the official external-health-monitor-controller.',
});

// `berth cluster-registrar`: a drop-in for the cluster-driver-registrar.

import { clusterRegistrarSidecar } from '../sidecars/cluster-registrar/cluster-registrar-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(clusterRegistrarSidecar, {
  summary: "Keeps a driver's CSIDriver object",
  description:
    'Creates the object when it is missing, from what the driver can do. An object that is there but different is ' +
    'reported and left as it is.',
});

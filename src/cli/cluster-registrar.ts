// `berth cluster-registrar`: a drop-in for the cluster-driver-registrar.

import { clusterRegistrarSidecar } from '../sidecars/cluster-registrar/cluster-registrar-sidecar.ts';
import { sidecarCommand } from './sidecar-command.ts';

export const command = sidecarCommand(clusterRegistrarSidecar, {
  summary: "Creates a driver's CSIDriver object",
  description:
    "Creates the object when it is missing, from the driver's capabilities. An existing object that differs is " +
    'reported and not changed.',
});

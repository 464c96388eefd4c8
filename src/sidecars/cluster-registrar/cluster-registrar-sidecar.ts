// `berth cluster-registrar` as a sidecar: the flags of the cluster-driver-registrar of 2019, and what all have today.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createClusterRegistrar } from './cluster-registrar.ts';

export const clusterRegistrarSidecar = defineSidecar({
  name: 'cluster-registrar',
  flags: {
    'pod-info-mount': boolFlag({ help: 'The driver wants pod information in NodePublishVolume' }),
    'remove-on-exit': boolFlag({ help: 'Remove the CSIDriver object when told to stop' }),
    timeout: durationFlag({ help: 'Time-out of calls to the driver', default: 15_000, min: 1 }),
    'connection-timeout': durationFlag({
      help: 'Time-out of connecting',
      hidden: true,
      ignored: 'it waits for the driver for as long as it takes',
    }),
    'feature-gates': featureGatesFlag(releaseOnExitGate),
  },
  leaseName: (driver) => `cluster-driver-registrar-leader-${driver}`,
  eventSource: (driver) => `cluster-driver-registrar ${driver}`,
  create: (ports, flags) =>
    createClusterRegistrar(ports, { podInfoOnMount: flags.podInfoMount, removeOnExit: flags.removeOnExit }),
});

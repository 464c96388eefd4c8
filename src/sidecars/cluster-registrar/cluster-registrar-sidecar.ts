// `berth cluster-registrar` as a sidecar: the flags of cluster-driver-registrar as of 2019, and those that all sidecars
// share.

import { featureGatesFlag } from '../../runtime/flags/feature-gates.ts';
import { boolFlag, durationFlag } from '../../runtime/flags/flag.ts';
import { releaseOnExitGate } from '../../runtime/process/process-flags.ts';
import { defineSidecar } from '../common/sidecar.ts';
import { createClusterRegistrar } from './cluster-registrar.ts';

export const clusterRegistrarSidecar = defineSidecar({
  name: 'cluster-registrar',
  flags: {
    'pod-info-mount': boolFlag({ help: 'The driver needs pod information in NodePublishVolume' }),
    'remove-on-exit': boolFlag({ help: 'Remove the CSIDriver object at exit' }),
    timeout: durationFlag({ help: 'Time-out of calls to the driver', default: 15_000, min: 1 }),
    'connection-timeout': durationFlag({
      help: 'Time-out of connecting',
      hidden: true,
      ignored: 'it waits for the driver without a time-out',
    }),
    'feature-gates': featureGatesFlag(releaseOnExitGate),
  },
  leaseName: (driver) => `cluster-driver-registrar-leader-${driver}`,
  eventSource: (driver) => `cluster-driver-registrar ${driver}`,
  create: (ports, flags) =>
    createClusterRegistrar(ports, { podInfoOnMount: flags.podInfoMount, removeOnExit: flags.removeOnExit }),
});

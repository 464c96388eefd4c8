// The kubelet's registration service (pluginregistration.v1): GetInfo returns the driver's name and socket;
// NotifyRegistrationStatus reports whether the kubelet could register it. `requiresPublishPod` adds the early way to
// request pod information.

import { CSIRegistration } from '../../csi/generated/csiregistration/csi_registration_pb.ts';
import { Registration } from '../../csi/generated/pluginregistration/registration_pb.ts';
import type { DriverName } from '../../csi/names/driver-name.ts';
import { implement, type ServiceImplementation } from '../../csi/server/service-implementation.ts';
import type { Log } from '../../runtime/ports.ts';

export interface RegistrationServiceOptions {
  driverName: DriverName;
  /** The driver's socket as the kubelet sees it. */
  endpoint: string;
  requiresPublishPod: boolean;
  log: Log;
  /** The kubelet reported that it could not register the driver. */
  onRefused(reason: string): void;
}

/** The registration protocol's versions, not the driver's. */
const SUPPORTED_VERSIONS = ['1.0.0'];

export function registrationServices(options: RegistrationServiceOptions): ServiceImplementation[] {
  const { driverName, endpoint, log } = options;
  const registration = implement(Registration, {
    getInfo: () => ({ type: 'CSIPlugin', name: driverName, endpoint, supportedVersions: SUPPORTED_VERSIONS }),
    notifyRegistrationStatus: ({ pluginRegistered, error }) => {
      if (pluginRegistered) log.info('The kubelet has registered the driver');
      else options.onRefused(error);
      return {};
    },
  });
  if (!options.requiresPublishPod) return [registration];
  return [
    registration,
    implement(CSIRegistration, {
      getCSIDriverInfo: () => ({ csiEndpoint: endpoint, options: { requiresPublishPod: true } }),
    }),
  ];
}

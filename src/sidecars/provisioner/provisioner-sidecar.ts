// `berth provisioner` as a sidecar: the official external-provisioner's flags, lease and events.

import { defineSidecar } from '../common/sidecar.ts';
import { createProvisioner } from './provisioner.ts';
import { provisionerFlags } from './provisioner-flags.ts';

export const provisionerSidecar = defineSidecar({
  name: 'provisioner',
  shards: true,
  flags: provisionerFlags,
  leaseName: (driver) => driver,
  eventSource: (driver, identity) => `${driver}_${identity}`,
  needsLease: (flags) => !flags.nodeDeployment,
  create: createProvisioner,
});

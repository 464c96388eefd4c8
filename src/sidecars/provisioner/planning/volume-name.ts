// The name of a claim's volume, for the driver and for the PersistentVolume. It depends on the claim's UID alone, which
// makes provisioning idempotent: a retry by any process asks for the same volume.

import type { ProvisionerFlags } from '../provisioner-flags.ts';

type VolumeNaming = Pick<ProvisionerFlags, 'volumeNamePrefix' | 'volumeNameUuidLength'>;

export function volumeNameFor(claimUid: string, flags: VolumeNaming): string {
  const { volumeNamePrefix: prefix, volumeNameUuidLength: length } = flags;
  return `${prefix}-${length === -1 ? claimUid : claimUid.replaceAll('-', '').slice(0, length)}`;
}

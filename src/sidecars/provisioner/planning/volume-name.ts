// The name of a claim's volume, for the driver and for the PersistentVolume. It depends on the claim's UID alone, which
// makes provisioning idempotent: a retry by any process asks for the same volume.

export interface VolumeNaming {
  /** `--volume-name-prefix` */
  prefix: string;
  /** `--volume-name-uuid-length`; -1 for the whole UID with its dashes. */
  uuidLength: number;
}

export function volumeNameFor(claimUid: string, { prefix, uuidLength }: VolumeNaming): string {
  const id = uuidLength === -1 ? claimUid : claimUid.replaceAll('-', '').slice(0, uuidLength);
  return `${prefix}-${id}`;
}

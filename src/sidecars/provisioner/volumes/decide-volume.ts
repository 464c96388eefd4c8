// What to do for one PersistentVolume, from a snapshot of it. Pure: the reconciler performs the step. Whether the
// volume is in use is looked at last, just before it would be deleted.

import type { PersistentVolume } from '../../../api/kinds.ts';
import { ANN_PROVISIONED_BY, FINALIZER_PROVISIONER } from '../../../api/well-known.ts';
import type { DriverName } from '../../../csi/names/driver-name.ts';
import { hasFinalizer } from '../../../runtime/kube/finalizers.ts';

/** `protect`: keep the object until its storage is deleted. `release`: its storage is to stay, the object need not. */
export type ReclaimStep = 'nothing' | 'protect' | 'release' | 'delete';

export function decideVolume(volume: PersistentVolume, driver: DriverName): ReclaimStep {
  const { metadata, spec, status } = volume;
  if (spec.csi?.driver !== driver) return 'nothing';
  const provisionedBy = metadata.annotations?.[ANN_PROVISIONED_BY];
  if (provisionedBy !== undefined && provisionedBy !== driver) return 'nothing';
  const isProtected = hasFinalizer(volume, FINALIZER_PROVISIONER);
  if (spec.persistentVolumeReclaimPolicy !== 'Delete') {
    return isProtected ? 'release' : 'nothing';
  }
  const deleting = metadata.deletionTimestamp !== undefined;
  if (status?.phase === 'Released') {
    // Being deleted without the finalizer: the storage was deleted already, by whichever process removed it.
    return deleting && !isProtected ? 'nothing' : 'delete';
  }
  if (status?.phase === 'Bound' && !isProtected && !deleting) return 'protect';
  return 'nothing';
}

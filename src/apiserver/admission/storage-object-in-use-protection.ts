// Claims and volumes get the protection finalizer at creation, so that none is removed while it is used.

import { persistentVolumeClaims, persistentVolumes } from '../../api/kinds.ts';
import { FINALIZER_PV_PROTECTION, FINALIZER_PVC_PROTECTION } from '../../api/well-known.ts';
import type { AdmissionPlugin } from '../pipeline.ts';
import { isAbout } from './refuse.ts';

export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    mutate(request) {
      const { operation, subresource, object } = request;
      if (operation !== 'create' || subresource !== '' || !object) return;
      const finalizer = isAbout(request, persistentVolumeClaims)
        ? FINALIZER_PVC_PROTECTION
        : isAbout(request, persistentVolumes)
          ? FINALIZER_PV_PROTECTION
          : undefined;
      if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer)) return;
      object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
    },
  };
}

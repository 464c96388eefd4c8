// Claims, volumes and VolumeAttributesClasses get the protection finalizer at creation, so that none is removed while it
// is used.

import { persistentVolumeClaims, persistentVolumes, volumeAttributesClasses } from '../../api/kinds.ts';
import {
  FINALIZER_PV_PROTECTION,
  FINALIZER_PVC_PROTECTION,
  FINALIZER_VAC_PROTECTION,
} from '../../api/well-known.ts';
import type { AdmissionPlugin } from '../pipeline.ts';
import { isAbout } from './refuse.ts';

const PROTECTED = [
  { kind: persistentVolumeClaims, finalizer: FINALIZER_PVC_PROTECTION },
  { kind: persistentVolumes, finalizer: FINALIZER_PV_PROTECTION },
  { kind: volumeAttributesClasses, finalizer: FINALIZER_VAC_PROTECTION },
];

export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    mutate(request) {
      const { operation, subresource, object } = request;
      if (operation !== 'create' || subresource !== '' || !object) return;
      const finalizer = PROTECTED.find(({ kind }) => isAbout(request, kind))?.finalizer;
      if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer)) return;
      object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
    },
  };
}

// A claim's request may grow only when the claim is bound and its class allows expansion.

import type { PersistentVolumeClaim } from '../../api/kinds.ts';
import { persistentVolumeClaims, storageClasses } from '../../api/kinds.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { storageClassOf } from '../../api/volumes.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout, refuse } from './refuse.ts';

const requested = (claim: PersistentVolumeClaim): string => claim.spec.resources?.requests?.storage ?? '0';

export function persistentVolumeClaimResize({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    validate(request) {
      if (!isAbout(request, persistentVolumeClaims) || request.operation !== 'update') return;
      const next = request.object as PersistentVolumeClaim | undefined;
      const current = request.oldObject as PersistentVolumeClaim | undefined;
      if (request.subresource !== '' || !next || !current) return;
      if (compareQuantities(requested(next), requested(current)) <= 0) return;
      if (current.status?.phase !== 'Bound')
        refuse(request, 'Only bound persistent volume claims can be expanded');
      const name = storageClassOf(next);
      const allowed =
        name && name === storageClassOf(current)
          ? reader.get(storageClasses, { name })?.allowVolumeExpansion
          : undefined;
      if (!allowed) {
        refuse(
          request,
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
      }
    },
  };
}

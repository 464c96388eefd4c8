// A claim without a class gets the default class: of several, the newest. An empty class name is a choice and stays.

import { defaultClassOf } from '../../api/default-class.ts';
import type { PersistentVolumeClaim } from '../../api/kinds.ts';
import { persistentVolumeClaims, storageClasses } from '../../api/kinds.ts';
import { storageClassOf } from '../../api/volumes.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout } from './refuse.ts';

export function defaultStorageClass({ reader }: { reader: Reader }): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    mutate(request) {
      if (!isAbout(request, persistentVolumeClaims) || request.operation !== 'create') return;
      const claim = request.object as PersistentVolumeClaim | undefined;
      if (request.subresource !== '' || !claim?.spec || storageClassOf(claim) !== undefined) return;
      const chosen = defaultClassOf(reader.list(storageClasses));
      if (chosen) claim.spec.storageClassName = chosen.metadata.name;
    },
  };
}

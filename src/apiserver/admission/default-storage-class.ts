// A claim that names no class gets the default one: of several, the newest. An empty name is a choice and stays.

import type { PersistentVolumeClaim, StorageClass } from '../../api/kinds.ts';
import { persistentVolumeClaims, storageClasses } from '../../api/kinds.ts';
import { storageClassOf } from '../../api/volumes.ts';
import { ANN_DEFAULT_CLASS } from '../../api/well-known.ts';
import type { AdmissionPlugin, Reader } from '../pipeline.ts';
import { isAbout } from './refuse.ts';

const ANN_DEFAULT_CLASS_BETA = 'storageclass.beta.kubernetes.io/is-default-class';

export function defaultClassOf(classes: Iterable<StorageClass>): StorageClass | undefined {
  let newest: StorageClass | undefined;
  for (const each of classes) {
    const { annotations = {}, creationTimestamp, name } = each.metadata;
    if (annotations[ANN_DEFAULT_CLASS] !== 'true' && annotations[ANN_DEFAULT_CLASS_BETA] !== 'true') continue;
    const isNewer =
      !newest ||
      creationTimestamp > newest.metadata.creationTimestamp ||
      (creationTimestamp === newest.metadata.creationTimestamp && name < newest.metadata.name);
    if (isNewer) newest = each;
  }
  return newest;
}

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

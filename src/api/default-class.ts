// The default storage class. Admission and the binder must agree on it.

import type { StorageClass } from './kinds.ts';
import { ANN_DEFAULT_CLASS } from './well-known.ts';

const ANN_DEFAULT_CLASS_BETA = 'storageclass.beta.kubernetes.io/is-default-class';

export function isDefaultClass({ metadata: { annotations = {} } }: StorageClass): boolean {
  return annotations[ANN_DEFAULT_CLASS] === 'true' || annotations[ANN_DEFAULT_CLASS_BETA] === 'true';
}

/** Of several defaults the newest; of equally new ones the first by name. */
export function defaultClassOf(classes: Iterable<StorageClass>): StorageClass | undefined {
  let newest: StorageClass | undefined;
  for (const each of classes) {
    if (!isDefaultClass(each)) continue;
    const { creationTimestamp, name } = each.metadata;
    const isNewer =
      !newest ||
      creationTimestamp > newest.metadata.creationTimestamp ||
      (creationTimestamp === newest.metadata.creationTimestamp && name < newest.metadata.name);
    if (isNewer) newest = each;
  }
  return newest;
}

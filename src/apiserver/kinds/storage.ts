// Kinds of storage.k8s.io/v1.

import type { Kind } from '../kind.ts';
import {
  csiDriverColumns,
  csiNodeColumns,
  csiStorageCapacityColumns,
  storageClassColumns,
  volumeAttachmentColumns,
  volumeAttributesClassColumns,
} from '../printing/other-columns.ts';
import {
  validateCSIDriver,
  validateCSIDriverUpdate,
  validateCSINode,
  validateCSINodeUpdate,
} from '../validation/csi.ts';
import {
  validateStorageCapacity,
  validateStorageCapacityUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from '../validation/storage-class.ts';
import { validateAttachment, validateAttachmentUpdate } from '../validation/volume-attachment.ts';
import { driverWarnings } from '../validation/warnings.ts';
import { defineKind } from './define-kind.ts';
import { ensureMap, type LooseMap, setDefault } from './loose.ts';

const storage = { group: 'storage.k8s.io', version: 'v1', module: 'storage/v1' };

const storageClassKind = defineKind({
  ...storage,
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
  shortNames: ['sc'],
  columns: storageClassColumns,
  setDefaults(storageClass) {
    setDefault(storageClass, 'reclaimPolicy', 'Delete');
    setDefault(storageClass, 'volumeBindingMode', 'Immediate');
  },
  validate: validateStorageClass,
  validateUpdate: validateStorageClassUpdate,
});

/** `lifecycle` of the inline design is today's `volumeLifecycleModes`; either may be given, and both are returned. */
function mapLifecycle(spec: LooseMap): void {
  if (spec.lifecycle === 'persistent') setDefault(spec, 'volumeLifecycleModes', ['Persistent']);
  else if (spec.lifecycle === 'ephemeral') setDefault(spec, 'volumeLifecycleModes', ['Ephemeral']);
}

const csiDriverKind = defineKind({
  ...storage,
  kind: 'CSIDriver',
  plural: 'csidrivers',
  namespaced: false,
  columns: csiDriverColumns,
  hasGeneration: true,
  startsWithoutGeneration: true,
  setDefaults(driver) {
    const spec = ensureMap(driver, 'spec');
    mapLifecycle(spec);
    setDefault(spec, 'attachRequired', true);
    setDefault(spec, 'podInfoOnMount', false);
    setDefault(spec, 'storageCapacity', false);
    setDefault(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    if (!Array.isArray(spec.volumeLifecycleModes) || spec.volumeLifecycleModes.length === 0) {
      spec.volumeLifecycleModes = ['Persistent'];
    }
    setDefault(spec, 'requiresRepublish', false);
    setDefault(spec, 'seLinuxMount', false);
  },
  warnings: driverWarnings,
  validate: validateCSIDriver,
  validateUpdate: validateCSIDriverUpdate,
});

const csiNodeKind = defineKind({
  ...storage,
  kind: 'CSINode',
  plural: 'csinodes',
  namespaced: false,
  columns: csiNodeColumns,
  validate: validateCSINode,
  validateUpdate: validateCSINodeUpdate,
});

const volumeAttachmentKind = defineKind({
  ...storage,
  kind: 'VolumeAttachment',
  plural: 'volumeattachments',
  namespaced: false,
  subresources: ['status'],
  columns: volumeAttachmentColumns,
  setDefaults(attachment) {
    setDefault(ensureMap(attachment, 'status'), 'attached', false);
  },
  prepareForCreate(attachment) {
    attachment.status = { attached: false };
  },
  validate: validateAttachment,
  validateUpdate: validateAttachmentUpdate,
});

const csiStorageCapacityKind = defineKind({
  ...storage,
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  namespaced: true,
  columns: csiStorageCapacityColumns,
  validate: validateStorageCapacity,
  validateUpdate: validateStorageCapacityUpdate,
});

const volumeAttributesClassKind = defineKind({
  ...storage,
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  namespaced: false,
  shortNames: ['vac'],
  columns: volumeAttributesClassColumns,
  validate: validateVolumeAttributesClass,
  validateUpdate: validateVolumeAttributesClassUpdate,
});

export const storageKinds: readonly Kind[] = [
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  storageClassKind,
  volumeAttachmentKind,
  volumeAttributesClassKind,
];

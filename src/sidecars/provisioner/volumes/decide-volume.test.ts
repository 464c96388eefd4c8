import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, SecretReference, StorageClass } from '../../../api/kinds.ts';
import {
  ANN_DELETION_SECRET_NAME,
  ANN_DELETION_SECRET_NAMESPACE,
  ANN_PROVISIONED_BY,
  FINALIZER_PROVISIONER,
} from '../../../api/well-known.ts';
import { parseDriverName } from '../../../csi/names/driver-name.ts';
import { decideVolume } from './decide-volume.ts';
import { deletionSecretOf } from './deletion-secrets.ts';

const DRIVER = parseDriverName('driver.example');

interface Given {
  driver?: string;
  by?: string;
  isProtected?: boolean;
  policy?: string;
  phase?: string;
  deleting?: boolean;
}

function volume({ driver = DRIVER, by, isProtected, policy = 'Delete', phase, deleting }: Given) {
  return {
    metadata: {
      name: 'pv',
      ...(by && { annotations: { [ANN_PROVISIONED_BY]: by } }),
      ...(isProtected && { finalizers: [FINALIZER_PROVISIONER] }),
      ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { csi: { driver, volumeHandle: 'h' }, persistentVolumeReclaimPolicy: policy },
    ...(phase && { status: { phase } }),
  } as unknown as PersistentVolume;
}

const table: { name: string; given: Given; then: string }[] = [
  { name: 'of another driver', given: { driver: 'other.example', phase: 'Released' }, then: 'nothing' },
  { name: 'of another provisioner', given: { by: 'other.example', phase: 'Released' }, then: 'nothing' },
  { name: 'released', given: { by: DRIVER, phase: 'Released', isProtected: true }, then: 'delete' },
  { name: 'released, made by hand', given: { phase: 'Released' }, then: 'delete' },
  {
    name: 'released and being deleted',
    given: { phase: 'Released', isProtected: true, deleting: true },
    then: 'delete',
  },
  {
    name: 'released, being deleted, its storage deleted already',
    given: { phase: 'Released', deleting: true },
    then: 'nothing',
  },
  { name: 'bound', given: { phase: 'Bound' }, then: 'protect' },
  { name: 'bound and protected', given: { phase: 'Bound', isProtected: true }, then: 'nothing' },
  { name: 'bound and being deleted', given: { phase: 'Bound', deleting: true }, then: 'nothing' },
  { name: 'available', given: { phase: 'Available' }, then: 'nothing' },
  { name: 'without a status', given: {}, then: 'nothing' },
  { name: 'to be kept', given: { policy: 'Retain', phase: 'Released' }, then: 'nothing' },
  {
    name: 'to be kept, protected before',
    given: { policy: 'Retain', phase: 'Released', isProtected: true },
    then: 'release',
  },
];
for (const { name, given, then } of table) {
  test(`a volume ${name}: ${then}`, () => {
    assert.equal(decideVolume(volume(given), DRIVER), then);
  });
}

const storageClass = {
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': 'of-class',
    'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
  },
} as unknown as StorageClass;
const secrets: {
  name: string;
  annotations?: Record<string, string>;
  claimRef?: { name: string; namespace: string };
  storageClass?: StorageClass;
  then: SecretReference | undefined | RegExp;
}[] = [
  { name: 'none', then: undefined },
  {
    name: 'from the annotations, whatever the class says',
    annotations: { [ANN_DELETION_SECRET_NAME]: 's', [ANN_DELETION_SECRET_NAMESPACE]: 'kube-system' },
    claimRef: { name: 'data', namespace: 'default' },
    storageClass,
    then: { name: 's', namespace: 'kube-system' },
  },
  {
    name: 'from the class of an older volume',
    claimRef: { name: 'data', namespace: 'default' },
    storageClass,
    then: { name: 'of-class', namespace: 'ns' },
  },
  { name: 'none without a claim to resolve templates with', storageClass, then: undefined },
  {
    name: 'none of a class without parameters',
    claimRef: { name: 'data', namespace: 'default' },
    storageClass: {} as StorageClass,
    then: undefined,
  },
  {
    name: 'none when both are empty',
    annotations: { [ANN_DELETION_SECRET_NAME]: '', [ANN_DELETION_SECRET_NAMESPACE]: '' },
    claimRef: { name: 'data', namespace: 'default' },
    storageClass,
    then: undefined,
  },
  {
    name: 'unknown without its namespace',
    annotations: { [ANN_DELETION_SECRET_NAME]: 's' },
    then: new RegExp(`half.*${ANN_DELETION_SECRET_NAMESPACE} `),
  },
  {
    name: 'unknown without its name',
    annotations: { [ANN_DELETION_SECRET_NAMESPACE]: 'ns' },
    then: new RegExp(`half.*${ANN_DELETION_SECRET_NAME} `),
  },
];
for (const { name, annotations, claimRef, storageClass: given, then } of secrets) {
  test(`[SEC-1] the secret of DeleteVolume: ${name}`, () => {
    const pv = {
      metadata: { name: 'pv', ...(annotations && { annotations }) },
      spec: { ...(claimRef && { claimRef }) },
    } as PersistentVolume;
    if (then instanceof RegExp) assert.throws(() => deletionSecretOf(pv, given), then);
    else assert.deepEqual(deletionSecretOf(pv, given), then);
  });
}

// Claims that get no volume.

import { resourceQuotas } from '../../src/api/kinds.ts';
import { DOWN, delayed, type Situation, secretParameters, ZONE } from './stage.ts';

/** A claim whose class makes the driver fail; it says what the driver answers, unless told otherwise. */
const failing = (
  name: string,
  parameters: Record<string, string>,
  says = Object.values(parameters)[0] ?? '',
): Situation => ({
  name,
  says,
  async make(stage) {
    await stage.storageClass(parameters);
    return stage.claim();
  },
});

export const claimSituations: readonly Situation[] = [
  {
    name: 'a claim names no class, and none is the default',
    says: 'names no StorageClass, and none is the default',
    make: (stage) => stage.claim('data', { storageClassName: undefined }),
  },
  {
    name: 'the class of a claim does not exist',
    says: 'its StorageClass fast does not exist',
    make: (stage) => stage.claim(),
  },
  {
    name: 'the class names a provisioner that nobody runs',
    says: 'no driver of that name is installed',
    async make(stage) {
      await stage.storageClass({}, { provisioner: 'other.csi.test' });
      return stage.claim();
    },
  },
  {
    name: 'a claim of a delayed class is used by no pod',
    state: 'waits',
    says: 'only once a pod uses the claim, and none does',
    async make(stage) {
      await stage.storageClass({}, delayed);
      return stage.claim();
    },
  },
  {
    name: 'a pod with a claim of a delayed class names its node itself',
    says: 'which bypasses the scheduler',
    async make(stage) {
      await stage.storageClass({}, delayed);
      await stage.claim();
      return stage.pod('web', { nodeName: 'node-1' });
    },
  },
  {
    name: 'a claim asks for a volume by name that does not exist',
    says: 'PersistentVolume absent, which does not exist',
    make: (stage) => stage.claim('data', { storageClassName: '', volumeName: 'absent' }),
  },
  failing(
    'the provisioner secret of the class does not exist',
    secretParameters('provisioner', 'absent'),
    'secret default/absent does not exist',
  ),
  failing('the driver makes no volumes of this size', {
    CreateVolume: 'OUT_OF_RANGE: volumes have at most 100 MiB',
  }),
  failing('the storage is full', { CreateVolume: 'RESOURCE_EXHAUSTED: pool a has 12 MiB left' }),
  failing('the driver does not know a parameter of the class', {
    CreateVolume: 'INVALID_ARGUMENT: unknown parameter "tipe"',
  }),
  failing('the driver may not make volumes', {
    CreateVolume: 'PERMISSION_DENIED: account berth may not write to pool a',
  }),
  failing(
    'the storage does not answer in time',
    { CreateVolume: 'HANG' },
    'does not answer CreateVolume in time',
  ),
  {
    name: 'no node is where the class allows volumes',
    says: '/zone=moon, and no node has these labels',
    async make(stage) {
      const allowedTopologies = [{ matchLabelExpressions: [{ key: ZONE, values: ['moon'] }] }];
      await stage.storageClass({}, { ...delayed, allowedTopologies });
      await stage.claim();
      return stage.pod('web');
    },
  },
  {
    name: 'the snapshot to restore does not exist',
    says: 'VolumeSnapshot default/absent, does not exist',
    async make(stage) {
      await stage.storageClass();
      const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'absent' };
      return stage.claim('data', { dataSource });
    },
  },
  {
    name: 'the data source is of a kind that nobody fills',
    state: 'waits',
    says: 'waits for a populator',
    async make(stage) {
      await stage.storageClass();
      return stage.claim('data', { dataSourceRef: { apiGroup: 'example.com', kind: 'Backup', name: 'b' } });
    },
  },
  {
    name: 'the data source names a snapshot in the wrong group',
    says: 'a VolumeSnapshot of group "example.com"',
    async make(stage) {
      await stage.storageClass();
      return stage.claim('data', {
        dataSourceRef: { apiGroup: 'example.com', kind: 'VolumeSnapshot', name: 'b' },
      });
    },
  },
  {
    name: 'the claim to clone does not exist',
    says: 'PersistentVolumeClaim default/absent, does not exist',
    async make(stage) {
      await stage.storageClass();
      return stage.claim('data', { dataSource: { kind: 'PersistentVolumeClaim', name: 'absent' } });
    },
  },
  {
    name: 'the controller of the driver is down',
    says: 'driver down.csi.test is down',
    async make(stage) {
      await stage.storageClass({}, { provisioner: DOWN });
      return stage.claim();
    },
  },
  {
    name: 'the quota leaves no room for the claim of an ephemeral volume',
    says: 'exceeded quota: storage',
    async make(stage) {
      await stage.storageClass();
      await stage.create(resourceQuotas, {
        metadata: { name: 'storage' },
        spec: { hard: { 'requests.storage': '1Mi' } },
      });
      const spec = {
        storageClassName: stage.className,
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      };
      return stage.pod('web', { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }] });
    },
  },
];

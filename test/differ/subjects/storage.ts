// Volumes, claims and the kinds of storage.k8s.io.

import type { Subject } from './subject.ts';

const term = (key: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator: 'In', values }],
});
const required = (...terms: ReturnType<typeof term>[]) => ({ required: { nodeSelectorTerms: terms } });
const SECRET = { name: 'secret', namespace: 'default' };
const quantities = ['2Gi', '500Mi', '1.5', '100m', '1500m', '0', '-1Gi', 'x', 5, '1e3'];
const storage = { apiVersion: 'storage.k8s.io/v1' };

export const storageSubjects: readonly Subject[] = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    plural: 'persistentvolumes',
    namespaced: false,
    subresources: ['status'],
    sample: {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        csi: { driver: 'csi.example.com', volumeHandle: 'h1', volumeAttributes: { a: 'b' } },
        nodeAffinity: required(term('zone', 'a')),
      },
    },
    values: {
      'spec/capacity/storage': quantities,
      'spec/capacity/cpu': ['1'],
      'spec/capacity': [{}],
      'spec/accessModes': [
        ['ReadWriteMany'],
        ['ReadWriteOncePod'],
        ['ReadWriteOncePod', 'ReadWriteOnce'],
        ['x'],
      ],
      'spec/persistentVolumeReclaimPolicy': ['Delete', 'Retain', 'Recycle', 'Keep'],
      'spec/volumeMode': ['Block', 'Filesystem', 'Other'],
      'spec/storageClassName': ['slow', 'Not Valid'],
      'spec/mountOptions': [['noatime'], ['a', 'b']],
      'spec/claimRef': [
        { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c', uid: 'u' },
        { namespace: 'default', name: 'c' },
        { name: 'c' },
      ],
      'spec/nodeAffinity': [
        required(term('zone', 'b')),
        required(term('zone', 'a'), term('zone', 'c')),
        { required: { nodeSelectorTerms: [] } },
        { required: { nodeSelectorTerms: [{}] } },
        { required: { nodeSelectorTerms: [term('not valid!', 'a')] } },
      ],
      'spec/volumeAttributesClassName': ['gold', 'silver', 'Not Valid'],
      'spec/csi/driver': [
        'other.example.com',
        'UPPER.example.com',
        'not valid',
        'x'.repeat(64),
        'x'.repeat(63),
      ],
      'spec/csi/volumeHandle': ['h2'],
      'spec/csi/fsType': ['xfs'],
      'spec/csi/readOnly': [true],
      'spec/csi/volumeAttributes': [{ c: 'd' }],
      'spec/csi/controllerExpandSecretRef': [
        SECRET,
        { ...SECRET, name: 'two' },
        { name: 'secret' },
        { ...SECRET, name: 'UPPER' },
      ],
      'spec/csi/nodePublishSecretRef': [SECRET, { namespace: 'default' }],
      'spec/csi/nodeExpandSecretRef': [SECRET],
      'spec/csi': [{ driver: 'csi.example.com' }],
      'spec/hostPath': [
        { path: '/data' },
        { path: '/a/../b' },
        { path: '..' },
        { path: '/a', type: 'Directory' },
        { path: '/a', type: 'Odd' },
      ],
      'spec/local': [{ path: '/disk' }, { path: '/a/../b' }],
      'spec/nfs': [
        { server: 's', path: '/p' },
        { server: 's', path: 'p' },
      ],
      'status/phase': ['Bound', 'Odd'],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    plural: 'persistentvolumeclaims',
    namespaced: true,
    subresources: ['status'],
    sample: {
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        storageClassName: 'fast',
      },
    },
    values: {
      'spec/accessModes': [
        ['ReadWriteMany'],
        ['ReadWriteOncePod'],
        ['ReadWriteOncePod', 'ReadWriteOnce'],
        ['x'],
      ],
      'spec/resources/requests/storage': quantities,
      'spec/resources/limits': [{ storage: '2Gi' }, { storage: '500Mi' }],
      'spec/resources/claims': [[{ name: 'x' }]],
      'spec/storageClassName': ['slow', 'Not Valid'],
      'spec/volumeMode': ['Block', 'Other'],
      'spec/volumeName': ['pv-1'],
      'spec/selector': [
        { matchLabels: { a: 'b' } },
        { matchExpressions: [{ key: 'a', operator: 'Odd' }] },
        { matchLabels: { 'not valid!': 'b' } },
      ],
      'spec/dataSource': [
        { kind: 'PersistentVolumeClaim', name: 'c' },
        { apiGroup: '', kind: 'PersistentVolumeClaim', name: 'c' },
        { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' },
        { apiGroup: 'example.com', kind: 'Thing', name: 't' },
        { kind: 'Secret', name: 's' },
        { kind: 'PersistentVolumeClaim' },
      ],
      'spec/dataSourceRef': [
        { kind: 'PersistentVolumeClaim', name: 'c' },
        { apiGroup: '', kind: 'PersistentVolumeClaim', name: 'c' },
        { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' },
        { apiGroup: 'example.com', kind: 'Thing', name: 't' },
        { apiGroup: 'example.com', kind: 'Thing', name: 't', namespace: 'other' },
        { kind: 'Secret', name: 's' },
      ],
      'spec/volumeAttributesClassName': ['gold', 'Not Valid'],
      'status/phase': ['Bound', 'Odd'],
      'status/capacity': [{ storage: '1Gi' }],
      'status/conditions': [[{ type: 'Resizing', status: 'True' }]],
      'status/allocatedResourceStatuses': [{ storage: 'ControllerResizeInProgress' }, { storage: 'Odd' }],
    },
  },
  {
    ...storage,
    kind: 'StorageClass',
    plural: 'storageclasses',
    namespaced: false,
    sample: { provisioner: 'csi.example.com' },
    values: {
      provisioner: ['other.example.com', 'not valid!', 'UPPER'],
      parameters: [{ a: 'b' }, { '': 'x' }],
      reclaimPolicy: ['Retain', 'Delete', 'Recycle', 'Odd'],
      volumeBindingMode: ['Immediate', 'WaitForFirstConsumer', 'Odd'],
      allowVolumeExpansion: [true, false],
      mountOptions: [['a']],
      allowedTopologies: [
        [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
        [{ matchLabelExpressions: [{ key: 'zone', values: [] }] }],
        [{ matchLabelExpressions: [{ key: 'zone', values: ['a', 'a'] }] }],
      ],
    },
  },
  {
    ...storage,
    kind: 'VolumeAttributesClass',
    plural: 'volumeattributesclasses',
    namespaced: false,
    sample: { driverName: 'csi.example.com', parameters: { iops: '100' } },
    values: {
      driverName: ['other.example.com', 'Not Valid'],
      parameters: [{ iops: '200' }, { '': 'x' }],
    },
  },
  {
    ...storage,
    kind: 'CSIDriver',
    plural: 'csidrivers',
    namespaced: false,
    sample: { spec: { attachRequired: true, volumeLifecycleModes: ['Persistent'] } },
    values: {
      'spec/attachRequired': [false, 'yes'],
      'spec/podInfoOnMount': [true],
      'spec/storageCapacity': [true],
      'spec/fsGroupPolicy': ['File', 'None', 'Odd'],
      'spec/requiresRepublish': [true],
      'spec/seLinuxMount': [true],
      'spec/volumeLifecycleModes': [['Ephemeral'], ['Persistent', 'Ephemeral'], ['Odd']],
      'spec/tokenRequests': [
        [{ audience: 'a' }],
        [{ audience: 'a' }, { audience: 'a' }],
        [{ audience: 'a', expirationSeconds: 1 }],
      ],
      'spec/nodeAllocatableUpdatePeriodSeconds': [60, 5],
      'spec/serviceAccountTokenInSecrets': [true],
    },
  },
  {
    ...storage,
    kind: 'CSINode',
    plural: 'csinodes',
    namespaced: false,
    sample: { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n1', topologyKeys: ['zone'] }] } },
    values: {
      'spec/drivers': [
        [{ name: 'csi.example.com', nodeID: 'n2' }],
        [
          { name: 'a.example.com', nodeID: 'n1', topologyKeys: null },
          { name: 'a.example.com', nodeID: 'n1', topologyKeys: [] },
        ],
      ],
      'spec/drivers/0/name': ['UPPER', 'not valid'],
      'spec/drivers/0/nodeID': ['x'.repeat(200)],
      'spec/drivers/0/topologyKeys': [['zone', 'zone'], ['not valid!'], ['zone', 'rack']],
      'spec/drivers/0/allocatable': [{ count: 5 }, { count: -1 }],
    },
  },
  {
    ...storage,
    kind: 'CSIStorageCapacity',
    plural: 'csistoragecapacities',
    namespaced: true,
    sample: { storageClassName: 'fast', capacity: '1Gi', nodeTopology: { matchLabels: { zone: 'a' } } },
    values: {
      storageClassName: ['slow', 'Not Valid'],
      capacity: quantities,
      maximumVolumeSize: quantities,
      nodeTopology: [{ matchLabels: { zone: 'b' } }, { matchLabels: { 'not valid!': 'b' } }],
    },
  },
  {
    ...storage,
    kind: 'VolumeAttachment',
    plural: 'volumeattachments',
    namespaced: false,
    subresources: ['status'],
    sample: {
      spec: { attacher: 'csi.example.com', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
    },
    values: {
      'spec/attacher': ['other.example.com', 'UPPER', 'not valid', 'x'.repeat(64)],
      'spec/nodeName': ['n2', 'Not Valid'],
      'spec/source': [
        { persistentVolumeName: 'pv-2' },
        { persistentVolumeName: 'Not Valid' },
        {
          persistentVolumeName: 'pv-1',
          inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } },
        },
        { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } } },
      ],
      'status/attached': [true],
      'status/attachmentMetadata': [{ a: 'b' }],
      'status/attachError': [{ message: 'failed', errorCode: 5 }, { message: 'x'.repeat(3000) }],
    },
  },
];

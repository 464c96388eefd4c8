// The cells of all kinds but pods, with all their fields and without any.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { builtinKinds } from '../kinds/index.ts';
import { selectorText } from './other-columns.ts';

type Cells = Record<string, string | number | boolean>;
const template = {
  spec: {
    nodeSelector: { b: '2', a: '1' },
    containers: [
      { name: 'c', image: 'i' },
      { name: 'd', image: 'j' },
    ],
  },
};
const selector = { matchLabels: { b: '2', a: '1' } };
const address = (count: number) => Array.from({ length: count }, (_, at) => ({ ip: `10.0.0.${at}` }));
const ports = [
  { port: 80, protocol: 'TCP' },
  { port: 53, nodePort: 3053, protocol: 'UDP' },
];

const table: [string, string, object, Cells][] = [
  [
    'StorageClass',
    'of a default',
    {
      metadata: { name: 'x', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p',
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    },
    {
      Name: 'x (default)',
      Provisioner: 'p',
      ReclaimPolicy: 'Retain',
      VolumeBindingMode: 'WaitForFirstConsumer',
      AllowVolumeExpansion: true,
    },
  ],
  [
    'StorageClass',
    'of an old default',
    { metadata: { name: 'x', annotations: { 'storageclass.beta.kubernetes.io/is-default-class': 'true' } } },
    { Name: 'x (default)' },
  ],
  [
    'StorageClass',
    'of nothing',
    { metadata: { name: 'x', annotations: { 'storageclass.kubernetes.io/is-default-class': 'false' } } },
    { Name: 'x', ReclaimPolicy: 'Delete', VolumeBindingMode: 'Immediate', AllowVolumeExpansion: false },
  ],
  [
    'CSIDriver',
    'of all',
    {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        storageCapacity: true,
        requiresRepublish: true,
        tokenRequests: [{ audience: 'a' }, { audience: '' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    {
      AttachRequired: false,
      PodInfoOnMount: true,
      StorageCapacity: true,
      RequiresRepublish: true,
      TokenRequests: 'a,',
      Modes: 'Persistent,Ephemeral',
    },
  ],
  [
    'CSIDriver',
    'of nothing',
    { spec: {} },
    {
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      RequiresRepublish: false,
      TokenRequests: '<unset>',
      Modes: '<none>',
    },
  ],
  [
    'VolumeAttachment',
    'of all',
    {
      spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
      status: { attached: true },
    },
    { Attacher: 'd', Node: 'n', PV: 'pv', Attached: true },
  ],
  ['VolumeAttachment', 'without status', { spec: {} }, { Attached: false }],
  [
    'CSIStorageCapacity',
    'of all',
    { storageClassName: 'fast', capacity: '1024Mi' },
    { StorageClassName: 'fast', Capacity: '1Gi' },
  ],
  ['CSIStorageCapacity', 'without capacity', {}, { Capacity: '<unset>' }],
  [
    'ClusterRoleBinding',
    'of all',
    {
      roleRef: { kind: 'ClusterRole', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'User', name: 'v' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's' },
        { kind: 'ServiceAccount', namespace: 'n', name: 's' },
      ],
    },
    { Role: 'ClusterRole/r', Users: 'u, v', Groups: 'g', ServiceAccounts: '/s, n/s' },
  ],
  [
    'PodSecurityPolicy',
    'of all',
    { spec: { privileged: true, readOnlyRootFilesystem: true, volumes: ['csi', 'secret'] } },
    { Priv: 'true', ReadOnlyRootFs: 'true', Volumes: 'csi,secret' },
  ],
  ['PodSecurityPolicy', 'of nothing', { spec: {} }, { Priv: 'false', ReadOnlyRootFs: 'false', Volumes: '' }],
  [
    'Deployment',
    'of all',
    {
      spec: { replicas: 3, template, selector },
      status: { readyReplicas: 2, updatedReplicas: 1, availableReplicas: 4 },
    },
    { Ready: '2/3', 'Up-to-date': 1, Available: 4, Containers: 'c,d', Images: 'i,j', Selector: 'a=1,b=2' },
  ],
  [
    'Deployment',
    'of nothing',
    { spec: {} },
    { Ready: '0/0', 'Up-to-date': 0, Available: 0, Containers: '', Images: '', Selector: '<none>' },
  ],
  [
    'StatefulSet',
    'of all',
    { spec: { replicas: 3, template }, status: { readyReplicas: 2 } },
    { Ready: '2/3', Containers: 'c,d', Images: 'i,j' },
  ],
  ['StatefulSet', 'of nothing', { spec: {} }, { Ready: '0/0' }],
  [
    'DaemonSet',
    'of all',
    {
      spec: { template, selector },
      status: {
        desiredNumberScheduled: 5,
        currentNumberScheduled: 4,
        numberReady: 3,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
      },
    },
    {
      Desired: 5,
      Current: 4,
      Ready: 3,
      'Up-to-date': 2,
      Available: 1,
      'Node Selector': 'a=1,b=2',
      Selector: 'a=1,b=2',
    },
  ],
  ['DaemonSet', 'of nothing', { spec: {} }, { Desired: 0, 'Node Selector': '<none>' }],
  [
    'Service',
    'of a cluster',
    { spec: { type: 'ClusterIP', clusterIP: '10.0.0.1', ports, selector: { app: 'x' } } },
    {
      Type: 'ClusterIP',
      'Cluster-IP': '10.0.0.1',
      'External-IP': '<none>',
      'Port(s)': '80/TCP,53:3053/UDP',
      Selector: 'app=x',
    },
  ],
  [
    'Service',
    'of external addresses',
    { spec: { type: 'ClusterIP', externalIPs: ['1.1.1.1', '2.2.2.2'] } },
    { 'External-IP': '1.1.1.1,2.2.2.2' },
  ],
  [
    'Service',
    'of another name',
    { spec: { type: 'ExternalName', externalName: 'example.org' } },
    { 'Cluster-IP': '<none>', 'External-IP': 'example.org', 'Port(s)': '<none>', Selector: '<none>' },
  ],
  ['Service', 'of no other name', { spec: { type: 'ExternalName' } }, { 'External-IP': '<none>' }],
  [
    'Service',
    'of a balancer',
    {
      spec: { type: 'LoadBalancer', externalIPs: ['3.3.3.3'] },
      status: { loadBalancer: { ingress: [{ ip: '1.1.1.1' }, { hostname: 'lb' }] } },
    },
    { 'External-IP': '1.1.1.1,lb,3.3.3.3' },
  ],
  ['Service', 'of a balancer that waits', { spec: { type: 'LoadBalancer' } }, { 'External-IP': '<pending>' }],
  [
    'Endpoints',
    'of three',
    { subsets: [{ addresses: address(3), ports: [{ port: 80 }] }] },
    { Endpoints: '10.0.0.0:80,10.0.0.1:80,10.0.0.2:80' },
  ],
  [
    'Endpoints',
    'of five',
    { subsets: [{ addresses: address(5) }] },
    { Endpoints: '10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...' },
  ],
  ['Endpoints', 'of none', {}, { Endpoints: '<none>' }],
  [
    'EndpointSlice',
    'of all',
    {
      addressType: 'IPv4',
      ports: [{ port: 80 }, {}],
      endpoints: [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.2'] }],
    },
    { AddressType: 'IPv4', Ports: '80,*', Endpoints: '10.0.0.1,10.0.0.2' },
  ],
  ['EndpointSlice', 'of none', {}, { Ports: '<unset>', Endpoints: '<unset>' }],
  [
    'PriorityClass',
    'of all',
    { value: 5, globalDefault: true, preemptionPolicy: 'Never' },
    { Value: 5, 'Global-Default': true, PreemptionPolicy: 'Never' },
  ],
  ['PriorityClass', 'of nothing', { value: 5 }, { 'Global-Default': false }],
];
for (const [kindName, name, body, cells] of table) {
  test(`printing of a ${kindName} ${name}`, () => {
    const kind = builtinKinds.find((each) => each.kind === kindName);
    const object = { metadata: { name: 'x' }, ...body } as unknown as KubeObject;
    const printed = (kind?.columns ?? [])
      .filter((column) => column.name in cells)
      .map((column) => [column.name, column.cell(object, 0)]);
    assert.deepEqual(Object.fromEntries(printed), cells);
  });
}

test('a selector with expressions', () => {
  const matchExpressions = [
    { key: 'a', operator: 'Exists' },
    { key: 'b', operator: 'DoesNotExist' },
    { key: 'c', operator: 'NotIn', values: ['y', 'x'] },
  ];
  assert.equal(selectorText({ matchLabels: { z: '1' }, matchExpressions }), 'z=1,a,!b,c notin (x,y)');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { builtinKinds } from '../kinds/index.ts';
import { ageOf, humanDuration } from './age.ts';
import { toTable } from './table.ts';

const NOW = Date.parse('2026-01-02T00:00:00Z');
const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;
const durations: [number, string][] = [
  [-2 * S, '<invalid>'],
  [-500, '0s'],
  [0, '0s'],
  [119 * S, '119s'],
  [2 * M, '2m'],
  [5 * M + 10 * S, '5m10s'],
  [42 * M + 59 * S, '42m'],
  [3 * H, '3h'],
  [5 * H + 12 * M, '5h12m'],
  [30 * H, '30h'],
  [3 * D + 4 * H, '3d4h'],
  [300 * D, '300d'],
  [800 * D, '2y70d'],
  [4000 * D, '10y'],
];
for (const [durationMs, expected] of durations) {
  test(`${durationMs} ms is shown as ${expected}`, () => assert.equal(humanDuration(durationMs), expected));
}

test('an age without a timestamp is <unknown>', () => assert.equal(ageOf(undefined, NOW), '<unknown>'));

type Body = Record<string, unknown>;
function rowOf(kind: string, body: Body, metadata: Body = {}): Record<string, unknown> {
  const found = builtinKinds.find((each) => each.kind === kind);
  assert.ok(found);
  const one = {
    apiVersion: 'v1',
    kind,
    metadata: { name: 'x', creationTimestamp: '2026-01-01T23:59:00Z', ...metadata },
    ...body,
  };
  const { columnDefinitions, rows } = toTable(found, [one as unknown as KubeObject], {
    includeObject: 'None',
    nowMs: NOW,
    listMetadata: {},
  });
  const { cells } = rows[0] as { cells: unknown[] };
  return Object.fromEntries(
    columnDefinitions.map((each, at) => [(each as { name: string }).name, cells[at]]),
  );
}

const running = { name: 'c', ready: true, restartCount: 0, state: { running: {} } };
const podStates: [string, Body, Body, Body][] = [
  ['pending', { phase: 'Pending' }, {}, { Ready: '0/1', Status: 'Pending', Restarts: '0' }],
  ['running', { phase: 'Running', containerStatuses: [running] }, {}, { Ready: '1/1', Status: 'Running' }],
  [
    'waiting',
    {
      phase: 'Pending',
      containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ContainerCreating' } } }],
    },
    {},
    { Status: 'ContainerCreating' },
  ],
  [
    'crashed',
    {
      phase: 'Running',
      containerStatuses: [
        {
          name: 'c',
          restartCount: 3,
          lastState: { terminated: { finishedAt: '2026-01-01T23:58:00Z' } },
          state: { waiting: { reason: 'CrashLoopBackOff' } },
        },
      ],
    },
    {},
    { Status: 'CrashLoopBackOff', Restarts: '3 (2m ago)' },
  ],
  [
    'initializing',
    { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { running: {} } }] },
    {},
    { Status: 'Init:0/1' },
  ],
  [
    'init failed',
    { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 2 } } }] },
    {},
    { Status: 'Init:ExitCode:2' },
  ],
  [
    'going',
    { phase: 'Running', containerStatuses: [running] },
    { deletionTimestamp: '2026-01-01T23:59:30Z' },
    { Status: 'Terminating' },
  ],
  [
    'done',
    {
      phase: 'Succeeded',
      containerStatuses: [{ name: 'c', state: { terminated: { reason: 'Completed', exitCode: 0 } } }],
    },
    {},
    { Ready: '0/1', Status: 'Completed' },
  ],
];
for (const [name, status, metadata, expected] of podStates) {
  test(`a pod that is ${name}`, () => {
    const row = rowOf(
      'Pod',
      { spec: { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }] }, status },
      metadata,
    );
    for (const [column, value] of Object.entries(expected)) assert.equal(row[column], value, column);
  });
}

const rows: [string, Body, Body, Body][] = [
  [
    'PersistentVolume',
    {
      spec: {
        capacity: { storage: '1024Mi' },
        accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { namespace: 'd', name: 'c' },
        storageClassName: 'fast',
        volumeMode: 'Block',
      },
      status: { phase: 'Bound' },
    },
    {},
    {
      Name: 'x',
      Capacity: '1Gi',
      'Access Modes': 'RWO,RWX',
      'Reclaim Policy': 'Delete',
      Status: 'Bound',
      Claim: 'd/c',
      StorageClass: 'fast',
      VolumeAttributesClass: '<unset>',
      Reason: '',
      Age: '60s',
      VolumeMode: 'Block',
    },
  ],
  [
    'PersistentVolumeClaim',
    {
      spec: { volumeName: 'v', volumeMode: 'Filesystem' },
      status: { phase: 'Bound', capacity: { storage: '5Gi' }, accessModes: ['ReadWriteOncePod'] },
    },
    {},
    {
      Name: 'x',
      Status: 'Bound',
      Volume: 'v',
      Capacity: '5Gi',
      'Access Modes': 'RWOP',
      StorageClass: '',
      VolumeAttributesClass: '<unset>',
      Age: '60s',
      VolumeMode: 'Filesystem',
    },
  ],
  [
    'StorageClass',
    { provisioner: 'p.io', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
    { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    {
      Name: 'x (default)',
      Provisioner: 'p.io',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: false,
      Age: '60s',
    },
  ],
  [
    'VolumeAttachment',
    {
      spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } },
      status: { attached: true },
    },
    {},
    { Name: 'x', Attacher: 'a', PV: 'p', Node: 'n', Attached: true, Age: '60s' },
  ],
  ['CSINode', { spec: { drivers: [{}, {}] } }, {}, { Name: 'x', Drivers: 2, Age: '60s' }],
  [
    'Node',
    {
      spec: { unschedulable: true },
      status: { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1' } },
    },
    { labels: { 'node-role.kubernetes.io/worker': '' } },
    {
      Status: 'Ready,SchedulingDisabled',
      Roles: 'worker',
      Version: 'v1',
      'Internal-IP': '<none>',
      'OS-Image': '<unknown>',
    },
  ],
  [
    'Event',
    {
      involvedObject: { kind: 'Pod', name: 'p' },
      type: 'Normal',
      reason: 'Started',
      message: ' ok \n',
      lastTimestamp: '2026-01-01T23:50:00Z',
      source: { component: 'kubelet', host: 'n' },
    },
    {},
    {
      'Last Seen': '10m',
      Type: 'Normal',
      Reason: 'Started',
      Object: 'pod/p',
      Message: 'ok',
      Source: 'kubelet, n',
      Count: 1,
    },
  ],
  [
    'RoleBinding',
    {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', namespace: 'd', name: 's' },
      ],
    },
    {},
    { Role: 'Role/r', Users: 'u', Groups: '', ServiceAccounts: 'd/s' },
  ],
];
for (const [kind, body, metadata, expected] of rows) {
  test(`the columns of ${kind}`, () => {
    const row = rowOf(kind, body, metadata);
    for (const [column, value] of Object.entries(expected)) assert.equal(row[column], value, column);
  });
}

test('rows include the object as includeObject requests', () => {
  const kind = builtinKinds.find((each) => each.kind === 'Secret');
  assert.ok(kind);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    data: { a: 'eA==' },
  } as unknown as KubeObject;
  const rowFor = (includeObject: string) =>
    toTable(kind, [secret], { includeObject, nowMs: NOW, listMetadata: {} }).rows[0] as { object?: Body };
  assert.equal(rowFor('None').object, undefined);
  assert.deepEqual(Object.keys(rowFor('Metadata').object ?? {}), ['kind', 'apiVersion', 'metadata']);
  assert.equal(rowFor('Object').object, secret);
});

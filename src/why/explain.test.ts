// Which link of the chain is named, and what is advised, for the ways in which volumes get stuck.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../api/object.ts';
import { explain } from './explain.ts';
import type { Facts } from './facts.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const EARLIER = '2026-01-01T00:09:18Z';
const DRIVER = 'd.csi.test';

type Fields = Record<string, unknown>;
const object = (metadata: Fields, rest: Fields = {}): KubeObject =>
  ({ metadata: { uid: `uid-${metadata.name}`, creationTimestamp: EARLIER, ...metadata }, ...rest }) as never;

const here = (name: string, more: Fields = {}) => ({ name, namespace: 'ns', ...more });
const claim = (spec: Fields = {}, status: Fields = { phase: 'Pending' }, metadata: Fields = {}) =>
  object(here('data', metadata), { spec: { storageClassName: 'fast', ...spec }, status });
const bound = claim({ volumeName: 'pv1' }, { phase: 'Bound', capacity: { storage: '1Gi' } });
const asked = (metadata: Fields = {}) =>
  claim(
    {},
    { phase: 'Pending' },
    { annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER }, ...metadata },
  );
const storageClass = (more: Fields = {}) => object({ name: 'fast' }, { provisioner: DRIVER, ...more });
const volume = (spec: Fields = {}, status: Fields = { phase: 'Bound' }, metadata: Fields = {}) =>
  object(
    { name: 'pv1', ...metadata },
    {
      spec: {
        csi: { driver: DRIVER, volumeHandle: 'h1' },
        accessModes: ['ReadWriteOnce'],
        claimRef: here('data'),
        ...spec,
      },
      status,
    },
  );
const pod = (spec: Fields = {}, status: Fields = { phase: 'Pending' }, metadata: Fields = {}) =>
  object(here('web', metadata), {
    spec: { nodeName: 'n1', volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }], ...spec },
    status,
  });
const node = (name: string, ready = 'True') =>
  object({ name }, { status: { conditions: [{ type: 'Ready', status: ready }] } });
const csiNode = (name: string, drivers: string[] = [DRIVER]) =>
  object({ name }, { spec: { drivers: drivers.map((each) => ({ name: each, nodeID: name })) } });
const attachment = (nodeName: string, status: Fields = {}, metadata: Fields = {}) =>
  object(
    { name: `va-${nodeName}`, ...metadata },
    { spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: 'pv1' } }, status },
  );
const lease = (name: string, renewTime: string) =>
  object({ name, namespace: 'kube-system' }, { spec: { renewTime, leaseDurationSeconds: 15 } });

const facts = (some: Record<string, readonly KubeObject[]> = {}): Facts =>
  ({
    nowMs: NOW,
    pods: [],
    claims: [],
    volumes: [],
    classes: [storageClass()],
    attachments: [],
    drivers: [],
    csiNodes: [csiNode('n1'), csiNode('n2')],
    nodes: [node('n1'), node('n2')],
    leases: [],
    events: [],
    unread: [],
    ...some,
  }) as unknown as Facts;

interface Case {
  what: string;
  subject: 'pod' | 'claim' | 'volume';
  asked: KubeObject;
  facts: Facts;
  state: 'ok' | 'waits' | 'stuck';
  says: RegExp;
  todo?: RegExp;
}

const reached = { claims: [bound], volumes: [volume()] };
const old = pod({ nodeName: 'n2' }, { phase: 'Running' }, { name: 'old' });

const cases: Case[] = [
  // Claims
  {
    what: 'no class, no default',
    subject: 'claim',
    asked: claim({ storageClassName: undefined }),
    facts: facts(),
    state: 'stuck',
    says: /names no StorageClass, and none is the default/,
    todo: /is-default-class/,
  },
  {
    what: 'class missing',
    subject: 'claim',
    asked: claim({ storageClassName: 'gone' }),
    facts: facts(),
    state: 'stuck',
    says: /StorageClass gone does not exist/,
    todo: /create StorageClass gone/,
  },
  {
    what: 'no class wanted',
    subject: 'claim',
    asked: claim({ storageClassName: '' }),
    facts: facts(),
    state: 'stuck',
    says: /without a class for 42s; none is provisioned/,
  },
  {
    what: 'static class',
    subject: 'claim',
    asked: claim(),
    facts: facts({ classes: [storageClass({ provisioner: 'kubernetes.io/no-provisioner' })] }),
    state: 'stuck',
    says: /provisions no volumes/,
  },
  {
    what: 'volume by name missing',
    subject: 'claim',
    asked: claim({ volumeName: 'pv9' }),
    facts: facts(),
    state: 'stuck',
    says: /asks for PersistentVolume pv9, which does not exist/,
  },
  {
    what: 'delayed, no pod',
    subject: 'claim',
    asked: claim(),
    facts: facts({ classes: [storageClass({ volumeBindingMode: 'WaitForFirstConsumer' })] }),
    state: 'waits',
    says: /only once a pod uses the claim/,
    todo: /create a pod/,
  },
  {
    what: 'delayed, pod without node',
    subject: 'claim',
    asked: claim(),
    facts: facts({
      pods: [pod({ nodeName: undefined })],
      classes: [storageClass({ volumeBindingMode: 'WaitForFirstConsumer' })],
    }),
    state: 'waits',
    says: /has no node: the scheduler did not look at it yet/,
    todo: /scheduler runs/,
  },
  {
    what: 'nobody asked',
    subject: 'claim',
    asked: claim(),
    facts: facts(),
    state: 'waits',
    says: /nobody was asked/,
    todo: /controller manager/,
  },
  {
    what: 'provisioner at work',
    subject: 'claim',
    asked: asked(),
    facts: facts({ leases: [lease('d-csi-test', '2026-01-01T00:09:55Z')] }),
    state: 'waits',
    says: /waits for the provisioner of d\.csi\.test for 42s/,
  },
  {
    what: 'provisioner gone',
    subject: 'claim',
    asked: asked(),
    facts: facts({ leases: [lease('d-csi-test', '2026-01-01T00:08:00Z')] }),
    state: 'stuck',
    says: /no provisioner of d\.csi\.test works: its lease was last renewed 2m0s ago/,
    todo: /provisioner of d\.csi\.test runs/,
  },
  {
    what: 'all sidecars in one gone',
    subject: 'claim',
    asked: asked(),
    facts: facts({ leases: [lease('external-sidecars-leader-d-csi-test', '2026-01-01T00:08:00Z')] }),
    state: 'stuck',
    says: /no provisioner/,
  },
  {
    what: 'copy of nothing',
    subject: 'claim',
    asked: {
      ...asked(),
      spec: { storageClassName: 'fast', dataSource: { kind: 'PersistentVolumeClaim', name: 'src' } },
    } as never,
    facts: facts(),
    state: 'stuck',
    says: /its data source, PersistentVolumeClaim ns\/src, does not exist/,
  },
  {
    what: 'lost',
    subject: 'claim',
    asked: claim({ volumeName: 'pv1' }, { phase: 'Lost' }),
    facts: facts(),
    state: 'stuck',
    says: /volume pv1 is gone/,
  },
  {
    what: 'bound',
    subject: 'claim',
    asked: bound,
    facts: facts({ volumes: [volume()] }),
    state: 'ok',
    says: /d\.csi\.test, volume h1/,
  },
  {
    what: 'going, used',
    subject: 'claim',
    asked: claim(
      {},
      { phase: 'Bound' },
      { deletionTimestamp: EARLIER, finalizers: ['kubernetes.io/pvc-protection'] },
    ),
    facts: facts({ pods: [pod()] }),
    state: 'stuck',
    says: /is being deleted for 42s: pod ns\/web still uses it/,
    todo: /delete pod ns\/web/,
  },
  {
    what: 'going, a snapshot is being made',
    subject: 'claim',
    asked: claim(
      {},
      { phase: 'Bound' },
      {
        deletionTimestamp: EARLIER,
        finalizers: ['snapshot.storage.kubernetes.io/pvc-as-source-protection'],
      },
    ),
    facts: facts(),
    state: 'waits',
    says: /a snapshot of it is not ready yet/,
  },
  {
    what: 'going, unknown finalizer',
    subject: 'claim',
    asked: claim({}, { phase: 'Bound' }, { deletionTimestamp: EARLIER, finalizers: ['x/y'] }),
    facts: facts(),
    state: 'stuck',
    says: /finalizer x\/y is on it/,
  },
  {
    what: 'grows, not allowed',
    subject: 'claim',
    asked: claim(
      { volumeName: 'pv1', resources: { requests: { storage: '2Gi' } } },
      { phase: 'Bound', capacity: { storage: '1Gi' } },
    ),
    facts: facts(),
    state: 'stuck',
    says: /class fast does not allow expansion/,
    todo: /allowVolumeExpansion/,
  },
  {
    what: 'grows, on a node',
    subject: 'claim',
    asked: claim(
      { volumeName: 'pv1', resources: { requests: { storage: '2Gi' } } },
      {
        phase: 'Bound',
        capacity: { storage: '1Gi' },
        conditions: [{ type: 'FileSystemResizePending', status: 'True' }],
      },
    ),
    facts: facts(),
    state: 'stuck',
    says: /file system on it is expanded on a node/,
    todo: /start a pod/,
  },
  {
    what: 'grows',
    subject: 'claim',
    asked: claim(
      { volumeName: 'pv1', resources: { requests: { storage: '2Gi' } } },
      { phase: 'Bound', capacity: { storage: '1Gi' } },
    ),
    facts: facts({ classes: [storageClass({ allowVolumeExpansion: true })] }),
    state: 'waits',
    says: /has 1Gi; waits for the resizer/,
  },
  // Volumes
  {
    what: 'released and kept',
    subject: 'volume',
    asked: volume({ persistentVolumeReclaimPolicy: 'Retain' }, { phase: 'Released' }),
    facts: facts(),
    state: 'stuck',
    says: /claim ns\/data is gone, and the policy Retain keeps it/,
  },
  {
    what: 'released',
    subject: 'volume',
    asked: volume({ persistentVolumeReclaimPolicy: 'Delete' }, { phase: 'Released' }),
    facts: facts(),
    state: 'waits',
    says: /waits to be deleted/,
  },
  {
    what: 'failed',
    subject: 'volume',
    asked: volume({}, { phase: 'Failed', message: 'denied' }),
    facts: facts(),
    state: 'stuck',
    says: /could not be reclaimed: denied/,
  },
  {
    what: 'going, attached',
    subject: 'volume',
    asked: volume(
      {},
      { phase: 'Released' },
      {
        deletionTimestamp: EARLIER,
        finalizers: ['external-attacher/d-csi-test', 'external-provisioner.volume.kubernetes.io/finalizer'],
      },
    ),
    facts: facts({ attachments: [attachment('n2', { attached: true })] }),
    state: 'waits',
    says: /it is attached to n2; the provisioner has to delete it/,
  },
  {
    what: 'going, claimed',
    subject: 'volume',
    asked: volume(
      {},
      { phase: 'Bound' },
      { deletionTimestamp: EARLIER, finalizers: ['kubernetes.io/pv-protection'] },
    ),
    facts: facts(),
    state: 'waits',
    says: /claim ns\/data still has it/,
    todo: /delete claim ns\/data first/,
  },
  // Pods
  {
    what: 'claim missing',
    subject: 'pod',
    asked: pod(),
    facts: facts(),
    state: 'stuck',
    says: /does not exist/,
    todo: /create it/,
  },
  {
    what: 'ephemeral claim not made',
    subject: 'pod',
    asked: pod({ volumes: [{ name: 'v', ephemeral: {} }] }),
    facts: facts(),
    state: 'waits',
    says: /is not created yet/,
  },
  {
    what: 'unschedulable',
    subject: 'pod',
    asked: pod(
      { nodeName: undefined },
      { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }] },
    ),
    facts: facts({
      claims: [claim()],
      classes: [storageClass({ volumeBindingMode: 'WaitForFirstConsumer' })],
    }),
    state: 'stuck',
    says: /has no node: 0\/2 nodes are available/,
  },
  {
    what: 'not looked at',
    subject: 'pod',
    asked: pod({ nodeName: undefined, volumes: [] }),
    facts: facts(),
    state: 'waits',
    says: /scheduler did not look/,
    todo: /scheduler runs/,
  },
  {
    what: 'no node because of its claim',
    subject: 'pod',
    asked: pod({ nodeName: undefined }),
    facts: facts({ claims: [claim({ storageClassName: 'gone' })] }),
    state: 'stuck',
    says: /StorageClass gone does not exist/,
  },
  {
    what: 'volume missing',
    subject: 'pod',
    asked: pod(),
    facts: facts({ claims: [bound] }),
    state: 'stuck',
    says: /does not exist, though the claim is bound to it/,
  },
  {
    what: 'driver not on the node',
    subject: 'pod',
    asked: pod(),
    facts: facts({ ...reached, csiNodes: [csiNode('n1', []), csiNode('n2')] }),
    state: 'stuck',
    says: /is not on node n1, only on n2/,
    todo: /node-registrar/,
  },
  {
    what: 'inline, driver nowhere',
    subject: 'pod',
    asked: pod({ volumes: [{ name: 'v', csi: { driver: 'other' } }] }),
    facts: facts(),
    state: 'stuck',
    says: /is not on node n1, nor on any other/,
  },
  {
    what: 'failed',
    subject: 'pod',
    asked: pod({}, { phase: 'Failed', reason: 'VolumeAttachmentLimitExceeded', message: 'no room' }),
    facts: facts(reached),
    state: 'stuck',
    says: /has failed: VolumeAttachmentLimitExceeded: no room/,
  },
  {
    what: 'the node waits for a ConfigMap',
    subject: 'pod',
    asked: pod(
      { volumes: [{ name: 'v', configMap: { name: 'settings' } }] },
      {
        phase: 'Pending',
        containerStatuses: [
          { name: 'main', state: { waiting: { message: 'volume v: configmap "settings" not found' } } },
        ],
      },
    ),
    facts: facts(),
    state: 'stuck',
    says: /^configmap "settings" not found/,
    todo: /create ConfigMap ns\/settings/,
  },
  {
    what: 'nobody asked to attach',
    subject: 'pod',
    asked: pod(),
    facts: facts(reached),
    state: 'waits',
    says: /nobody asked for it yet/,
  },
  {
    what: 'attach fails',
    subject: 'pod',
    asked: pod(),
    facts: facts({
      ...reached,
      attachments: [attachment('n1', { attached: false, attachError: { message: 'quota' } })],
    }),
    state: 'waits',
    says: /^quota$/,
  },
  {
    what: 'attacher gone',
    subject: 'pod',
    asked: pod(),
    facts: facts({
      ...reached,
      attachments: [attachment('n1')],
      leases: [lease('external-attacher-leader-d-csi-test', '2026-01-01T00:00:00Z')],
    }),
    state: 'stuck',
    says: /no attacher of d\.csi\.test works/,
  },
  {
    what: 'held by another pod',
    subject: 'pod',
    asked: pod(),
    facts: facts({ ...reached, pods: [old], attachments: [attachment('n2', { attached: true })] }),
    state: 'stuck',
    says: /still attached to n2, and pod ns\/old has it there/,
    todo: /delete pod ns\/old/,
  },
  {
    what: 'held by a node that is silent',
    subject: 'pod',
    asked: pod(),
    facts: facts({
      ...reached,
      pods: [old],
      nodes: [node('n1'), node('n2', 'Unknown')],
      attachments: [attachment('n2', { attached: true })],
    }),
    state: 'stuck',
    says: /n2, which does not answer, and pod ns\/old has it there/,
    todo: /out-of-service=nodeshutdown:NoExecute/,
  },
  {
    what: 'being detached elsewhere',
    subject: 'pod',
    asked: pod(),
    facts: facts({
      ...reached,
      attachments: [
        attachment(
          'n2',
          { attached: true, detachError: { message: 'busy' } },
          { deletionTimestamp: EARLIER },
        ),
      ],
    }),
    state: 'waits',
    says: /cannot be detached from n2: busy/,
  },
  {
    what: 'shared by two nodes',
    subject: 'pod',
    asked: pod(),
    facts: facts({
      claims: [bound],
      volumes: [volume({ accessModes: ['ReadWriteMany'] })],
      attachments: [attachment('n2', { attached: true })],
    }),
    state: 'waits',
    says: /nobody asked for it yet/,
  },
  {
    what: 'mounting',
    subject: 'pod',
    asked: pod(),
    facts: facts({ ...reached, attachments: [attachment('n1', { attached: true })] }),
    state: 'waits',
    says: /the kubelet has to mount them/,
  },
  {
    what: 'needs no attachment',
    subject: 'pod',
    asked: pod(),
    facts: facts({ ...reached, drivers: [object({ name: DRIVER }, { spec: { attachRequired: false } })] }),
    state: 'waits',
    says: /the kubelet has to mount them/,
  },
  {
    what: 'running',
    subject: 'pod',
    asked: pod({}, { phase: 'Running' }),
    facts: facts({ ...reached, attachments: [attachment('n1', { attached: true })] }),
    state: 'ok',
    says: /VolumeAttachment va-n1/,
  },
  {
    what: 'ended',
    subject: 'pod',
    asked: pod({}, { phase: 'Succeeded' }),
    facts: facts(),
    state: 'ok',
    says: /has ended/,
  },
  {
    what: 'node silent',
    subject: 'pod',
    asked: pod({}, { phase: 'Running' }),
    facts: facts({ nodes: [node('n1', 'Unknown')] }),
    state: 'stuck',
    says: /on node n1, which does not answer/,
  },
  {
    what: 'going',
    subject: 'pod',
    asked: pod({}, { phase: 'Running' }, { deletionTimestamp: EARLIER }),
    facts: facts(),
    state: 'waits',
    says: /is being deleted for 42s: node n1 ends it/,
  },
];

for (const each of cases) {
  test(`${each.subject}: ${each.what}`, () => {
    const links = explain(each.facts, each.subject, each.asked);
    const last = links.at(-1);
    assert.equal(last?.state, each.state, JSON.stringify(links));
    assert.match(last?.says ?? '', each.says);
    if (each.todo) assert.match(last?.todo.join('\n') ?? '', each.todo);
    // Only the last link can be the one that is not well.
    assert(links.slice(0, -1).every(({ state }) => state === 'ok'));
  });
}

test('the newest warning Events of the failing object are quoted, and nothing else', () => {
  const event = (message: string, lastTimestamp: string, more: Fields = {}) =>
    object(here(message), {
      type: 'Warning',
      reason: 'ProvisioningFailed',
      message,
      lastTimestamp,
      involvedObject: { uid: 'uid-data' },
      source: { component: 'prov' },
      ...more,
    });
  const events = [
    event('first', '2026-01-01T00:01:00Z'),
    event('second', '2026-01-01T00:08:00Z', { count: 7 }),
    event('third', '2026-01-01T00:09:00Z'),
    event('fine', '2026-01-01T00:09:30Z', { type: 'Normal' }),
    event('other', '2026-01-01T00:09:40Z', { involvedObject: { uid: 'else' } }),
  ];
  const links = explain(facts({ events }), 'claim', asked());
  assert.deepEqual(links[0]?.said, [
    'prov said 1m0s ago: ProvisioningFailed: third',
    'prov said 2m0s ago, 7 times: ProvisioningFailed: second',
  ]);
});

test("a driver that is not registered on the node: the node's registration Event is quoted", () => {
  const message = 'CSI driver hostpath could not be registered: the label says something else';
  const event = object(here('e'), {
    type: 'Warning',
    reason: 'FailedCSIDriverRegistration',
    message,
    lastTimestamp: '2026-01-01T00:09:00Z',
    involvedObject: { uid: node('n1').metadata.uid },
    source: { component: 'kubelet' },
  });
  const given = facts({ ...reached, csiNodes: [csiNode('n1', [])], events: [event] });
  const links = explain(given, 'pod', pod());
  assert.deepEqual(links.at(-1)?.said, [`kubelet said 1m0s ago: FailedCSIDriverRegistration: ${message}`]);
});

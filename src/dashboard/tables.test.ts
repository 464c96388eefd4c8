// What the rows of the page say for objects in their states, and what is told when they change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../api/object.ts';
import type { Observation } from './observed.ts';
import { changesBetween, sampleOf, tablesOf } from './tables.ts';

const DRIVER = 'd.csi.test';
const CREATED = '2026-01-01T00:00:00Z';
const GOING = { deletionTimestamp: '2026-01-01T00:01:00Z' };

type Fields = Record<string, unknown>;
const object = (metadata: Fields, rest: Fields = {}): KubeObject =>
  ({ metadata: { uid: `uid-${metadata.name}`, creationTimestamp: CREATED, ...metadata }, ...rest }) as never;
const claim = (name: string, status: Fields = {}, spec: Fields = {}, metadata: Fields = {}) =>
  object(
    { name, namespace: 'ns', ...metadata },
    {
      spec: {
        storageClassName: 'fast',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        ...spec,
      },
      status: { phase: 'Pending', ...status },
    },
  );
const bound = (name: string, capacity = '1Gi') =>
  claim(name, { phase: 'Bound', capacity: { storage: capacity } }, { volumeName: `pv-${name}` });
const volume = (name: string, phase = 'Bound', spec: Fields = {}, metadata: Fields = {}) =>
  object(
    { name, ...metadata },
    {
      spec: {
        csi: { driver: DRIVER, volumeHandle: `h-${name}` },
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        ...spec,
      },
      status: { phase },
    },
  );
const pod = (name: string, volumes: Fields[], phase = 'Running', spec: Fields = {}, metadata: Fields = {}) =>
  object(
    { name, namespace: 'ns', ...metadata },
    { spec: { nodeName: 'n1', volumes, ...spec }, status: { phase } },
  );
const uses = (claimName: string) => ({ name: 'v', persistentVolumeClaim: { claimName } });
const node = (name: string, ready = 'True', labels: Fields = {}) =>
  object({ name, labels }, { status: { conditions: [{ type: 'Ready', status: ready }] } });
const attachment = (pv: string, status: Fields, metadata: Fields = {}) =>
  object(
    { name: `va-${pv}`, ...metadata },
    { spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: pv } }, status },
  );

const observed = (some: Record<string, readonly KubeObject[]> = {}): Observation =>
  ({
    nowMs: Date.parse('2026-01-01T00:05:00Z'),
    pods: [],
    claims: [],
    volumes: [],
    classes: [object({ name: 'fast' }, { provisioner: DRIVER })],
    attachments: [],
    drivers: [object({ name: DRIVER }, { spec: { attachRequired: true } })],
    csiNodes: [object({ name: 'n1' }, { spec: { drivers: [{ name: DRIVER, nodeID: 'i-1' }] } })],
    nodes: [node('n1')],
    snapshots: [],
    groups: [],
    capacities: [],
    leases: [],
    events: [],
    unread: [],
    ...some,
  }) as unknown as Observation;

test('a claim, its volume, its attachment and its pod are one row', () => {
  const { volumes, pods } = tablesOf(
    observed({
      claims: [bound('data')],
      volumes: [volume('pv-data')],
      pods: [pod('web', [uses('data')]), pod('done', [uses('data')], 'Succeeded')],
      attachments: [attachment('pv-data', { attached: true })],
    }),
  );
  assert.deepEqual(volumes, [
    {
      id: 'claim ns/data',
      subject: 'claim',
      namespace: 'ns',
      name: 'data',
      state: 'ok',
      says: '',
      phase: 'Bound',
      isGoing: false,
      createdMs: Date.parse(CREATED),
      size: '1Gi',
      className: 'fast',
      accessModes: ['ReadWriteOnce'],
      volume: 'pv-data',
      driver: DRIVER,
      handle: 'h-pv-data',
      attachments: [{ name: 'va-pv-data', node: 'n1', attached: true, isGoing: false }],
      pods: [{ name: 'web', node: 'n1', phase: 'Running', isMounted: true }],
    },
  ]);
  assert.deepEqual(
    pods.map(({ name, state }) => [name, state]),
    [
      ['web', 'ok'],
      ['done', 'ok'],
    ],
  );
});

const states: {
  what: string;
  given: Record<string, readonly KubeObject[]>;
  then: [string, string, RegExp];
}[] = [
  {
    what: 'a claim whose class does not exist',
    given: { claims: [claim('data', {}, { storageClassName: 'slow' })] },
    then: ['claim ns/data', 'stuck', /slow/],
  },
  {
    what: 'a claim that grows',
    given: {
      claims: [
        claim(
          'data',
          { phase: 'Bound', capacity: { storage: '1Gi' } },
          { volumeName: 'pv-data', resources: { requests: { storage: '2Gi' } } },
        ),
      ],
      volumes: [volume('pv-data')],
    },
    then: ['claim ns/data', 'stuck', /2Gi/],
  },
  {
    what: 'a volume that the driver made larger than was asked for',
    given: { claims: [bound('data', '2Gi')], volumes: [volume('pv-data')] },
    then: ['claim ns/data', 'ok', /^$/],
  },
  {
    what: 'a claim whose pod waits for another claim',
    given: {
      claims: [bound('data'), claim('other', {}, { storageClassName: 'slow' })],
      volumes: [volume('pv-data')],
      pods: [pod('web', [uses('data'), { ...uses('other'), name: 'w' }], 'Pending', { nodeName: undefined })],
    },
    then: ['claim ns/data', 'stuck', /slow/],
  },
  {
    what: 'a claim that a pod mounts',
    given: {
      claims: [bound('data')],
      volumes: [volume('pv-data')],
      pods: [pod('web', [uses('data')])],
      // Kept from an attempt before the one that succeeded.
      attachments: [attachment('pv-data', { attached: true, attachError: { message: 'busy' } })],
    },
    then: ['claim ns/data', 'ok', /^$/],
  },
  {
    what: 'a claim that is detached after its pod',
    given: {
      claims: [bound('data')],
      volumes: [volume('pv-data')],
      attachments: [
        attachment('pv-data', { attached: true, detachError: { message: 'the node is lost' } }, GOING),
      ],
    },
    then: ['claim ns/data', 'waits', /is being detached: the node is lost/],
  },
  {
    what: 'a volume that nobody has',
    given: { volumes: [volume('pv1', 'Available')] },
    then: ['volume pv1', 'ok', /^$/],
  },
  {
    what: 'a volume that is kept after its claim',
    given: {
      volumes: [
        volume('pv1', 'Released', {
          persistentVolumeReclaimPolicy: 'Retain',
          claimRef: { namespace: 'ns', name: 'old' },
        }),
      ],
    },
    then: ['volume pv1', 'stuck', /Retain/],
  },
  {
    what: 'a volume that is being deleted',
    given: { volumes: [volume('pv1', 'Available', {}, { ...GOING, finalizers: ['a.test/b'] })] },
    then: ['volume pv1', 'waits', /a\.test\/b/],
  },
];

for (const {
  what,
  given,
  then: [id, state, says],
} of states) {
  test(`${what} is ${state}`, () => {
    const row = tablesOf(observed(given)).volumes.find((each) => each.id === id);
    assert.equal(row?.state, state, row?.says);
    assert.match(row?.says ?? '', says);
  });
}

test('a pod that waits for its volume says for what; pods without volumes are not shown', () => {
  const { pods } = tablesOf(
    observed({
      claims: [bound('data')],
      volumes: [volume('pv-data')],
      pods: [
        pod('web', [uses('data')], 'Pending'),
        pod('inline', [{ name: 'v', csi: { driver: DRIVER } }]),
        pod('plain', [{ name: 'v', emptyDir: {} }]),
      ],
      attachments: [attachment('pv-data', { attached: false, attachError: { message: 'no such disk' } })],
    }),
  );
  assert.deepEqual(
    pods.map(({ name, state, volumes }) => [name, state, volumes]),
    [
      ['web', 'waits', [{ claim: 'data' }]],
      ['inline', 'ok', [{ driver: DRIVER }]],
    ],
  );
  assert.match(pods[0]?.says ?? '', /no such disk/);
});

test('a running pod on a node that is silent is not well', () => {
  const { pods } = tablesOf(
    observed({
      pods: [pod('web', [{ name: 'v', csi: { driver: DRIVER } }])],
      nodes: [node('n1', 'Unknown')],
    }),
  );
  assert.equal(pods[0]?.state, 'stuck');
});

test('an attachment that is attached has no error, whatever was reported before', () => {
  const errors = { attachError: { message: 'busy' }, detachError: { message: 'gone' } };
  const { volumes } = tablesOf(
    observed({
      claims: [bound('a'), bound('b'), bound('c')],
      volumes: [volume('pv-a'), volume('pv-b'), volume('pv-c')],
      attachments: [
        attachment('pv-a', { attached: true, ...errors }),
        attachment('pv-b', { attached: false, ...errors }),
        attachment('pv-c', { attached: true, ...errors }, GOING),
      ],
    }),
  );
  assert.deepEqual(
    volumes.map(({ attachments }) => attachments[0]?.error),
    [undefined, 'busy', 'gone'],
  );
});

const mounts: [what: string, status: Fields, isMounted: boolean][] = [
  ['runs', { phase: 'Running' }, true],
  ['has no status', {}, false],
  [
    'creates containers',
    { containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }] },
    false,
  ],
  ['pulls an image', { containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] }, true],
  ['runs an init container', { initContainerStatuses: [{ state: { running: {} } }] }, true],
];
for (const [what, status, isMounted] of mounts) {
  test(`whether a pod that ${what} has mounted its volumes`, () => {
    const web = object(
      { name: 'web', namespace: 'ns' },
      { spec: { nodeName: 'n1', volumes: [uses('data')] }, status: { phase: 'Pending', ...status } },
    );
    const { volumes } = tablesOf(
      observed({ claims: [bound('data')], volumes: [volume('pv-data')], pods: [web] }),
    );
    assert.equal(volumes[0]?.pods[0]?.isMounted, isMounted);
  });
}

test('[WHY-2] very many that fail for one reason are one trouble, and each row says why', () => {
  const claims = Array.from({ length: 300 }, (_, i) => claim(`c${i}`, {}, { storageClassName: 'slow' }));
  const { troubles, volumes } = tablesOf(
    observed({
      claims,
      pods: [pod('web', [uses('c7')], 'Pending')],
      nodes: [node('n1'), node('n2', 'False')],
    }),
  );
  assert.deepEqual(
    troubles.map(({ state, affects, affected, order }) => [
      state,
      affects[0],
      affects.length,
      affected,
      order,
    ]),
    [
      ['stuck', 'Pod ns/web', 100, 301, 0],
      ['stuck', 'Node n2', 1, 1, 1],
    ],
  );
  assert.match(troubles[0]?.says ?? '', /StorageClass slow does not exist/);
  assert.ok((troubles[0]?.todo.length ?? 0) > 0);
  assert.equal(troubles[0]?.createdMs, Date.parse(CREATED));
  assert.equal(volumes.length, 300);
  for (const { state, says, name } of volumes) {
    assert.equal(state, 'stuck');
    assert.match(says, new RegExp(`ns/${name}: its StorageClass slow`));
  }
});

test('nodes, drivers, classes, snapshots and groups', () => {
  const { nodes, drivers, classes, snapshots, groups } = tablesOf(
    observed({
      nodes: [node('n1', 'True', { 'd/zone': 'a' }), node('n2', 'False')],
      csiNodes: [
        object(
          { name: 'n1' },
          {
            spec: {
              drivers: [
                {
                  name: DRIVER,
                  nodeID: 'i-1',
                  topologyKeys: ['d/zone', 'd/rack'],
                  allocatable: { count: 8 },
                },
                { name: 'bare', nodeID: 'b' },
              ],
            },
          },
        ),
      ],
      claims: [bound('data')],
      volumes: [volume('pv-data')],
      pods: [pod('web', [uses('data')])],
      attachments: [attachment('pv-data', { attached: true }), attachment('pv-other', { attached: false })],
      snapshots: [
        object(
          { name: 's', namespace: 'ns' },
          {
            spec: { source: { persistentVolumeClaimName: 'data' } },
            status: { readyToUse: false, volumeGroupSnapshotName: 'g', error: { message: 'busy' } },
          },
        ),
      ],
      groups: [
        object({ name: 'g', namespace: 'ns' }, { spec: { source: {} }, status: { readyToUse: true } }),
      ],
    }),
  );
  assert.deepEqual(groups, [
    {
      id: 'ns/g',
      namespace: 'ns',
      name: 'g',
      state: 'ok',
      says: '',
      isReady: true,
      isGoing: false,
      createdMs: Date.parse(CREATED),
      snapshots: 1,
    },
  ]);
  assert.deepEqual(nodes, [
    {
      id: 'n1',
      name: 'n1',
      state: 'ok',
      says: '',
      isReady: true,
      drivers: [
        { name: DRIVER, nodeId: 'i-1', topology: { 'd/zone': 'a' }, limit: 8, attached: 1 },
        { name: 'bare', nodeId: 'b', topology: {}, attached: 0 },
      ],
      pods: 1,
    },
    {
      id: 'n2',
      name: 'n2',
      state: 'stuck',
      says: 'Node n2: does not answer',
      isReady: false,
      drivers: [],
      pods: 0,
    },
  ]);
  assert.deepEqual(
    drivers.map(({ name, volumes, nodes, attachRequired }) => [name, volumes, nodes, attachRequired]),
    [
      ['bare', 0, 1, true],
      [DRIVER, 1, 1, true],
    ],
  );
  assert.deepEqual(classes, [
    {
      id: 'fast',
      name: 'fast',
      state: 'ok',
      says: '',
      driver: DRIVER,
      isDefault: false,
      bindingMode: 'Immediate',
      reclaimPolicy: 'Delete',
      canExpand: false,
    },
  ]);
  assert.deepEqual(snapshots, [
    {
      id: 'ns/s',
      namespace: 'ns',
      name: 's',
      state: 'waits',
      says: 'VolumeSnapshot ns/s: busy',
      isReady: false,
      isGoing: false,
      createdMs: Date.parse(CREATED),
      claim: 'data',
      group: 'g',
    },
  ]);
});

test('only what differs is told', () => {
  const before = tablesOf(
    observed({ claims: [bound('a'), bound('b')], volumes: [volume('pv-a'), volume('pv-b')] }),
  );
  const same = tablesOf(
    observed({ claims: [bound('a'), bound('b')], volumes: [volume('pv-a'), volume('pv-b')] }),
  );
  assert.equal(changesBetween(before, same), undefined);
  const after = tablesOf(
    observed({ claims: [bound('a', '2Gi'), bound('c')], volumes: [volume('pv-a'), volume('pv-c')] }),
  );
  const { volumes, drivers, ...others } = changesBetween(before, after) ?? {};
  assert.deepEqual(
    volumes?.put.map(({ id }) => id),
    ['claim ns/a', 'claim ns/c'],
  );
  assert.deepEqual(volumes?.gone, ['claim ns/b']);
  assert.deepEqual([drivers, others], [undefined, {}]);
});

test('figures of a moment', () => {
  const tables = tablesOf(
    observed({
      claims: [bound('a'), claim('b')],
      volumes: [volume('pv-a'), volume('spare', 'Available')],
      pods: [pod('web', [uses('a')]), pod('next', [uses('b')], 'Pending')],
      attachments: [attachment('pv-a', { attached: true })],
    }),
  );
  assert.deepEqual(sampleOf(tables, 7), { atMs: 7, claims: 2, bound: 1, pods: 2, running: 1, attached: 1 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ANN_STORAGE_PROVISIONER } from '../api/well-known.ts';
import type { Facts } from './facts.ts';
import { findTroubles } from './find-troubles.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
type Fields = Record<string, unknown>;
const object = (kind: string, metadata: Fields, rest: Fields = {}) => ({
  kind,
  metadata: { uid: `uid-${metadata.name}`, creationTimestamp: '2026-01-01T00:09:00Z', ...metadata },
  ...rest,
});
const claim = (name: string, storageClassName: string) =>
  object(
    'PersistentVolumeClaim',
    { name, namespace: 'ns' },
    { spec: { storageClassName }, status: { phase: 'Pending' } },
  );
const pod = (name: string, claimName: string, status: Fields = { phase: 'Pending' }, nodeName?: string) =>
  object(
    'Pod',
    { name, namespace: 'ns' },
    { spec: { nodeName, volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] }, status },
  );
const node = (name: string, status = 'True') =>
  object('Node', { name }, { status: { conditions: [{ type: 'Ready', status }] } });
const facts = (some: Fields): Facts =>
  ({
    nowMs: NOW,
    pods: [],
    claims: [],
    volumes: [],
    classes: [],
    attachments: [],
    drivers: [],
    csiNodes: [],
    nodes: [],
    leases: [],
    events: [],
    unread: [],
    ...some,
  }) as Facts;

test('[WHY-2] objects that fail for the same reason are one entry, pods first', () => {
  const claims = Array.from({ length: 30 }, (_, i) => claim(`c${i}`, 'gone'));
  const [first, ...others] = findTroubles(facts({ claims, pods: [pod('web', 'c7')] }));
  assert.deepEqual(others, []);
  assert.equal(first?.affects.length, 31);
  assert.equal(first?.affects[0], 'Pod ns/web');
  assert.match(first?.says ?? '', /StorageClass gone does not exist/);
});

test('[WHY-2] claims that wait for the same provisioner are one entry, however long each waits', () => {
  const claims = ['a', 'b', 'c', 'd'].map((name, minute) => {
    const { metadata, ...rest } = claim(name, 'slow');
    const creationTimestamp = `2026-01-01T00:0${minute}:00Z`;
    // The last two have not been handed to the provisioner yet.
    const annotations = minute < 2 ? { [ANN_STORAGE_PROVISIONER]: 'd.csi.test' } : {};
    return { ...rest, metadata: { ...metadata, creationTimestamp, annotations } };
  });
  const troubles = findTroubles(
    facts({
      claims,
      classes: [object('StorageClass', { name: 'slow' }, { provisioner: 'd.csi.test' })],
      drivers: [object('CSIDriver', { name: 'd.csi.test' }, { spec: {} })],
      csiNodes: [object('CSINode', { name: 'n1' }, { spec: { drivers: [{ name: 'd.csi.test' }] } })],
      nodes: [node('n1')],
    }),
  );
  assert.deepEqual(
    troubles.map(({ state, affects }) => [state, ...affects]),
    [
      ['waits', 'PersistentVolumeClaim ns/a', 'PersistentVolumeClaim ns/b'],
      ['waits', 'PersistentVolumeClaim ns/c', 'PersistentVolumeClaim ns/d'],
    ],
  );
});

test('[WHY-2] stuck objects are listed before waiting ones, those that pods need before the rest', () => {
  const troubles = findTroubles(
    facts({
      claims: [claim('a', 'gone'), claim('b', 'slow')],
      classes: [object('StorageClass', { name: 'slow' }, { provisioner: 'd.csi.test' })],
      drivers: [object('CSIDriver', { name: 'd.csi.test' }, { spec: {} })],
      csiNodes: [object('CSINode', { name: 'n1' }, { spec: { drivers: [{ name: 'd.csi.test' }] } })],
      nodes: [node('n1'), node('n2', 'Unknown')],
      pods: [pod('web', 'absent')],
      groups: [
        object(
          'VolumeGroupSnapshot',
          { name: 'g', namespace: 'ns' },
          { spec: { source: { selector: { matchLabels: { app: 'db' } } } } },
        ),
      ],
    }),
  );
  assert.deepEqual(
    troubles.map(({ state, affects }) => [state, ...affects]),
    [
      ['stuck', 'Pod ns/web'],
      ['stuck', 'PersistentVolumeClaim ns/a'],
      ['stuck', 'VolumeGroupSnapshot ns/g'],
      ['stuck', 'Node n2'],
      ['waits', 'PersistentVolumeClaim ns/b'],
    ],
  );
  assert.match(troubles[2]?.says ?? '', /no claim in ns has the labels that it selects/);
});

test('[WHY-2] a pod on an existing node is healthy; one on a deleted node is not', () => {
  const running = { phase: 'Running' };
  const pods = [pod('well', 'c', running, 'n1'), pod('lost', 'c', running, 'n9')];
  const troubles = findTroubles(facts({ pods, nodes: [node('n1')] }));
  assert.deepEqual(
    troubles.map(({ says, affects }) => [says, ...affects]),
    [['is on node n9, which was deleted', 'Pod ns/lost']],
  );
});

test('a condition whose time is null is explained without a time', () => {
  const silent = object(
    'Node',
    { name: 'n1' },
    {
      status: {
        conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: null, message: 'lost' }],
      },
    },
  );
  const [first] = findTroubles(facts({ nodes: [silent] }));
  assert.equal(first?.says, 'does not answer: lost');
});

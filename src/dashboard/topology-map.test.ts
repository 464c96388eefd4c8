// Which segments, nodes and capacities the picture of a volume or a driver shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume } from '../api/kinds.ts';
import type { Observation } from './observed.ts';
import { topologyMap, volumeMap } from './topology-map.ts';

const DRIVER = 'd.test';
const ZONE = 'd.test/zone';

const node = (name: string, zone: string) => ({
  metadata: { name, labels: { [ZONE]: zone } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const csiNode = (name: string, driver = DRIVER) => ({
  metadata: { name },
  spec: { drivers: [{ name: driver, nodeID: name, topologyKeys: [ZONE] }] },
});
const capacity = (storageClassName: string, zone: string, size: string, more = {}) => ({
  metadata: { name: `${storageClassName}-${zone}`, namespace: 'kube-system' },
  storageClassName,
  capacity: size,
  nodeTopology: { matchLabels: { [ZONE]: zone } },
  ...more,
});
const observed = (some: object = {}): Observation =>
  ({
    nodes: [node('n1', 'a'), node('n2', 'a'), node('n3', 'b'), node('n4', 'b')],
    csiNodes: [csiNode('n1'), csiNode('n2'), csiNode('n3'), csiNode('n4', 'other'), csiNode('gone')],
    classes: [
      { metadata: { name: 'fast' }, provisioner: DRIVER },
      { metadata: { name: 'slow' }, provisioner: DRIVER },
      { metadata: { name: 'strange' }, provisioner: 'other' },
    ],
    capacities: [
      capacity('fast', 'a', '10Gi', { maximumVolumeSize: '4Gi' }),
      capacity('slow', 'a', '1Gi'),
      capacity('fast', 'b', '0'),
      capacity('strange', 'a', '7Gi'),
      capacity('fast', 'c', '7Gi', { nodeTopology: { matchExpressions: [{ key: ZONE, operator: 'Odd' }] } }),
    ],
    attachments: [],
    claims: [],
    pods: [],
    volumes: [],
    events: [],
    unread: [],
    ...some,
  }) as unknown as Observation;

test('a driver: the nodes and the capacity of its classes in each segment', () => {
  const map = topologyMap(observed(), { driver: DRIVER });
  assert.deepEqual(
    map.map(({ label, nodes, capacity }) => [label, nodes.map(({ name }) => name), capacity]),
    [
      [
        'd.test/zone=a',
        ['n1', 'n2'],
        [
          { className: 'fast', bytes: 10 * 2 ** 30, largestBytes: 4 * 2 ** 30 },
          { className: 'slow', bytes: 2 ** 30 },
        ],
      ],
      ['d.test/zone=b', ['n3'], [{ className: 'fast', bytes: 0 }]],
    ],
  );
});

test('a volume: where it can be used, where it is attached, and who uses it', () => {
  const volume = {
    metadata: { name: 'pv' },
    spec: {
      csi: { driver: DRIVER, volumeHandle: 'h' },
      storageClassName: 'fast',
      claimRef: { namespace: 'ns', name: 'data' },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: ['a'] }] }],
        },
      },
    },
  } as unknown as PersistentVolume;
  const map = volumeMap(
    observed({
      volumes: [volume],
      claims: [{ metadata: { name: 'data', namespace: 'ns' } }],
      pods: [
        {
          metadata: { name: 'web', namespace: 'ns' },
          spec: { nodeName: 'n2', volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
        },
      ],
      attachments: [
        { spec: { nodeName: 'n2', source: { persistentVolumeName: 'pv' } }, status: { attached: true } },
        { spec: { nodeName: 'n1', source: { persistentVolumeName: 'pv' } }, status: { attached: false } },
      ],
    }),
    volume,
  );
  const at = { isReady: true, isReachable: true, isAttached: false, pods: 0 };
  assert.deepEqual(
    map?.map(({ nodes, capacity }) => [nodes, capacity.map(({ className }) => className)]),
    [
      [
        [
          { ...at, name: 'n2', isAttached: true, pods: 1 },
          { ...at, name: 'n1' },
        ],
        ['fast'],
      ],
      [[{ ...at, name: 'n3', isReachable: false }], ['fast']],
    ],
  );
});

test('of very many nodes the first are shown, and the others counted', () => {
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  const [segment] = topologyMap(
    observed({ nodes: names.map((name) => node(name, 'a')), csiNodes: names.map((name) => csiNode(name)) }),
    { driver: DRIVER },
  );
  assert.deepEqual([segment?.nodes.length, segment?.more], [12, 28]);
});

test('a volume that is not of a CSI driver has no picture', () => {
  assert.equal(volumeMap(observed(), { metadata: { name: 'pv' }, spec: {} } as PersistentVolume), undefined);
});

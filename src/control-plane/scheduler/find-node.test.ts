import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../../api/kinds.ts';
import { findNode, fitsBesides, type Search } from './find-node.ts';
import { podDemand } from './node-checks.ts';
import { NodeIndex } from './node-index.ts';
import { NodeInfo } from './node-info.ts';
import type { DelayedClaim } from './pod-volumes.ts';
import { REASONS } from './reasons.ts';

interface Given {
  name: string;
  allocatable?: Record<string, string>;
  /** CPU requests of its pods. */
  pods?: string[];
  isCordoned?: boolean;
}
const requesting = (requests: Record<string, string>) =>
  ({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c', resources: { requests } }] } }) as Pod;

function nodeInfo({ name, allocatable, pods = [], isCordoned = false }: Given): NodeInfo {
  const info = new NodeInfo(name);
  info.node = {
    metadata: { name },
    spec: { unschedulable: isCordoned },
    status: { allocatable },
  } as unknown as Node;
  for (const [i, cpu] of pods.entries()) info.add(`ns/${i}`, requesting({ cpu }));
  return info;
}

const delayed = (className: string, sizeBytes = 10n) =>
  ({
    key: `ns/${className}`,
    storageClass: { metadata: { name: className }, provisioner: 'd.example' },
    sizeBytes,
    allowed: [],
    selectedNode: undefined,
  }) as unknown as DelayedClaim;

function search(
  infos: readonly NodeInfo[],
  change: Partial<Search> & { claims?: DelayedClaim[]; room?: Record<string, bigint | undefined> } = {},
): Search {
  const { claims = [], room = {}, ...rest } = change;
  const index = new NodeIndex();
  for (const info of infos) index.put(info, undefined, info.node);
  return {
    demand: podDemand(requesting({ cpu: '1' })),
    volumes: {
      existing: [],
      delayed: claims,
      volumeGone: false,
      allBound: true,
      byDriver: new Map(),
      exclusiveClaims: [],
    },
    index,
    facts: {
      freeVolumes: () => [],
      publishesCapacity: () => change.room !== undefined,
      roomFor: (className, _size, { name }) =>
        `${className} ${name}` in room ? room[`${className} ${name}`] : room[name],
      isCsiDriver: () => false,
      mustBeInstalled: () => false,
      driverOn: () => undefined,
      volumeLimit: () => undefined,
      volumesOn: () => new Map(),
    },
    exclusiveClash: false,
    earlier: undefined,
    avoid: new Set(),
    start: 0,
    ...rest,
  };
}
const nameOf = (given: Search) => findNode(given).node?.name;

const preferences: [string, Given[], string][] = [
  ['the first of equal nodes', [{ name: 'a' }, { name: 'b' }], 'a'],
  ['the node with fewer pods', [{ name: 'a', pods: ['0'] }, { name: 'b' }], 'b'],
  [
    'the node that allows more pods',
    [
      { name: 'a', allocatable: { cpu: '9', pods: '10' } },
      { name: 'b', allocatable: { cpu: '9', pods: '20' } },
    ],
    'b',
  ],
  [
    'a node without a limit of pods, which allows 110',
    [
      { name: 'a', allocatable: { cpu: '9', pods: '100' } },
      { name: 'b', allocatable: { cpu: '9' } },
    ],
    'b',
  ],
  [
    'a node that allows more than 110',
    [
      { name: 'a', allocatable: { cpu: '9' } },
      { name: 'b', allocatable: { cpu: '9', pods: '120' } },
    ],
    'b',
  ],
  [
    'the node with more processors left',
    [
      { name: 'a', allocatable: { cpu: '4' }, pods: ['2'] },
      { name: 'b', allocatable: { cpu: '4' }, pods: ['1'] },
    ],
    'b',
  ],
  [
    'the larger node, of which the pod takes less',
    [
      { name: 'a', allocatable: { cpu: '2' } },
      { name: 'b', allocatable: { cpu: '8' } },
    ],
    'b',
  ],
  [
    'the mean, not the sum, over what nodes publish',
    [
      { name: 'a', allocatable: { cpu: '4' } },
      { name: 'b', allocatable: { cpu: '4', memory: '4Gi' } },
    ],
    'b',
  ],
];
for (const [name, given, expected] of preferences)
  test(`a pod prefers ${name}`, () => {
    assert.equal(nameOf(search(given.map(nodeInfo))), expected);
  });

test('sixteen nodes that fit are enough to choose from', () => {
  const infos = Array.from({ length: 18 }, (_, i) => nodeInfo({ name: `n${i}`, pods: i < 16 ? ['0'] : [] }));
  const found = findNode(search(infos));
  assert.equal(found.node?.name, 'n0', 'the two without pods were not looked at');
  assert.equal(found.node && found.looked, 16);
  const [first] = infos;
  if (first?.node) first.node = { ...first.node, spec: { unschedulable: true } };
  const later = findNode(search(infos));
  assert.deepEqual(
    [later.node?.name, later.node && later.looked],
    ['n16', 17],
    'one that does not fit does not count',
  );
  const avoided = findNode(search(infos, { avoid: new Set(['n1']) }));
  assert.deepEqual([avoided.node?.name, avoided.node && avoided.looked], ['n16', 18], 'nor one to avoid');
});

test('a node to avoid is taken when no other fits, however full the others are', () => {
  const infos = [nodeInfo({ name: 'a' }), nodeInfo({ name: 'b', pods: ['1', '1'] })];
  assert.equal(nameOf(search(infos, { avoid: new Set(['a']) })), 'b');
  const cordoned = [nodeInfo({ name: 'a' }), nodeInfo({ name: 'b', isCordoned: true })];
  assert.equal(nameOf(search(cordoned, { avoid: new Set(['a']) })), 'a');
});

test('the node of the previous run is taken again while it fits and is not to be avoided', () => {
  const infos = [nodeInfo({ name: 'a' }), nodeInfo({ name: 'b', pods: ['1'] })];
  const [, earlier] = infos;
  const found = findNode(search(infos, { earlier }));
  assert.deepEqual([found.node?.name, found.node && found.looked], ['b', 1]);
  assert.equal(nameOf(search(infos, { earlier, avoid: new Set(['b']) })), 'a');
  assert.equal(nameOf(search(infos, { earlier: new NodeInfo('c') })), 'a', 'a node that is gone');
  assert.equal(nameOf(search(infos, { earlier: nodeInfo({ name: 'b', isCordoned: true }) })), 'a');
});

const fills: [string, { claims?: DelayedClaim[]; room?: Record<string, bigint | undefined> }, string][] = [
  ['the node with more capacity', { room: { a: 20n, b: 40n } }, 'b'],
  ['the first of nodes whose driver publishes none', {}, 'a'],
  ['any node before one without any capacity left', { room: { a: 0n, b: 11n } }, 'b'],
  [
    'a node by the mean over its classes',
    {
      claims: [delayed('x'), delayed('y')],
      room: { 'x a': 10n, 'y a': 20n, 'x b': 15n, 'y b': 15n },
    },
    'b',
  ],
  [
    'a node by the sum of what one class is asked for',
    {
      claims: [delayed('x'), delayed('x'), delayed('y')],
      room: { 'x a': 40n, 'y a': 20n, 'x b': 20n, 'y b': 40n },
    },
    'a',
  ],
  [
    'no node because it is overfull more than full',
    {
      claims: [delayed('x'), delayed('y')],
      room: { 'x a': 1n, 'y a': 20n, 'x b': 10n, 'y b': 19n },
    },
    'a',
  ],
];
for (const [name, { claims = [delayed('x')], room }, expected] of fills)
  test(`with scores for capacity a pod prefers ${name}`, () => {
    const infos = [nodeInfo({ name: 'a' }), nodeInfo({ name: 'b' })];
    const given = { claims, ...(room && { room }) };
    assert.equal(nameOf(search(infos, { ...given, scoresCapacity: true })), expected);
    assert.equal(nameOf(search(infos, given)), 'a', 'without them it takes the first');
  });

test('a pod that fits nowhere is told why, for each node', () => {
  const infos = [
    nodeInfo({ name: 'a', isCordoned: true }),
    nodeInfo({ name: 'b', allocatable: { cpu: '500m' } }),
    nodeInfo({ name: 'c', isCordoned: true }),
  ];
  const found = findNode(search(infos));
  assert.ok(!found.node);
  assert.equal(found.nodeCount, 3);
  assert.equal(
    found.reasons.message(3),
    `0/3 nodes are available: 1 Insufficient cpu, 2 ${REASONS.unschedulable}.`,
  );
});

test('with a clash over an exclusive claim a pod fits nowhere, and only besides it', () => {
  const [fits, cordoned] = [nodeInfo({ name: 'a' }), nodeInfo({ name: 'b', isCordoned: true })];
  const given = search([fits, cordoned], { exclusiveClash: true });
  assert.equal(nameOf(given), undefined);
  assert.deepEqual([fitsBesides(given, fits), fitsBesides(given, cordoned)], [true, false]);
});

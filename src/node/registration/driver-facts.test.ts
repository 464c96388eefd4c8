import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSINode, CSINodeDriver, CSINodeInfo, Node } from '../../api/kinds.ts';
import { ANN_CSI_NODE_ID } from '../../api/well-known.ts';
import { parseDriverName, parseNodeId } from '../../csi/names/driver-name.ts';
import {
  csiNodeEntry,
  type DriverFacts,
  type NodeDrivers,
  nextCSINode,
  nextNodeInfoDrivers,
  nodeOwner,
  nodePatch,
} from './driver-facts.ts';
import { conflictError, labelConflicts } from './topology-conflict.ts';

const facts = (name: string, over: { id?: string; segments?: Record<string, string>; max?: number } = {}) =>
  ({
    name: parseDriverName(name),
    nodeId: parseNodeId(over.id ?? `id-${name}`),
    segments: over.segments ?? {},
    maxVolumes: over.max ?? 0,
  }) satisfies DriverFacts;
const drivers = (registered: DriverFacts[], gone: string[] = []): NodeDrivers => ({
  registered: new Map(registered.map((each) => [each.name, each])),
  isGone: (name) => gone.includes(name),
});
const node = (ids?: Record<string, string>, labels?: Record<string, string>): Node =>
  ({
    metadata: {
      name: 'n1',
      uid: 'u',
      resourceVersion: '7',
      ...(ids && { annotations: { [ANN_CSI_NODE_ID]: JSON.stringify(ids) } }),
      ...(labels && { labels }),
    },
  }) as unknown as Node;

test('[REG-5] [REG-6] a Node gets the node IDs of its drivers and the labels that it lacks', () => {
  const annotated = (ids: object | null) => ({
    annotations: { [ANN_CSI_NODE_ID]: ids && JSON.stringify(ids) },
  });
  const at = { resourceVersion: '7' };
  const zoned = facts('a.test', { segments: { zone: '1' } });
  const table: [string, Node, NodeDrivers, object | undefined][] = [
    ['no driver', node(), drivers([]), undefined],
    ['a new driver', node(), drivers([facts('a.test')]), { ...at, ...annotated({ 'a.test': 'id-a.test' }) }],
    ['recorded already', node({ 'a.test': 'id-a.test' }), drivers([facts('a.test')]), undefined],
    [
      'another node ID',
      node({ 'a.test': 'old' }),
      drivers([facts('a.test')]),
      { ...at, ...annotated({ 'a.test': 'id-a.test' }) },
    ],
    [
      'one of others stays',
      node({ 'b.test': 'b' }),
      drivers([facts('a.test')]),
      { ...at, ...annotated({ 'b.test': 'b', 'a.test': 'id-a.test' }) },
    ],
    [
      'one that is gone goes',
      node({ 'a.test': 'id-a.test', 'b.test': 'b' }),
      drivers([facts('a.test')], ['b.test']),
      { ...at, ...annotated({ 'a.test': 'id-a.test' }) },
    ],
    ['the last one goes', node({ 'b.test': 'b' }), drivers([], ['b.test']), { ...at, ...annotated(null) }],
    [
      'a label that is missing',
      node({ 'a.test': 'id-a.test' }),
      drivers([zoned]),
      { ...at, labels: { zone: '1' } },
    ],
    [
      'a label that says otherwise',
      node({ 'a.test': 'id-a.test' }, { zone: '2' }),
      drivers([zoned]),
      undefined,
    ],
  ];
  for (const [name, given, reported, metadata] of table) {
    assert.deepEqual(nodePatch(given, reported), metadata && { metadata }, name);
  }
});

test('[REG-4] an entry of CSINode is what the driver answered', () => {
  assert.deepEqual(csiNodeEntry(facts('a.test', { segments: { z: '1', r: '2' }, max: 3 })), {
    name: 'a.test',
    nodeID: 'id-a.test',
    topologyKeys: ['r', 'z'],
    allocatable: { count: 3 },
  });
  assert.deepEqual(csiNodeEntry(facts('a.test')), { name: 'a.test', nodeID: 'id-a.test', topologyKeys: [] });
});

test('[REG-4] [NOD-2] CSINode is updated with the drivers; an immutable entry is removed before it is replaced', () => {
  const owner = nodeOwner(node());
  const a = csiNodeEntry(facts('a.test'));
  const withoutKeys = { name: a.name, nodeID: a.nodeID };
  const b: CSINodeDriver = { name: 'b.test', nodeID: 'b', topologyKeys: [] };
  const current = (entries: CSINodeDriver[] | undefined, ownerReferences: object[] | null = [owner]) =>
    ({
      metadata: { name: 'n1', ...(ownerReferences && { ownerReferences }) },
      spec: { drivers: entries },
    }) as unknown as CSINode;
  const table: [string, CSINode, NodeDrivers, { drivers: CSINodeDriver[]; last: boolean } | undefined][] = [
    ['no driver', current(undefined), drivers([]), undefined],
    ['a new one', current(undefined), drivers([facts('a.test')]), { drivers: [a], last: true }],
    ['there already', current([a]), drivers([facts('a.test')]), undefined],
    ['beside another', current([b]), drivers([facts('a.test')]), { drivers: [b, a], last: true }],
    ['both there', current([b, a]), drivers([facts('a.test')]), undefined],
    ['one is gone', current([b, a]), drivers([facts('a.test')], ['b.test']), { drivers: [a], last: true }],
    [
      'another count, in place',
      current([a]),
      drivers([facts('a.test', { max: 2 })]),
      { drivers: [{ ...a, allocatable: { count: 2 } }], last: true },
    ],
    [
      'another node ID',
      current([b, a]),
      drivers([facts('a.test', { id: 'x' })]),
      { drivers: [b], last: false },
    ],
    [
      'other topology keys',
      current([a]),
      drivers([facts('a.test', { segments: { zone: '1' } })]),
      { drivers: [], last: false },
    ],
    ['there already, without a list of keys', current([withoutKeys]), drivers([facts('a.test')]), undefined],
    [
      'there already, with its keys in another order',
      current([{ ...a, topologyKeys: ['z', 'r'] }]),
      drivers([facts('a.test', { segments: { r: '1', z: '2' } })]),
      undefined,
    ],
    ['of nobody', current([a], null), drivers([facts('a.test')]), { drivers: [a], last: true }],
    ['nobody’s', current([a], []), drivers([facts('a.test')]), { drivers: [a], last: true }],
    [
      'of a Node of that name that is gone',
      current([a], [{ ...owner, uid: 'old' }]),
      drivers([facts('a.test')]),
      { drivers: [a], last: true },
    ],
  ];
  for (const [name, given, reported, expected] of table) {
    const next = nextCSINode(given, reported, owner);
    assert.deepEqual(next && { drivers: next.object.spec?.drivers, last: next.last }, expected, name);
    if (next) assert.deepEqual(next.object.metadata.ownerReferences, [owner], name);
  }
});

test('[REG-8] CSINodeInfo is updated with the drivers, whatever the order of its entries', () => {
  const a = { name: 'a.test', nodeID: 'id-a.test', topologyKeys: [] };
  const b = { name: 'b.test', nodeID: 'b', topologyKeys: [] };
  type Entries = CSINodeInfo['csiDrivers'];
  const table: [string, Entries, NodeDrivers, Entries][] = [
    ['nothing to say', undefined, drivers([]), undefined],
    ['a new one', undefined, drivers([facts('a.test')]), [a]],
    ['there already, in another order', [b, a], drivers([facts('a.test')]), undefined],
    ['and the other way round', [a, b], drivers([facts('a.test')]), undefined],
    ['one is gone', [a, b], drivers([facts('a.test')], ['b.test']), [a]],
    ['another node ID', [{ ...a, nodeID: 'x' }], drivers([facts('a.test')]), [a]],
  ];
  for (const [name, given, reported, expected] of table) {
    assert.deepEqual(nextNodeInfoDrivers(given, reported), expected, name);
  }
});

test('[REG-6] a label with another value is a conflict; the driver’s own label is replaced only if no other driver uses it', () => {
  const csiNode = (...others: CSINodeDriver[]) => ({ spec: { drivers: others } }) as unknown as CSINode;
  const entry = (name: string, topologyKeys?: string[]) =>
    ({ name, nodeID: 'i', ...(topologyKeys && { topologyKeys }) }) as CSINodeDriver;
  const reported = (key: string) => facts('a.test', { segments: { [key]: '1' } });
  const table: [
    string,
    string,
    Record<string, string> | undefined,
    CSINode | undefined,
    boolean | undefined,
  ][] = [
    ['no labels', 'zone', undefined, undefined, undefined],
    ['agrees', 'zone', { zone: '1' }, undefined, undefined],
    ['alone', 'zone', { zone: '2' }, undefined, true],
    ['its own entry uses it', 'zone', { zone: '2' }, csiNode(entry('a.test', ['zone'])), true],
    ['another uses it', 'zone', { zone: '2' }, csiNode(entry('b.test', ['zone'])), false],
    ['another has no topology', 'zone', { zone: '2' }, csiNode(entry('b.test')), true],
    [
      'Kubernetes’ own',
      'topology.kubernetes.io/zone',
      { 'topology.kubernetes.io/zone': '2' },
      undefined,
      false,
    ],
    ['like Kubernetes’ own', 'notkubernetes.io/zone', { 'notkubernetes.io/zone': '2' }, undefined, true],
  ];
  for (const [name, key, labels, given, isOwn] of table) {
    const expected = isOwn === undefined ? [] : [{ key, value: '1', current: '2', isOwn }];
    assert.deepEqual(labelConflicts(reported(key), node(undefined, labels), given), expected, name);
  }
  const text = (isOwn: boolean) =>
    conflictError(parseDriverName('a.test'), 'n1', { key: 'zone', value: '1', current: '2', isOwn }).message;
  assert.match(text(true), /--replace-topology-labels/);
  assert.doesNotMatch(text(false), /--replace-topology-labels/);
});

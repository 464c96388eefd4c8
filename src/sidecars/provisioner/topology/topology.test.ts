import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Segment, segmentText, sortedSegments } from '../../../api/topology.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { spreadOffset } from './spread-offset.ts';
import { TopologyIndex, type TopologyNode } from './topology-index.ts';
import { type TopologyQuestion, topologyRequirement } from './topology-requirement.ts';

function node(labels: Record<string, string>, keys = Object.keys(labels)): TopologyNode {
  return { driver: { nodeId: 'id', topologyKeys: keys }, labels };
}

function indexOf(nodes: Record<string, TopologyNode>): TopologyIndex {
  const index = new TopologyIndex();
  for (const [name, value] of Object.entries(nodes)) index.update(name, value);
  return index;
}

function question(change: Partial<TopologyQuestion> = {}): TopologyQuestion {
  return {
    claimName: 'data',
    allowedTopologies: [],
    selectedNode: undefined,
    strictTopology: false,
    immediateTopology: true,
    immediatePreference: 'none',
    ...change,
  };
}

const threeZones = {
  n1: node({ zone: 'a' }),
  n2: node({ zone: 'b' }),
  n3: node({ zone: 'c' }),
  n4: node({ zone: 'b' }),
};
const ask = (change: Partial<TopologyQuestion>, nodes: Record<string, TopologyNode> = threeZones, seed = 1) =>
  topologyRequirement(question(change), indexOf(nodes), seededRandom(seed));
const zones = (...names: string[]): Segment[] => names.map((zone) => ({ zone }));
const allowing = (...values: string[]) => [{ matchLabelExpressions: [{ key: 'zone', values }] }];

test('requisite and preferred topology of a request', () => {
  const table: {
    name: string;
    change: Partial<TopologyQuestion>;
    nodes?: Record<string, TopologyNode>;
    requisite: Segment[];
    preferred: Segment[];
  }[] = [
    {
      name: 'selected node: the whole cluster, starting with its segment',
      change: { selectedNode: 'n2' },
      requisite: zones('a', 'b', 'c'),
      preferred: zones('b', 'c', 'a'),
    },
    {
      name: 'strictTopology: the selected node alone',
      change: { selectedNode: 'n2', strictTopology: true },
      requisite: zones('b'),
      preferred: zones('b'),
    },
    {
      name: 'allowed topologies are the requisite',
      change: { selectedNode: 'n2', allowedTopologies: allowing('b', 'a') },
      requisite: zones('a', 'b'),
      preferred: zones('b', 'a'),
    },
    {
      name: 'no node selected: nothing is preferred',
      change: {},
      requisite: zones('a', 'b', 'c'),
      preferred: [],
    },
    {
      name: 'allowed topologies need no node at all',
      change: { allowedTopologies: allowing('x') },
      nodes: {},
      requisite: zones('x'),
      preferred: [],
    },
    {
      name: 'segments with fewer keys come first, then by key, then by value, as officially',
      change: {
        immediatePreference: 'hash',
        claimName: 'x',
        allowedTopologies: [
          { matchLabelExpressions: [{ key: 'a/z', values: ['1'] }] },
          {
            matchLabelExpressions: [
              { key: 'zone', values: ['a'] },
              { key: 'rack', values: ['1'] },
            ],
          },
          { matchLabelExpressions: [{ key: 'zone', values: ['b'] }] },
          { matchLabelExpressions: [{ key: 'a.b/z', values: ['1'] }] },
        ],
      },
      requisite: [{ 'a.b/z': '1' }, { 'a/z': '1' }, { zone: 'b' }, { rack: '1', zone: 'a' }],
      preferred: [{ rack: '1', zone: 'a' }, { 'a.b/z': '1' }, { 'a/z': '1' }, { zone: 'b' }],
    },
    {
      name: 'a name that is not a StatefulSet claim is not spread',
      change: { immediatePreference: 'statefulset', claimName: 'data-0' },
      requisite: zones('a', 'b', 'c'),
      preferred: [],
    },
    {
      name: 'nodes without the keys of the selected one do not count',
      change: { selectedNode: 'n1' },
      nodes: {
        n1: node({ zone: 'a', rack: '1' }),
        n2: node({ zone: 'b' }),
        n3: node({ zone: 'c', rack: '2' }),
      },
      requisite: [
        { zone: 'a', rack: '1' },
        { zone: 'c', rack: '2' },
      ],
      preferred: [
        { zone: 'a', rack: '1' },
        { zone: 'c', rack: '2' },
      ],
    },
  ];
  for (const { name, change, nodes, requisite, preferred } of table) {
    assert.deepEqual(ask(change, nodes), { kind: 'requirement', requisite, preferred }, name);
  }
});

test('unknown topology is reported, not guessed', () => {
  const table: [string, Partial<TopologyQuestion>, Record<string, TopologyNode>, RegExp][] = [
    ['unregistered', { selectedNode: 'n9' }, threeZones, /not registered on selected node n9/],
    ['no keys', { selectedNode: 'n1' }, { n1: node({}) }, /no topology keys/],
    ['no labels', { selectedNode: 'n1' }, { n1: node({}, ['zone']) }, /lacks labels.*zone/],
    [
      'outside',
      { selectedNode: 'n1', allowedTopologies: allowing('b') },
      threeZones,
      /outside.*allowedTopologies/,
    ],
    ['no nodes', {}, {}, /no node runs the driver/],
  ];
  for (const [name, change, nodes, why] of table) {
    const answer = ask(change, nodes);
    assert.equal(answer.kind, 'not-known', name);
    assert.match(answer.kind === 'not-known' ? answer.why : '', why);
  }
  assert.deepEqual(ask({ immediateTopology: false }), { kind: 'anywhere' });
  // An empty term restricts nothing, selected node or not; with strict topology no node is within it.
  assert.deepEqual(ask({ allowedTopologies: [{}] }), { kind: 'anywhere' });
  assert.deepEqual(ask({ allowedTopologies: [{}], selectedNode: 'n2' }), { kind: 'anywhere' });
  assert.equal(ask({ allowedTopologies: [{}], selectedNode: 'n2', strictTopology: true }).kind, 'not-known');
});

test('the volumes of a StatefulSet rotate over the segments, and claims of one pod share a segment', () => {
  const first = (claimName: string) => {
    const answer = ask({ claimName, immediatePreference: 'statefulset' });
    assert(answer.kind === 'requirement');
    assert.equal(answer.preferred.length, 3);
    return answer.preferred[0]?.zone;
  };
  const spread = [0, 1, 2, 3, 4, 5].map((ordinal) => first(`data-web-${ordinal}`));
  assert.equal(new Set(spread.slice(0, 3)).size, 3);
  assert.deepEqual(spread.slice(3), spread.slice(0, 3));
  assert.equal(first('logs-web-4'), first('data-web-4'));
});

test('by hash any number at the end is an ordinal, as officially: with zeros before it, up to 32 bits', () => {
  // FNV-1 of "web" is 1181096325, of "data" 1959470013, by Go's hash/fnv; sums wrap at 32 bits.
  const table: [string, number][] = [
    ['data-web-7', 1181096325 + 7],
    ['data-web-007', 1181096325 + 7],
    ['data-0', 1959470013],
    ['data-00', 1959470013],
    ['data-web-4000000000', (1181096325 + 4000000000) % 2 ** 32],
    ['data-x', 785641958],
    ['data-web-4294967296', 2450562679],
  ];
  for (const [claimName, offset] of table) assert.equal(spreadOffset(claimName, 'hash'), offset, claimName);
});

test('the index agrees with an iteration over all nodes, after any changes', () => {
  const keySets = [['zone'], ['zone', 'rack'], []];
  const change = fc.record({
    name: fc.constantFrom('n1', 'n2', 'n3', 'n4'),
    gone: fc.boolean(),
    zone: fc.constantFrom('a', 'b', undefined),
    rack: fc.constantFrom('1', '2', undefined),
    keys: fc.constantFrom(...keySets),
  });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const index = new TopologyIndex();
      const nodes = new Map<string, TopologyNode>();
      for (const { name, gone, zone, rack, keys } of changes) {
        const labels = { ...(zone && { zone }), ...(rack && { rack }) };
        const value = gone ? undefined : node(labels, keys);
        if (value) nodes.set(name, value);
        else nodes.delete(name);
        index.update(name, value);
        for (const asked of keySets.slice(0, 2)) {
          const walked = [...nodes.values()]
            .filter((n) => asked.every((key) => n.labels?.[key] !== undefined))
            .map((n) => Object.fromEntries(asked.map((key) => [key, n.labels?.[key] ?? ''])));
          assert.deepEqual(index.segments(asked).map(segmentText), sortedSegments(walked).map(segmentText));
        }
        const drawn = index.randomNode(seededRandom(changes.length));
        const withKeys = [...nodes.values()].filter((n) => n.driver.topologyKeys.length > 0);
        assert.equal(drawn === undefined, withKeys.length === 0);
        if (drawn) assert(withKeys.includes(drawn));
      }
    }),
  );
});

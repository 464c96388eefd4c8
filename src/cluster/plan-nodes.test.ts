import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOSTPATH_ZONE, planNodes } from './plan-nodes.ts';

test('two nodes share a zone, each is a rack', () => {
  const nodes = planNodes(5);
  assert.deepEqual(
    nodes.map(({ name, segments, labels }) => [
      name,
      segments[HOSTPATH_ZONE],
      labels['topology.hostpath.csi.berth/rack'],
    ]),
    [
      ['node-1', 'zone-a', 'rack-1'],
      ['node-2', 'zone-a', 'rack-2'],
      ['node-3', 'zone-b', 'rack-3'],
      ['node-4', 'zone-b', 'rack-4'],
      ['node-5', 'zone-c', 'rack-5'],
    ],
  );
});

test('zones have names beyond z', () => {
  const zones = new Set(planNodes(100).map(({ segments }) => segments[HOSTPATH_ZONE]));
  assert.equal(zones.size, 50);
  assert.ok(zones.has('zone-z') && zones.has('zone-aa') && zones.has('zone-ax'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/kinds.ts';
import { hostFacts } from './host-facts.ts';
import { missingLabels, nodeDraft, nodeStatusPatch } from './node-status.ts';

const NOW = Date.parse('2030-01-01T00:00:10.500Z');
const host = {
  ...hostFacts('h', 'v1'),
  arch: 'amd64',
  addresses: ['192.0.2.1'],
  cpuCount: 2,
  memoryBytes: 4096,
};
const node = (over: { labels?: Record<string, string>; conditions?: object[] }) =>
  ({
    metadata: { name: 'n', ...(over.labels && { labels: over.labels }) },
    ...(over.conditions && { status: { conditions: over.conditions } }),
  }) as unknown as Node;

test('a new Node has the labels of its machine, whatever its options say', () => {
  const labels = nodeDraft('n', host, { mine: 'x', 'kubernetes.io/hostname': 'other' }).metadata.labels;
  assert.deepEqual(labels, {
    mine: 'x',
    'kubernetes.io/hostname': 'h',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
  });
});

test('labels that somebody else has set stay', () => {
  assert.deepEqual(missingLabels(node({ labels: { a: 'theirs' } }), { a: 'ours', b: 'ours' }), { b: 'ours' });
  assert.deepEqual(missingLabels(node({}), { a: 'ours' }), { a: 'ours' });
  assert.deepEqual(missingLabels(node({}), undefined), {});
});

test('a condition keeps the time of its last change as long as it says the same', () => {
  const then = '2029-01-01T00:00:00Z';
  const ready = (before?: object) => {
    const { status } = nodeStatusPatch(node(before ? { conditions: [before] } : {}), host, NOW) as {
      status: {
        conditions: { type: string; status: string; lastTransitionTime: string }[];
        capacity: object;
      };
    };
    assert.deepEqual(status.capacity, { cpu: '2', memory: '4Ki', pods: '110' });
    return status.conditions.find(({ type }) => type === 'Ready');
  };
  const now = '2030-01-01T00:00:10Z';
  for (const [before, since] of [
    [undefined, now],
    [{ type: 'Ready', status: 'True', lastTransitionTime: then }, then],
    [{ type: 'Ready', status: 'False', lastTransitionTime: then }, now],
    [{ type: 'Ready', status: 'True' }, now],
    [{ type: 'DiskPressure', status: 'True', lastTransitionTime: then }, now],
  ] as const) {
    const found = ready(before);
    assert.deepEqual([found?.status, found?.lastTransitionTime], ['True', since]);
  }
});

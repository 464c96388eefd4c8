import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../../api/kinds.ts';
import { NodeInfo } from './node-info.ts';
import { nodeAllocatable, podRequests } from './resources.ts';

const container = (requests?: object, more: object = {}) => ({
  name: 'c',
  ...(requests && { resources: { requests } }),
  ...more,
});
const pod = (spec: object): Pod => ({ metadata: { name: 'p' }, spec }) as unknown as Pod;
const amounts = (spec: object) => Object.fromEntries(podRequests(pod(spec)));
const sidecar = { restartPolicy: 'Always' };

const requests: [string, object, object][] = [
  ['no containers', {}, {}],
  ['a container without requests', { containers: [container()] }, {}],
  [
    'the sum of containers',
    { containers: [container({ cpu: '1' }), container({ cpu: '500m', memory: '1' })] },
    { cpu: 1500, memory: 1000 },
  ],
  ['a fraction, rounded up', { containers: [container({ cpu: '100u' })] }, { cpu: 1 }],
  [
    'a larger init container',
    { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '2' })] },
    { cpu: 2000 },
  ],
  [
    'a smaller init container',
    { containers: [container({ cpu: '2' })], initContainers: [container({ cpu: '1' })] },
    { cpu: 2000 },
  ],
  [
    'init containers one after the other',
    { initContainers: [container({ cpu: '1' }), container({ cpu: '2' })] },
    { cpu: 2000 },
  ],
  [
    'a sidecar, which runs on',
    { containers: [container({ cpu: '1' })], initContainers: [container({ cpu: '1' }, sidecar)] },
    { cpu: 2000 },
  ],
  [
    'an init container after a sidecar',
    {
      containers: [container({ cpu: '1' })],
      initContainers: [container({ cpu: '1' }, sidecar), container({ cpu: '3' })],
    },
    { cpu: 4000 },
  ],
  [
    'an init container before a sidecar',
    {
      containers: [container({ cpu: '1' })],
      initContainers: [container({ cpu: '3' }), container({ cpu: '1' }, sidecar)],
    },
    { cpu: 3000 },
  ],
  [
    'an overhead',
    { containers: [container({ cpu: '1' })], overhead: { cpu: '250m', memory: '1' } },
    { cpu: 1250, memory: 1000 },
  ],
];
for (const [name, spec, expected] of requests)
  test(`a pod asks for ${name}`, () => {
    assert.deepEqual(amounts(spec), expected);
  });

const published: [string, object | undefined, object | undefined][] = [
  ['allocatable resources', { allocatable: { cpu: '1' }, capacity: { cpu: '2' } }, { cpu: 1000 }],
  ['a capacity only', { capacity: { cpu: '2' } }, { cpu: 2000 }],
  ['an empty list', { allocatable: {} }, undefined],
  ['nothing', {}, undefined],
  ['no status', undefined, undefined],
];
for (const [name, status, expected] of published)
  test(`a node that publishes ${name} ${expected ? 'is limited' : 'is not limited'}`, () => {
    const found = nodeAllocatable({ metadata: { name: 'n' }, status } as unknown as Node);
    assert.deepEqual(found && Object.fromEntries(found), expected);
  });

test('a node sums up what its pods ask for, as they come, change and go', () => {
  const info = new NodeInfo('n');
  const cpu = () => info.requested.get('cpu');
  const first = pod({ containers: [container({ cpu: '1' })] });
  info.add('ns/a', first);
  info.add('ns/b', pod({ containers: [container({ cpu: '2' })] }));
  assert.equal(cpu(), 3000);
  info.add('ns/a', { ...first, status: { phase: 'Running' } });
  assert.equal(cpu(), 3000, 'the same spec');
  info.add('ns/a', pod({ containers: [container({ cpu: '4' })] }));
  assert.equal(cpu(), 6000);
  info.remove('ns/a');
  info.remove('ns/a');
  assert.deepEqual([cpu(), [...info.pods.keys()]], [2000, ['ns/b']]);
});

test('the volumes of a node are computed again when the volumes of a pod may have changed', () => {
  const info = new NodeInfo('n');
  const computed = new Map();
  const isKept = (change: () => void) => {
    info.volumes = computed;
    change();
    return info.volumes === computed;
  };
  const volumes: unknown[] = [];
  const first = pod({ volumes });
  assert.equal(
    isKept(() => info.add('ns/a', first)),
    false,
  );
  assert.equal(
    isKept(() => info.add('ns/a', first)),
    true,
  );
  assert.equal(
    isKept(() => info.add('ns/a', pod({ volumes, containers: [] }))),
    true,
    'the same volumes',
  );
  assert.equal(
    isKept(() => info.add('ns/a', pod({ volumes: [] }))),
    false,
  );
  assert.equal(
    isKept(() => info.remove('ns/x')),
    true,
  );
  assert.equal(
    isKept(() => info.remove('ns/a')),
    false,
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../../api/kinds.ts';
import { checkNode, podDemand, tolerates, unsupported } from './node-checks.ts';
import { NodeInfo } from './node-info.ts';
import { podRequests } from './resources.ts';

const stamp = { uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const requests = (cpu: string, memory = '0') => ({ resources: { requests: { cpu, memory } } });

function pod(spec: Partial<Pod['spec']> = {}, name = 'p'): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...stamp, name, namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
}

function node(
  change: { labels?: Record<string, string>; spec?: Node['spec']; status?: Node['status'] } = {},
) {
  const info = new NodeInfo('n');
  const { labels, spec, status } = change;
  info.node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...stamp, name: 'n', ...(labels && { labels }) },
    ...(spec && { spec }),
    ...(status && { status }),
  };
  return info;
}

const small = { status: { allocatable: { cpu: '2', memory: '1Gi', pods: '2' } } };

test('whether a pod fits a node', () => {
  const required = (operator: string, values?: string[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator, ...(values && { values }) }] }],
        },
      },
    },
  });
  const taint = { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] } };
  const table: [string, Partial<Pod['spec']>, NodeInfo, string[]][] = [
    ['nothing asked, nothing said', {}, node(), []],
    ['a node that only pods tell of', {}, new NodeInfo('n'), ['node(s) were not ready']],
    ['cordoned', {}, node({ spec: { unschedulable: true } }), ['node(s) were unschedulable']],
    [
      'cordoned and tolerated',
      { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] },
      node({ spec: { unschedulable: true } }),
      [],
    ],
    [
      'not ready',
      {},
      node({ status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
      ['node(s) were not ready'],
    ],
    [
      'not ready, and everything is tolerated',
      { tolerations: [{ operator: 'Exists' }] },
      node({ status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
      [],
    ],
    ['tainted', {}, node(taint), ['node(s) had untolerated taint(s)']],
    ['tainted, tolerated', { tolerations: [{ key: 'k', value: 'v' }] }, node(taint), []],
    ['only preferred away', {}, node({ spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } }), []],
    [
      'selector',
      { nodeSelector: { disk: 'ssd' } },
      node(),
      ["node(s) didn't match Pod's node affinity/selector"],
    ],
    ['selector met', { nodeSelector: { disk: 'ssd' } }, node({ labels: { disk: 'ssd' } }), []],
    [
      'affinity In',
      required('In', ['hdd']),
      node({ labels: { disk: 'ssd' } }),
      ["node(s) didn't match Pod's node affinity/selector"],
    ],
    ['affinity NotIn', required('NotIn', ['hdd']), node({ labels: { disk: 'ssd' } }), []],
    ['affinity DoesNotExist', required('DoesNotExist'), node(), []],
    [
      'too much of everything',
      { containers: [{ name: 'c', image: 'i', ...requests('3', '2Gi') }] },
      node(small),
      ['Insufficient cpu', 'Insufficient memory'],
    ],
    ['just enough', { containers: [{ name: 'c', image: 'i', ...requests('2', '1Gi') }] }, node(small), []],
    [
      'something the node has not',
      { containers: [{ name: 'c', image: 'i', resources: { requests: { 'x.example/gpu': '1' } } }] },
      node(small),
      ['Insufficient x.example/gpu'],
    ],
    [
      'a node that says that it has nothing of anything',
      { containers: [{ name: 'c', image: 'i', ...requests('99') }] },
      node({ status: { allocatable: {} } }),
      [],
    ],
    [
      'a node that says its capacity only',
      { containers: [{ name: 'c', image: 'i', ...requests('3') }] },
      node({ status: { capacity: { cpu: '2' } } }),
      ['Insufficient cpu'],
    ],
    [
      'a node that does not say what it has',
      { containers: [{ name: 'c', image: 'i', ...requests('99') }] },
      node(),
      [],
    ],
  ];
  for (const [name, spec, info, expected] of table) {
    assert.deepEqual(checkNode(podDemand(pod(spec)), info), expected, name);
  }
});

test('pods on a node count against its capacity until they are gone', () => {
  const info = node(small);
  const busy = pod({ containers: [{ name: 'c', image: 'i', ...requests('1500m') }] }, 'busy');
  info.add('default/busy', busy);
  const demand = podDemand(pod({ containers: [{ name: 'c', image: 'i', ...requests('1') }] }));
  assert.deepEqual(checkNode(demand, info), ['Insufficient cpu']);
  info.add('default/busy', { ...busy, status: { phase: 'Running' } });
  assert.deepEqual(checkNode(demand, info), ['Insufficient cpu'], 'once, however often it is seen');
  info.add('default/other', pod({}, 'other'));
  assert.deepEqual(checkNode(demand, info), ['Too many pods', 'Insufficient cpu']);
  info.remove('default/busy');
  assert.deepEqual(checkNode(demand, info), []);
});

test('a pod that asks for nothing fits a node that is overcommitted', () => {
  const info = node(small);
  info.add('default/busy', pod({ containers: [{ name: 'c', image: 'i', ...requests('3') }] }, 'busy'));
  const none = { containers: [{ name: 'c', image: 'i', ...requests('0') }] };
  assert.deepEqual(checkNode(podDemand(pod(none)), info), []);
});

test('ports of the host', () => {
  const wants = (hostPort: number, more: object = {}) => ({
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort, ...more }] }],
  });
  const table: [ReturnType<typeof wants>, boolean][] = [
    [wants(80), false],
    [wants(81), true],
    [wants(80, { protocol: 'UDP' }), true],
    [wants(80, { protocol: 'TCP' }), false],
    [wants(80, { hostIP: '10.0.0.1' }), false],
    [wants(90), false],
    [wants(90, { hostIP: '10.0.0.1' }), false],
    [wants(90, { hostIP: '10.0.0.2' }), true],
    [wants(0), true],
  ];
  const info = node();
  info.add('default/web', pod(wants(80), 'web'));
  info.add('default/bound', pod(wants(90, { hostIP: '10.0.0.1' }), 'bound'));
  for (const [spec, fits] of table) {
    assert.equal(checkNode(podDemand(pod(spec)), info).length === 0, fits, JSON.stringify(spec));
  }
});

test('tolerations', () => {
  const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
  const table: [object, boolean][] = [
    [{ key: 'k', operator: 'Equal', value: 'v' }, true],
    [{ key: 'k', value: 'v' }, true],
    [{ key: 'k', value: 'w' }, false],
    [{ key: 'k', operator: 'Exists' }, true],
    [{ operator: 'Exists' }, true],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ value: 'v' }, false],
  ];
  for (const [toleration, expected] of table) {
    assert.equal(tolerates(toleration, taint), expected, JSON.stringify(toleration));
  }
  const bare = { key: 'k', effect: 'NoSchedule' };
  assert.equal(tolerates({ key: 'k' }, bare), true, 'no value on either side');
  assert.equal(tolerates({ key: 'k', value: '' }, bare), true);
  assert.equal(tolerates({ key: 'k' }, { ...bare, value: '' }), true);
});

test('what a pod needs at most', () => {
  const container = (cpu: string, more: object = {}) => ({
    name: 'c',
    image: 'i',
    ...requests(cpu),
    ...more,
  });
  const sidecar = { restartPolicy: 'Always' };
  const table: [string, Partial<Pod['spec']>, number][] = [
    ['containers together', { containers: [container('1'), container('500m')] }, 1500],
    [
      'the largest init container',
      { initContainers: [container('3'), container('2')], containers: [container('1')] },
      3000,
    ],
    [
      'init containers are over by then',
      { initContainers: [container('1')], containers: [container('2')] },
      2000,
    ],
    ['sidecars stay', { initContainers: [container('1', sidecar)], containers: [container('2')] }, 3000],
    [
      'an init container beside a sidecar',
      { initContainers: [container('1', sidecar), container('5')], containers: [container('2')] },
      6000,
    ],
    ['overhead', { containers: [container('1')], overhead: { cpu: '250m' } }, 1250],
  ];
  for (const [name, spec, expected] of table) assert.equal(podRequests(pod(spec)).get('cpu'), expected, name);
});

test('an unsupported field is named in the error', () => {
  const term = { topologyKey: 'zone', labelSelector: {} };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const preferred = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
  };
  const spread = (whenUnsatisfiable: string) => ({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable }],
  });
  const table: [Partial<Pod['spec']>, RegExp | undefined][] = [
    [{}, undefined],
    [{ affinity: { podAffinity: required } }, /podAffinity/],
    [{ affinity: { podAntiAffinity: required } }, /podAntiAffinity/],
    [{ affinity: { podAntiAffinity: preferred } }, undefined],
    [spread('DoNotSchedule'), /topologySpreadConstraints/],
    [spread('ScheduleAnyway'), undefined],
    [{ resourceClaims: [{ name: 'x' }] } as Partial<Pod['spec']>, /resourceClaims/],
  ];
  for (const [spec, expected] of table) {
    const found = unsupported(pod(spec));
    if (expected) assert.match(found ?? '', expected);
    else assert.equal(found, undefined);
  }
});

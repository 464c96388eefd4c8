import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod, Taint, Toleration } from '../../api/kinds.ts';
import {
  evictionTimeMs,
  silencedStatus,
  TAINT_NOT_READY,
  TAINT_UNREACHABLE,
  wantedTaints,
} from './decide-node.ts';

const CREATED = '2026-01-01T00:00:00Z';
const NOW = '2026-01-01T01:00:00Z';

const node = (conditions?: Record<string, string>, taints?: Taint[]) =>
  ({
    metadata: { name: 'n', creationTimestamp: CREATED },
    ...(taints && { spec: { taints } }),
    ...(conditions && {
      status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
    }),
  }) as Node;

const silences: { name: string; node: Node; isSilent: boolean; then: string[] | undefined }[] = [
  { name: 'that is heard', node: node({ Ready: 'True' }), isSilent: false, then: undefined },
  { name: 'that is known to be silent', node: node({ Ready: 'Unknown' }), isSilent: true, then: undefined },
  {
    name: 'that never posted a status',
    node: node(),
    isSilent: true,
    then: ['Ready Unknown NodeStatusNeverUpdated Kubelet never posted node status.'],
  },
  {
    name: 'that stopped',
    node: node({ Ready: 'True', DiskPressure: 'False', Mine: 'True' }),
    isSilent: true,
    then: [
      'Ready Unknown NodeStatusUnknown Kubelet stopped posting node status.',
      'DiskPressure Unknown NodeStatusUnknown Kubelet stopped posting node status.',
      'Mine True  ',
    ],
  },
];
for (const { name, then, ...snapshot } of silences) {
  test(`the conditions of a node ${name}`, () => {
    const status = silencedStatus({ ...snapshot, nowIso: NOW });
    const text = status?.conditions?.map(({ type, status: value, reason = '', message = '' }) =>
      [type, value, reason, message].join(' '),
    );
    assert.deepEqual(text, then);
    if (then) assert.equal(status?.conditions?.[0]?.lastTransitionTime, NOW);
  });
}

const mine: Taint = { key: 'mine', effect: 'NoExecute' };
const both = (key: string): Taint[] => [
  { key, effect: 'NoSchedule' },
  { key, effect: 'NoExecute', timeAdded: NOW },
];
const taintings: { name: string; node: Node; then: Taint[] | undefined }[] = [
  { name: 'ready, with a taint of its own', node: node({ Ready: 'True' }, [mine]), then: undefined },
  { name: 'without a status', node: node(), then: undefined },
  { name: 'not ready', node: node({ Ready: 'False' }), then: both(TAINT_NOT_READY) },
  { name: 'unreachable', node: node({ Ready: 'Unknown' }), then: both(TAINT_UNREACHABLE) },
  {
    name: 'unreachable and tainted so',
    node: node({ Ready: 'Unknown' }, [mine, ...both(TAINT_UNREACHABLE)]),
    then: undefined,
  },
  {
    name: 'unreachable with half of its taints: the time of the other is kept',
    node: node({ Ready: 'Unknown' }, [{ key: TAINT_UNREACHABLE, effect: 'NoExecute', timeAdded: CREATED }]),
    then: [
      { key: TAINT_UNREACHABLE, effect: 'NoExecute', timeAdded: CREATED },
      { key: TAINT_UNREACHABLE, effect: 'NoSchedule' },
    ],
  },
  {
    name: 'not ready, unreachable before',
    node: node({ Ready: 'False' }, [mine, ...both(TAINT_UNREACHABLE)]),
    then: [mine, ...both(TAINT_NOT_READY)],
  },
  {
    name: 'ready again',
    node: node({ Ready: 'True' }, [...both(TAINT_NOT_READY), mine]),
    then: [mine],
  },
  {
    name: 'unreachable, with an effect that is not ours',
    node: node({ Ready: 'Unknown' }, [
      ...both(TAINT_UNREACHABLE),
      { key: TAINT_UNREACHABLE, effect: 'PreferNoSchedule' },
    ]),
    then: both(TAINT_UNREACHABLE),
  },
];
for (const { name, node: given, then } of taintings) {
  test(`the taints of a node ${name}`, () => {
    assert.deepEqual(wantedTaints({ node: given, nowIso: NOW }), then);
  });
}

const unreachable: Taint = { key: TAINT_UNREACHABLE, effect: 'NoExecute', timeAdded: NOW };
const custom: Taint = { key: 'k', value: 'v', effect: 'NoExecute', timeAdded: NOW };
/** `then`: seconds after NOW, or undefined when the pod stays. */
const evictions: { name: string; taints: Taint[]; tolerations?: Toleration[]; then: number | undefined }[] = [
  { name: 'no taint', taints: [], then: undefined },
  { name: 'a taint for scheduling only', taints: [{ key: 'k', effect: 'NoSchedule' }], then: undefined },
  { name: 'unreachable, tolerated for five minutes', taints: [unreachable], then: 300 },
  {
    name: 'not ready, tolerated for five minutes',
    taints: [{ ...unreachable, key: TAINT_NOT_READY }],
    then: 300,
  },
  { name: 'any other taint: at once', taints: [custom], then: 0 },
  {
    name: 'a taint without a time: since the node exists',
    taints: [{ key: 'k', effect: 'NoExecute' }],
    then: -3600,
  },
  { name: 'the taint that evicts first', taints: [unreachable, custom], then: 0 },
  {
    name: 'tolerated for ever',
    taints: [custom],
    tolerations: [{ key: 'k', value: 'v' }],
    then: undefined,
  },
  {
    name: 'tolerated for a while, by the shorter toleration',
    taints: [custom],
    tolerations: [
      { key: 'k', operator: 'Exists', tolerationSeconds: 60 },
      { key: 'k', value: 'v', tolerationSeconds: 30 },
    ],
    then: 30,
  },
  {
    name: 'tolerated for a while, and for ever',
    taints: [custom],
    tolerations: [{ key: 'k', operator: 'Exists', tolerationSeconds: 60 }, { operator: 'Exists' }],
    then: undefined,
  },
  { name: 'another value', taints: [custom], tolerations: [{ key: 'k', value: 'w' }], then: 0 },
  { name: 'no value', taints: [custom], tolerations: [{ key: 'k' }], then: 0 },
  {
    name: 'no value on either side',
    taints: [{ key: 'k', effect: 'NoExecute', timeAdded: NOW }],
    tolerations: [{ key: 'k' }],
    then: undefined,
  },
  { name: 'another key', taints: [custom], tolerations: [{ key: 'l', operator: 'Exists' }], then: 0 },
  { name: 'no key, and not Exists', taints: [custom], tolerations: [{ value: 'v' }], then: 0 },
  {
    name: 'another effect',
    taints: [custom],
    tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }],
    then: 0,
  },
  {
    name: 'the same effect',
    taints: [custom],
    tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    then: undefined,
  },
];
for (const { name, taints, tolerations, then } of evictions) {
  test(`a pod is evicted: ${name}`, () => {
    const pod = { metadata: { name: 'p' }, spec: { ...(tolerations && { tolerations }) } } as Pod;
    const expected = then === undefined ? undefined : Date.parse(NOW) + then * 1000;
    assert.equal(evictionTimeMs(pod, node(undefined, taints)), expected);
  });
}

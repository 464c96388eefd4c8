import { test } from 'node:test';
import type { Subresource } from '../kind.ts';
import { validatePod, validatePodUpdate } from './pod.ts';
import { type Body, startAs, texts } from './testing/rows.ts';

const container = { name: 'c', image: 'i' };
const pod = (spec: Body) => ({ spec: { containers: [container], ...spec } }) as never;
/** Errors of a pod's first container, without its path. */
const inContainer = (change: Body, spec: Body = {}) =>
  texts(validatePod(pod({ containers: [{ ...container, ...change }], ...spec }))).map((text) =>
    text.replace('spec.containers[0].', ''),
  );
const specs: [string, Body, string[]][] = [
  ['a good one', {}, []],
  ['no container', { containers: [] }, ['spec.containers: Required value']],
  [
    'two containers of one name',
    { initContainers: [container] },
    ['spec.initContainers[0].name: Duplicate value: "c"'],
  ],
  ['a restart policy that does not exist', { restartPolicy: 'Often' }, ['spec.restartPolicy: Unsupported']],
  ['a DNS policy that does not exist', { dnsPolicy: 'Any' }, ['spec.dnsPolicy: Unsupported value']],
  ['no grace', { terminationGracePeriodSeconds: 0 }, []],
  ['no time before its deadline', { activeDeadlineSeconds: 0 }, ['spec.activeDeadlineSeconds: Invalid']],
  [
    'names that are none',
    { nodeName: 'A', hostname: 'a.b', serviceAccountName: 'B' },
    ['spec.nodeName: Invalid', 'spec.hostname: Invalid', 'spec.serviceAccountName: Invalid'],
  ],
  ['names', { nodeName: 'a.b', hostname: 'a', serviceAccountName: 'a.b' }, []],
  ['a node selector', { nodeSelector: { 'a/b': 'c' } }, []],
  [
    'a node selector that is none',
    { nodeSelector: { 'a b': 'c d' } },
    ['spec.nodeSelector: Invalid', 'spec.nodeSelector: Invalid'],
  ],
  [
    'a node affinity without terms',
    { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } },
    ['spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required'],
  ],
];
for (const [name, spec, errors] of specs) {
  test(`a pod: ${name}`, () => startAs(texts(validatePod(pod(spec))), errors));
}

const containers: [string, Body, string[]][] = [
  ['no name', { name: '' }, ['name: Required value']],
  ['a name that is none', { name: 'A' }, ['name: Invalid value']],
  ['no image', { image: '' }, ['image: Required value']],
  ['a pull policy that does not exist', { imagePullPolicy: 'Once' }, ['imagePullPolicy: Unsupported value']],
  ['ports', { ports: [{ containerPort: 1 }, { containerPort: 65535, hostPort: 1, protocol: 'UDP' }] }, []],
  ['a port without a number', { ports: [{}] }, ['ports[0].containerPort: Required value']],
  [
    'ports out of range',
    { ports: [{ containerPort: 0 }, { containerPort: 1, hostPort: 65536 }] },
    ['ports[0].containerPort: Invalid value: 0', 'ports[1].hostPort: Invalid value: 65536'],
  ],
  [
    'a protocol that does not exist',
    { ports: [{ containerPort: 1, protocol: 'IP' }] },
    ['ports[0].protocol: Unsupported'],
  ],
  ['resources', { resources: { limits: { cpu: '1' }, requests: { cpu: '1000m', memory: '1Gi' } } }, []],
  [
    'more than its limit',
    { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
    ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [
    'quantities that are none',
    { resources: { limits: { cpu: 'x' }, requests: { cpu: 'y' } } },
    ['resources.limits[cpu]: Invalid', 'resources.requests[cpu]: Invalid'],
  ],
  [
    'variables',
    {
      env: [
        { name: 'A', value: 'b' },
        { name: 'C', valueFrom: {} },
      ],
    },
    [],
  ],
  [
    'a variable without a name, and one with two values',
    { env: [{ value: 'b' }, { name: 'A', value: 'b', valueFrom: {} }] },
    ['env[0].name: Required value', 'env[1].valueFrom: Invalid value: "": may not be specified when'],
  ],
  [
    'mounts',
    {
      volumeMounts: [
        { name: 'v', mountPath: '/a' },
        { name: 'v', mountPath: '/b', subPath: 'x/y' },
      ],
    },
    [],
  ],
  [
    'a mount of a volume that is not there',
    { volumeMounts: [{ name: 'w', mountPath: '/a' }] },
    ['volumeMounts[0].name: Not found: "w"'],
  ],
  [
    'a mount of nothing at nowhere',
    { volumeMounts: [{}] },
    ['volumeMounts[0].name: Required value', 'volumeMounts[0].mountPath: Required value'],
  ],
  [
    'two mounts at one path',
    {
      volumeMounts: [
        { name: 'v', mountPath: '/a' },
        { name: 'v', mountPath: '/a' },
      ],
    },
    ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
  ],
  [
    'mounts of directories outside of the volume',
    {
      volumeMounts: [
        { name: 'v', mountPath: '/a', subPath: '/x' },
        { name: 'v', mountPath: '/b', subPath: 'x/../..' },
      ],
    },
    [
      'volumeMounts.subPath: Invalid value: "/x": must be a relative',
      'volumeMounts.subPath: Invalid value: "x/../..": must not contain',
    ],
  ],
  [
    'a propagation that does not exist',
    { volumeMounts: [{ name: 'v', mountPath: '/a', mountPropagation: 'All' }] },
    ['volumeMounts.mountPropagation: Unsupported value'],
  ],
  [
    'a device of a directory',
    { volumeDevices: [{ name: 'v', devicePath: '/dev/a' }] },
    ['volumeDevices[0].name: Invalid value: "v": can only use volume source type'],
  ],
  [
    'devices that are not there, and two at one path',
    { volumeDevices: [{}, { name: 'w', devicePath: '/dev/a' }, { name: 'v', devicePath: '/dev/a' }] },
    [
      'volumeDevices[0].name: Required value',
      'volumeDevices[0].devicePath: Required value',
      'volumeDevices[1].name: Not found: "w"',
      'volumeDevices[2].devicePath: Invalid value: "/dev/a": must be unique',
      'volumeDevices[2].name: Invalid value: "v": can only use volume source type',
    ],
  ],
];
for (const [name, change, errors] of containers) {
  test(`a container with ${name}`, () => {
    startAs(inContainer(change, { volumes: [{ name: 'v', emptyDir: {} }] }), errors);
  });
}

const tolerations: [string, Body, string[]][] = [
  ['a key and a value', { key: 'k', value: 'v', effect: 'NoSchedule' }, []],
  ['anything', { operator: 'Exists' }, []],
  ['nothing', {}, ['operator: Invalid value: "Equal": operator must be Exists when `key` is empty']],
  ['a value that exists', { key: 'k', operator: 'Exists', value: 'v' }, ['operator: Invalid value']],
  ['a key that is none', { key: 'a b' }, ['key: Invalid value: "a b"']],
  [
    'an operator that does not exist',
    { key: 'k', operator: 'Near' },
    ['operator: Unsupported value: "Near"'],
  ],
  ['an effect that does not exist', { key: 'k', effect: 'No' }, ['effect: Unsupported value: "No"']],
  ['eviction, for a while', { key: 'k', effect: 'NoExecute', tolerationSeconds: 5 }, []],
  [
    'another effect for a while',
    { key: 'k', effect: 'NoSchedule', tolerationSeconds: 5 },
    ['effect: Invalid value: "NoSchedule"'],
  ],
  ['any effect for a while', { key: 'k', tolerationSeconds: 5 }, ['effect: Invalid value: ""']],
];
for (const [name, toleration, errors] of tolerations) {
  test(`a pod that tolerates ${name}`, () => {
    const found = texts(validatePod(pod({ tolerations: [toleration] })));
    startAs(
      found,
      errors.map((error) => `spec.tolerations[0].${error}`),
    );
  });
}

const fixed = 'spec: Forbidden: pod updates may not change fields other than';
const toleration = { key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
const changed: { name: string; before?: Body; after?: Body; subresource?: Subresource; errors: string[] }[] =
  [
    { name: 'nothing', errors: [] },
    { name: 'an image', after: { containers: [{ ...container, image: 'j' }] }, errors: [] },
    { name: 'its deadline', after: { activeDeadlineSeconds: 5 }, errors: [] },
    { name: 'a variable', after: { containers: [{ ...container, env: [] }] }, errors: [fixed] },
    { name: 'its node', after: { nodeName: 'n' }, errors: [fixed] },
    {
      name: 'the number of its containers',
      after: { containers: [container, { name: 'd', image: 'i' }] },
      errors: ['spec.containers: Forbidden: pod updates may not add or remove containers'],
    },
    {
      name: 'the number of its first containers',
      after: { initContainers: [{ name: 'd', image: 'i' }] },
      errors: ['spec.initContainers: Forbidden: pod updates may not add or remove containers'],
    },
    { name: 'its tolerations to more', after: { tolerations: [toleration] }, errors: [] },
    {
      name: 'how long it tolerates something',
      before: { tolerations: [toleration] },
      after: { tolerations: [{ ...toleration, tolerationSeconds: 9 }] },
      errors: [],
    },
    {
      name: 'its tolerations to fewer',
      before: { tolerations: [toleration] },
      after: { tolerations: [] },
      errors: ['spec.tolerations: Forbidden: existing toleration can not be modified'],
    },
    { name: 'its gates to fewer', before: { schedulingGates: [{ name: 'g' }] }, after: {}, errors: [] },
    {
      name: 'its gates to the same',
      before: { schedulingGates: [{ name: 'g' }] },
      after: { schedulingGates: [{ name: 'g' }] },
      errors: [],
    },
    {
      name: 'its gates to more',
      after: { schedulingGates: [{ name: 'g' }] },
      errors: ['spec.schedulingGates[0].name: Forbidden: only deletion is allowed'],
    },
    { name: 'its node, by a binding', after: { nodeName: 'n' }, subresource: 'binding', errors: [] },
    {
      name: 'its node again, by a binding',
      before: { nodeName: 'n' },
      after: { nodeName: 'm' },
      subresource: 'binding',
      errors: ['spec.nodeName: Forbidden: pod is already assigned to node "n"'],
    },
    {
      name: 'its node to the same, by a binding',
      before: { nodeName: 'n' },
      after: { nodeName: 'n' },
      subresource: 'binding',
      errors: [],
    },
    { name: 'its status', after: { nodeName: 'n' }, subresource: 'status', errors: [] },
  ];
for (const { name, before = {}, after = {}, subresource = '', errors } of changed) {
  test(`a pod changes ${name}`, () => {
    startAs(texts(validatePodUpdate(pod(after), pod(before), subresource)), errors);
  });
}

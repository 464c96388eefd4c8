// Pods, nodes, workloads and what pods refer to.

import type { Json, JsonObject } from '../exchange.ts';
import type { Subject } from './subject.ts';

const CONTAINER = { name: 'main', image: 'busybox' };
const mount = (more: JsonObject = {}) => ({ name: 'data', mountPath: '/data', ...more });
const withMounts = (...mounts: JsonObject[]): JsonObject => ({ ...CONTAINER, volumeMounts: mounts });
const POD_SPEC = {
  automountServiceAccountToken: false,
  containers: [CONTAINER],
  volumes: [{ name: 'data', emptyDir: {} }],
};
const TEMPLATE = { metadata: { labels: { app: 'x' } }, spec: POD_SPEC };

const containerValues: readonly Json[] = [
  { ...CONTAINER, image: 'other' },
  { name: 'Main', image: 'busybox' },
  { ...CONTAINER, resources: { requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: '1' } } },
  { ...CONTAINER, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
  { ...CONTAINER, resources: { requests: { cpu: 0.5 } } },
  { ...CONTAINER, imagePullPolicy: 'Odd' },
  { ...CONTAINER, ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }] },
  { ...CONTAINER, ports: [{ containerPort: 70000 }] },
  { ...CONTAINER, env: [{ name: 'A', value: 'b' }, { name: 'C' }] },
  { ...CONTAINER, env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.odd' } } }] },
  { ...CONTAINER, livenessProbe: {} },
  { ...CONTAINER, livenessProbe: { exec: { command: ['true'] }, periodSeconds: -1 } },
  { ...CONTAINER, livenessProbe: { exec: { command: ['true'] }, httpGet: { port: 80 } } },
  { ...CONTAINER, readinessProbe: { httpGet: { port: 80 } } },
  { ...CONTAINER, readinessProbe: { tcpSocket: { port: 'name' } } },
  { ...CONTAINER, lifecycle: { preStop: {} } },
  { ...CONTAINER, lifecycle: { preStop: { exec: { command: ['true'] } } } },
  { ...CONTAINER, securityContext: { privileged: true, allowPrivilegeEscalation: false } },
  { ...CONTAINER, terminationMessagePolicy: 'Odd' },
  withMounts(mount()),
  withMounts(mount({ name: 'other' })),
  withMounts(mount(), mount()),
  withMounts(mount({ mountPropagation: 'Bidirectional' })),
  withMounts(mount({ mountPropagation: 'HostToContainer' })),
  withMounts(mount({ mountPropagation: 'Odd' })),
  withMounts(mount({ subPath: '../up' })),
  withMounts(mount({ subPath: 'a', subPathExpr: '$(A)' })),
  withMounts(mount({ mountPath: '' })),
  { ...CONTAINER, volumeDevices: [{ name: 'data', devicePath: '/dev/a' }] },
  { ...withMounts(mount()), volumeDevices: [{ name: 'data', devicePath: '/data' }] },
];

const volumeValues: readonly Json[] = [
  [{ name: 'data', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } }],
  [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
  [{ name: 'data', persistentVolumeClaim: {} }],
  [{ name: 'data', hostPath: { path: '/a/../b' } }],
  [{ name: 'data', hostPath: { path: '/a', type: 'Odd' } }],
  [{ name: 'data', csi: { driver: 'csi.example.com' } }],
  [{ name: 'data', csi: { driver: 'not valid' } }],
  [{ name: 'data', configMap: { name: 'c', items: [{ key: 'a', path: '../b' }] } }],
  [{ name: 'data', secret: { secretName: 's', defaultMode: 9999 } }],
  [{ name: 'data', emptyDir: {}, secret: { secretName: 's' } }],
  [{ name: 'data' }],
  [
    { name: 'data', emptyDir: {} },
    { name: 'data', emptyDir: {} },
  ],
  [
    {
      name: 'data',
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      },
    },
  ],
  [{ name: 'data', ephemeral: {} }],
];

const podValues = (base: string): Record<string, readonly Json[]> => ({
  [`${base}/containers/0`]: containerValues,
  [`${base}/containers`]: [
    [CONTAINER, CONTAINER],
    [CONTAINER, { name: 'side', image: 'x' }],
  ],
  [`${base}/initContainers`]: [
    [{ name: 'init', image: 'x' }],
    [{ ...CONTAINER }],
    [{ name: 'init', image: 'x', restartPolicy: 'Always' }],
  ],
  [`${base}/volumes`]: volumeValues,
  [`${base}/restartPolicy`]: ['Never', 'Odd'],
  [`${base}/dnsPolicy`]: ['Default', 'Odd'],
  [`${base}/activeDeadlineSeconds`]: [10, 0],
  [`${base}/terminationGracePeriodSeconds`]: [5],
  [`${base}/nodeSelector`]: [{ a: 'b' }, { 'not valid!': 'b' }],
  [`${base}/securityContext`]: [
    { fsGroup: 5 },
    { fsGroup: -5 },
    { runAsUser: 5, fsGroupChangePolicy: 'Odd' },
  ],
  [`${base}/tolerations`]: [
    [{ key: 'a', operator: 'Exists' }],
    [{ key: 'a', operator: 'Odd' }],
    [{ operator: 'Equal', value: 'x' }],
  ],
  [`${base}/affinity`]: [
    { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  ],
  [`${base}/hostNetwork`]: [true],
  [`${base}/imagePullSecrets`]: [[{ name: 's' }], [{}]],
});

const OF_CLASS = 'storageclass.storage.k8s.io/requests.storage';

const workload = (kind: string, plural: string, subresources: readonly string[]) => ({
  apiVersion: 'apps/v1',
  kind,
  plural,
  namespaced: true,
  subresources,
});

export const workloadSubjects: readonly Subject[] = [
  {
    apiVersion: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
    subresources: ['status', 'binding', 'eviction'],
    sample: { spec: POD_SPEC },
    values: {
      ...podValues('spec'),
      'spec/nodeName': ['n1', 'Not Valid'],
      'spec/serviceAccountName': ['default', 'missing'],
      'spec/schedulingGates': [[{ name: 'example.com/wait' }], [{ name: 'not valid!' }]],
      'spec/topologySpreadConstraints': [[{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'Odd' }]],
      'status/phase': ['Running', 'Odd'],
      'status/conditions': [[{ type: 'Ready', status: 'True' }], [{ type: 'Ready', status: 'Odd' }]],
      'status/podIP': ['10.1.2.3', 'x'],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Node',
    plural: 'nodes',
    namespaced: false,
    subresources: ['status'],
    sample: { spec: { podCIDR: '10.1.0.0/24' } },
    values: {
      'spec/podCIDR': ['10.2.0.0/24', 'x'],
      'spec/unschedulable': [true],
      'spec/providerID': ['a://b'],
      'spec/taints': [
        [{ key: 'a', effect: 'NoSchedule' }],
        [{ key: 'a', effect: 'Odd' }],
        [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoSchedule' },
        ],
      ],
      'status/capacity': [{ cpu: '1', memory: '1Gi' }, { cpu: '-1' }],
      'status/addresses': [[{ type: 'InternalIP', address: '10.0.0.1' }]],
      'status/volumesInUse': [['kubernetes.io/csi/a^b'], ['a', 'a']],
      'status/conditions': [[{ type: 'Ready', status: 'True' }]],
    },
  },
  {
    ...workload('Deployment', 'deployments', ['status', 'scale']),
    sample: { spec: { selector: { matchLabels: { app: 'x' } }, template: TEMPLATE } },
    values: {
      ...podValues('spec/template/spec'),
      'spec/replicas': [0, 3],
      'spec/selector': [{ matchLabels: { app: 'y' } }],
      'spec/strategy': [
        { type: 'Recreate' },
        { type: 'Odd' },
        { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
      ],
      'spec/minReadySeconds': [5],
      'spec/progressDeadlineSeconds': [1, 700],
      'spec/template/metadata/labels': [{ app: 'y' }],
      'status/replicas': [3],
    },
  },
  {
    ...workload('StatefulSet', 'statefulsets', ['status', 'scale']),
    sample: { spec: { serviceName: 's', selector: { matchLabels: { app: 'x' } }, template: TEMPLATE } },
    values: {
      'spec/replicas': [0, 3],
      'spec/podManagementPolicy': ['Parallel', 'Odd'],
      'spec/updateStrategy': [
        { type: 'OnDelete' },
        { type: 'Odd' },
        { type: 'RollingUpdate', rollingUpdate: { partition: -1 } },
      ],
      'spec/persistentVolumeClaimRetentionPolicy': [{ whenDeleted: 'Delete' }, { whenDeleted: 'Odd' }],
      'spec/volumeClaimTemplates': [
        [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      ],
      'spec/serviceName': ['t'],
      'spec/ordinals': [{ start: 2 }],
      'spec/template/spec/restartPolicy': ['Never'],
      'status/replicas': [3],
    },
  },
  {
    ...workload('DaemonSet', 'daemonsets', ['status']),
    sample: { spec: { selector: { matchLabels: { app: 'x' } }, template: TEMPLATE } },
    values: {
      'spec/updateStrategy': [{ type: 'OnDelete' }, { type: 'Odd' }],
      'spec/template/spec/containers/0/image': ['other'],
      'spec/minReadySeconds': [5],
      'status/numberReady': [3],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    namespaced: true,
    sample: { data: { a: 'b' } },
    values: {
      data: [{ a: 'c', d: 'e' }, { 'not valid!': 'x' }, { a: 5 }],
      'data/a': ['z'],
      binaryData: [{ b: 'AAAA' }, { a: 'AAAA' }, { b: 'not base64!' }],
      immutable: [true, false],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    plural: 'secrets',
    namespaced: true,
    sample: { data: { a: 'Yg==' } },
    values: {
      data: [{ a: 'Yw==' }, { 'not valid!': 'Yw==' }, { a: 'not base64!' }],
      stringData: [{ s: 'plain' }],
      type: ['example.com/x', 'kubernetes.io/tls', 'kubernetes.io/basic-auth'],
      immutable: [true],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    namespaced: true,
    sample: {},
    values: {
      secrets: [[{ name: 's' }]],
      imagePullSecrets: [[{ name: 's' }]],
      automountServiceAccountToken: [true],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    subresources: ['status', 'finalize'],
    sample: {},
    values: { 'spec/finalizers': [['example.com/hold'], ['plain']], 'status/phase': ['Terminating', 'Odd'] },
  },
  {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    plural: 'resourcequotas',
    namespaced: true,
    subresources: ['status'],
    // Of a class that no claim of these tables has: a quota of others would reject them.
    sample: { spec: { hard: { [`unused.${OF_CLASS}`]: '5Gi' } } },
    values: {
      'spec/hard': [
        { [`unused.${OF_CLASS}`]: '7Gi' },
        { odd: '1' },
        { 'requests.example.com/gpu': '5' },
        { 'requests.example.com/gpu': '1.5' },
      ],
      'spec/scopes': [['BestEffort'], ['Odd']],
    },
  },
];

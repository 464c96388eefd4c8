import { validateEndpointSlice } from './service.ts';
import { type Body, rows } from './testing/rows.ts';
import { validateWorkload } from './workload.ts';

const labels = { app: 'web' };
const podSpec = { containers: [{ name: 'c', image: 'i' }] };
const pods = (change: Body) => ({ metadata: { labels }, spec: { ...podSpec, ...change } });
const spec = { selector: { matchLabels: labels }, template: pods({}) };
const workload = (change: Body) => ({ spec: { ...spec, ...change } });
const deployment = (change: Body) => workload({ strategy: { type: 'Recreate' }, ...change });
const container = (change: Body) =>
  deployment({ template: pods({ containers: [{ ...podSpec.containers[0], ...change }] }) });

rows(validateWorkload, { kind: 'StatefulSet' }, [
  [
    'pods of a set may not end by themselves',
    workload({ template: pods({ activeDeadlineSeconds: 5 }) }),
    [
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported',
    ],
  ],
  ['ordered pods', workload({ podManagementPolicy: 'OrderedReady' }), []],
  ['pods at once', workload({ podManagementPolicy: 'Parallel' }), []],
  [
    'pods in another order',
    workload({ podManagementPolicy: 'Odd' }),
    ["spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'"],
  ],
  ['an update on deletion', workload({ updateStrategy: { type: 'OnDelete' } }), []],
  [
    'an update on deletion with a partition',
    workload({ updateStrategy: { type: 'OnDelete', rollingUpdate: {} } }),
    ['spec.updateStrategy.rollingUpdate: Invalid value: {}'],
  ],
  [
    'a rolling update',
    workload({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }),
    [],
  ],
  [
    'a negative partition',
    workload({ updateStrategy: { rollingUpdate: { partition: -1 } } }),
    ['spec.updateStrategy.rollingUpdate.partition: Invalid value: -1'],
  ],
  ['another update', workload({ updateStrategy: { type: 'Odd' } }), ['spec.updateStrategy: Invalid value']],
  [
    'claims that are kept',
    workload({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Delete' } }),
    [],
  ],
  [
    'claims that do something else',
    workload({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Odd' } }),
    ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Odd"'],
  ],
  [
    'a history of less than nothing',
    workload({ revisionHistoryLimit: -1 }),
    ['spec.revisionHistoryLimit: Invalid value: -1'],
  ],
  [
    'readiness before the start',
    workload({ minReadySeconds: -1 }),
    ['spec.minReadySeconds: Invalid value: -1'],
  ],
]);

rows(validateWorkload, { kind: 'Deployment' }, [
  [
    'pods of a deployment may not end by themselves',
    deployment({ template: pods({ activeDeadlineSeconds: 5 }) }),
    [
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
    ],
  ],
  ['a deadline after readiness', deployment({ progressDeadlineSeconds: 11, minReadySeconds: 10 }), []],
  [
    'a deadline at readiness',
    deployment({ progressDeadlineSeconds: 10, minReadySeconds: 10 }),
    ['spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds'],
  ],
  [
    'no time at all',
    deployment({ progressDeadlineSeconds: 0 }),
    ['spec.progressDeadlineSeconds: Invalid value: 0'],
  ],
  [
    'all pods at once',
    deployment({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } } }),
    [],
  ],
  [
    'more than all pods',
    deployment({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '101%' } } }),
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  ],
  [
    'two handlers of a probe',
    container({ livenessProbe: { exec: { command: ['x'] }, httpGet: { port: 80, path: '/' } } }),
    [
      'spec.template.spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type',
    ],
  ],
  [
    'a probe of nothing',
    container({ livenessProbe: {} }),
    ['spec.template.spec.containers[0].livenessProbe: Required value: must specify a handler type'],
  ],
  [
    'a privileged container that may not escalate',
    container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    ['spec.template.spec.containers[0].securityContext: Invalid value'],
  ],
  ['a privileged container', container({ securityContext: { privileged: true } }), []],
  [
    'a container that may not escalate',
    container({ securityContext: { privileged: false, allowPrivilegeEscalation: false } }),
    [],
  ],
  [
    'the name of the pod in the environment',
    container({ env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
    [],
  ],
  [
    'an odd field in the environment',
    container({ env: [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'spec.odd' } } }] }),
    ['spec.template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.odd"'],
  ],
]);

const slice = (endpoint: Body, addressType = 'IPv4') => ({
  addressType,
  endpoints: [{ addresses: ['10.0.0.1'], ...endpoint }],
});
rows(validateEndpointSlice, { kind: 'EndpointSlice' }, [
  ['an endpoint', slice({ nodeName: 'n', hostname: 'h' }), []],
  ['an endpoint on an odd node', slice({ nodeName: 'N!' }), ['endpoints[0].nodeName: Invalid value']],
  ['an endpoint with an odd host name', slice({ hostname: 'H!' }), ['endpoints[0].hostname: Invalid value']],
  ['an endpoint without an address', slice({ addresses: [] }), ['endpoints[0].addresses: Required value']],
  [
    'an address of the other family',
    slice({}, 'IPv6'),
    ['endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address'],
  ],
  ['a name as an address', slice({ addresses: ['a.example'] }, 'FQDN'), []],
]);

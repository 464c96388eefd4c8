import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../api/object.ts';
import { messageNameFor } from '../../api/protobuf/message-table.ts';
import type { FieldError, Kind, Subresource } from '../kind.ts';
import { validateMetadata } from '../validation/metadata.ts';
import { builtinKinds } from './index.ts';
import { scaleOf, withScale } from './scale.ts';

type Body = Record<string, unknown>;

function kindNamed(name: string, group?: string): Kind {
  const kind = builtinKinds.find(
    (each) => each.kind === name && (group === undefined || each.group === group),
  );
  assert.ok(kind, name);
  return kind;
}

function object(kind: string, body: Body, metadata: Body = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name: 'x', ...metadata },
    ...structuredClone(body),
  } as unknown as KubeObject;
}

function created(
  kind: string,
  body: Body,
  metadata: Body = {},
): { object: KubeObject & Body; errors: string[] } {
  const one = object(kind, body, metadata) as KubeObject & Body;
  const found = kindNamed(kind);
  found.setDefaults(one);
  found.prepareForCreate(one);
  found.setDefaults(one);
  return { object: one, errors: texts(found.validate(one)) };
}

function updated(kind: string, before: Body, after: Body, subresource: Subresource = ''): string[] {
  const found = kindNamed(kind);
  const [current, next] = [object(kind, before), object(kind, after)];
  for (const each of [current, next]) found.setDefaults(each);
  found.prepareForUpdate(next, current, subresource);
  return texts([...found.validate(next), ...found.validateUpdate(next, current, subresource)]);
}

const texts = (errors: FieldError[]): string[] => errors.map(({ field, message }) => `${field}: ${message}`);

const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const volumeSpec = {
  capacity: { storage: '1Gi' },
  accessModes: ['ReadWriteOnce'],
  csi: { driver: 'd.io', volumeHandle: 'h' },
};
const podSpec = { containers: [{ name: 'c', image: 'i' }] };

const refusals: [string, string, Body, string[]][] = [
  ['a good claim', 'PersistentVolumeClaim', { spec: claimSpec }, []],
  [
    'an empty claim, all problems at once',
    'PersistentVolumeClaim',
    { spec: {} },
    [
      'spec.accessModes: Required value: at least 1 access mode is required',
      'spec.resources[storage]: Required value',
    ],
  ],
  [
    'ReadWriteOncePod with others',
    'PersistentVolumeClaim',
    { spec: { ...claimSpec, accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] } },
    ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
  ],
  [
    'an unknown mode',
    'PersistentVolumeClaim',
    { spec: { ...claimSpec, volumeMode: 'Tape' } },
    ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
  ],
  [
    'a claim for nothing',
    'PersistentVolumeClaim',
    { spec: { ...claimSpec, resources: { requests: { storage: '0' } } } },
    ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  ],
  ['a good volume', 'PersistentVolume', { spec: volumeSpec }, []],
  [
    'a volume with two sources and none of the rest',
    'PersistentVolume',
    { spec: { csi: { driver: 'd.io' }, hostPath: { path: '/x' } } },
    [
      'spec.accessModes: Required value',
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: "": supported values: "storage"',
      'spec.csi: Forbidden: may not specify more than 1 volume type',
    ],
  ],
  [
    'a volume without a source, with bad affinity',
    'PersistentVolume',
    {
      spec: {
        ...volumeSpec,
        csi: undefined,
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }] },
        },
      },
    },
    [
      'spec: Required value: must specify a volume type',
      "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ],
  ['a good pod', 'Pod', { spec: podSpec }, []],
  ['a pod of nothing', 'Pod', { spec: {} }, ['spec.containers: Required value']],
  [
    'an inline volume without driver, an ephemeral one without claim',
    'Pod',
    {
      spec: {
        ...podSpec,
        volumes: [
          { name: 'a', csi: {} },
          { name: 'a', ephemeral: {} },
        ],
      },
    },
    [
      'spec.volumes[0].csi.driver: Required value',
      'spec.volumes[1].name: Duplicate value: "a"',
      'spec.volumes[1].ephemeral.volumeClaimTemplate: Required value',
    ],
  ],
  [
    'a mount of a volume that is not there',
    'Pod',
    { spec: { containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/v' }] }] } },
    ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    'a toleration of everything that names a value',
    'Pod',
    { spec: { ...podSpec, tolerations: [{ key: 'a', operator: 'Exists', value: 'x' }] } },
    [
      'spec.tolerations[0].operator: Invalid value: {"key":"a","operator":"Exists","value":"x"}: value must be empty when `operator` is \'Exists\'',
    ],
  ],
  [
    'a class without provisioner, with odd policies',
    'StorageClass',
    { reclaimPolicy: 'Burn', volumeBindingMode: 'Later' },
    [
      'provisioner: Required value',
      'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
      'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
  ],
  [
    'a driver with an unknown lifecycle',
    'CSIDriver',
    { spec: { volumeLifecycleModes: ['Eternal'] } },
    ['spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Ephemeral", "Persistent"'],
  ],
  [
    'a CSINode with a driver twice',
    'CSINode',
    {
      spec: {
        drivers: [
          { name: 'd', nodeID: 'n' },
          { name: 'd', nodeID: '' },
        ],
      },
    },
    ['spec.drivers[1].nodeID: Required value', 'spec.drivers[1].name: Duplicate value: "d"'],
  ],
  [
    'an attachment with two sources [INL-4]',
    'VolumeAttachment',
    {
      spec: {
        attacher: 'd',
        nodeName: 'n',
        source: {
          persistentVolumeName: 'p',
          inlineVolumeSource: { namespace: 'd', volumeSource: { csi: { driver: 'd', volumeHandle: 'h' } } },
        },
      },
    },
    [
      'spec.source: Forbidden: must specify exactly one of inlineVolumeSource, inlineVolumeSpec and persistentVolumeName',
    ],
  ],
  [
    'an attachment of something that is not CSI [INL-4]',
    'VolumeAttachment',
    {
      spec: {
        attacher: 'd',
        nodeName: 'n',
        source: { inlineVolumeSource: { namespace: 'd', volumeSource: { nfs: { server: 's' } } } },
      },
    },
    [
      'spec.source.inlineVolumeSource.volumeSource.nfs: Forbidden: only csi may be specified',
      'spec.source.inlineVolumeSource.volumeSource.csi: Required value',
    ],
  ],
  [
    'an attachment of nothing',
    'VolumeAttachment',
    { spec: { attacher: 'd', nodeName: 'n', source: {} } },
    [
      'spec.source: Required value: must specify exactly one of inlineVolumeSource, inlineVolumeSpec and persistentVolumeName',
    ],
  ],
  [
    'a TLS secret without its keys',
    'Secret',
    { type: 'kubernetes.io/tls' },
    ['data[tls.crt]: Required value', 'data[tls.key]: Required value'],
  ],
  [
    'a key in both maps',
    'ConfigMap',
    { data: { a: 'x' }, binaryData: { a: 'eA==' } },
    ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  ],
  [
    'a lease of no time',
    'Lease',
    { spec: { leaseDurationSeconds: 0 } },
    ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  ],
  [
    'a role without verbs',
    'Role',
    { rules: [{ apiGroups: [''], resources: ['pods'] }] },
    ['rules[0].verbs: Required value: verbs must contain at least one value'],
  ],
  [
    'a deployment whose selector misses',
    'Deployment',
    {
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'c' } }, spec: podSpec },
      },
    },
    ['spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`'],
  ],
  [
    'a policy without rules',
    'PodSecurityPolicy',
    {
      spec: {
        runAsUser: { rule: 'RunAsAny' },
        seLinux: { rule: 'RunAsAny' },
        supplementalGroups: { rule: 'RunAsAny' },
      },
    },
    ['spec.fsGroup.rule: Unsupported value: "": supported values: "MayRunAs", "MustRunAs", "RunAsAny"'],
  ],
];
for (const [name, kind, body, expected] of refusals) {
  test(`validation of ${name}`, () => assert.deepEqual(created(kind, body).errors, expected));
}

const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
const larger = { ...claimSpec, resources: { requests: { storage: '2Gi' } } };
const changes: [string, string, Body, Body, string[]][] = [
  [
    'an unbound claim may be given its volume once',
    'PersistentVolumeClaim',
    { spec: claimSpec },
    { spec: { ...claimSpec, volumeName: 'v' } },
    [],
  ],
  [
    'the volume of a claim is final',
    'PersistentVolumeClaim',
    { spec: { ...claimSpec, volumeName: 'v' } },
    { spec: { ...claimSpec, volumeName: 'w' } },
    ['spec: Forbidden: spec is immutable'],
  ],
  ['a bound claim may grow', 'PersistentVolumeClaim', { spec: claimSpec, ...bound }, { spec: larger }, []],
  [
    'an unbound claim may not',
    'PersistentVolumeClaim',
    { spec: claimSpec },
    { spec: larger },
    ['spec: Forbidden: spec is immutable'],
  ],
  [
    'a claim may shrink to what failed, not below what is there',
    'PersistentVolumeClaim',
    { spec: { ...larger }, ...bound },
    { spec: claimSpec },
    ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'],
  ],
  [
    'access modes are final',
    'PersistentVolumeClaim',
    { spec: claimSpec, ...bound },
    { spec: { ...claimSpec, accessModes: ['ReadWriteMany'] } },
    ['spec: Forbidden: spec is immutable'],
  ],
  [
    'a volume may be claimed and grow',
    'PersistentVolume',
    { spec: volumeSpec },
    { spec: { ...volumeSpec, capacity: { storage: '2Gi' }, claimRef: { name: 'c', namespace: 'd' } } },
    [],
  ],
  [
    'the source of a volume is final',
    'PersistentVolume',
    { spec: volumeSpec },
    { spec: { ...volumeSpec, csi: { driver: 'd.io', volumeHandle: 'other' } } },
    ['spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation'],
  ],
  [
    'a pod may change its image only',
    'Pod',
    { spec: podSpec },
    { spec: { ...podSpec, hostname: 'h' } },
    ['spec: Forbidden: pod updates may not change fields other than'],
  ],
  [
    'a class is final',
    'StorageClass',
    { provisioner: 'a.b' },
    { provisioner: 'c.d', parameters: { x: 'y' } },
    [
      'parameters: Invalid value: {"x":"y"}: field is immutable',
      'provisioner: Invalid value: "c.d": field is immutable',
    ],
  ],
  [
    'an attachment is final',
    'VolumeAttachment',
    { spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'p' } } },
    { spec: { attacher: 'd', nodeName: 'm', source: { persistentVolumeName: 'p' } } },
    ['spec: Invalid value:'],
  ],
  [
    'a CSINode entry keeps its node ID',
    'CSINode',
    { spec: { drivers: [{ name: 'd', nodeID: 'n' }] } },
    { spec: { drivers: [{ name: 'd', nodeID: 'm' }] } },
    ['spec.drivers: Invalid value: {"name":"d","nodeID":"m"}: field is immutable'],
  ],
  [
    'a CSINode entry may change its count',
    'CSINode',
    { spec: { drivers: [{ name: 'd', nodeID: 'n' }] } },
    { spec: { drivers: [{ name: 'd', nodeID: 'n', allocatable: { count: 3 } }] } },
    [],
  ],
  [
    'an immutable secret',
    'Secret',
    { data: { a: 'eA==' }, immutable: true },
    { data: { a: 'eQ==' }, immutable: true },
    ['data: Forbidden: field is immutable when `immutable` is set'],
  ],
  [
    'the type of a secret',
    'Secret',
    { type: 'a' },
    { type: 'b' },
    ['type: Invalid value: "b": field is immutable'],
  ],
  [
    'the role of a binding',
    'ClusterRoleBinding',
    { roleRef: { kind: 'ClusterRole', name: 'a' } },
    { roleRef: { kind: 'ClusterRole', name: 'b' } },
    ['roleRef: Invalid value:'],
  ],
];
for (const [name, kind, before, after, expected] of changes) {
  test(`update: ${name}`, () => {
    const found = updated(kind, before, after);
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const [index, text] of expected.entries()) assert.ok(found[index]?.startsWith(text), found[index]);
  });
}

test('pods are defaulted as Kubernetes does it', () => {
  const { object: pod } = created('Pod', {
    spec: {
      containers: [{ name: 'c', image: 'a.io:5000/i', resources: { limits: { cpu: '1', memory: '1Gi' } } }],
    },
  });
  assert.deepEqual(pod.spec, {
    containers: [
      {
        name: 'c',
        image: 'a.io:5000/i',
        imagePullPolicy: 'Always',
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  });
  assert.deepEqual(pod.status, { phase: 'Pending', qosClass: 'Guaranteed' });
});

test('a pod with scheduling gates is created with the condition PodScheduled=False, SchedulingGated', () => {
  const kind = kindNamed('Pod');
  const pod = object('Pod', { spec: { schedulingGates: [{ name: 'g' }] } }) as KubeObject & Body;
  kind.stampTimes?.(pod, undefined, '2026-01-01T00:00:00Z');
  const [condition] = (pod.status as { conditions: Body[] }).conditions;
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason],
    ['PodScheduled', 'False', 'SchedulingGated'],
  );
});

test("a change of a volume's phase sets lastPhaseTransitionTime, unless the writer sets it", () => {
  const kind = kindNamed('PersistentVolume');
  const at = (status?: Body) => object('PersistentVolume', status ? { status } : {}) as KubeObject & Body;
  const [earlier, now] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
  const stamped = (given: Body, current?: Body) => {
    const next = at(given);
    kind.stampTimes?.(next, current && at(current), now);
    return (next.status as Body).lastPhaseTransitionTime;
  };
  const old = { phase: 'Available', lastPhaseTransitionTime: earlier };
  assert.equal(stamped({ phase: 'Pending' }), now);
  assert.equal(stamped({ phase: 'Bound' }, old), now);
  assert.equal(stamped({ ...old, phase: 'Bound' }, old), now);
  assert.equal(
    stamped({ phase: 'Bound', lastPhaseTransitionTime: '2025-01-01T00:00:00Z' }, old),
    '2025-01-01T00:00:00Z',
  );
  assert.equal(stamped({ phase: 'Available', message: 'x' }, old), earlier);
});

test('a CSIDriver is defaulted; the old field lifecycle is mapped to volumeLifecycleModes', () => {
  const driver = (spec: Body) => created('CSIDriver', { spec }, { name: 'd.io' }).object.spec as Body;
  assert.deepEqual(driver({}), {
    attachRequired: true,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    podInfoOnMount: false,
    requiresRepublish: false,
    seLinuxMount: false,
    storageCapacity: false,
    volumeLifecycleModes: ['Persistent'],
  });
  assert.deepEqual(driver({ lifecycle: 'ephemeral' }).volumeLifecycleModes, ['Ephemeral']);
  assert.deepEqual(driver({ lifecycle: 'persistent' }).volumeLifecycleModes, ['Persistent']);
});

test('a secret keeps only encoded data, a claim names its data source twice', () => {
  assert.deepEqual(created('Secret', { stringData: { a: 'hé' } }).object.data, {
    a: Buffer.from('hé').toString('base64'),
  });
  const source = { kind: 'PersistentVolumeClaim', name: 'other' };
  const { object: claim } = created('PersistentVolumeClaim', { spec: { ...claimSpec, dataSource: source } });
  kindNamed('PersistentVolumeClaim').normalise?.(claim, undefined, '');
  assert.deepEqual((claim.spec as Body).dataSourceRef, source);
});

test('[POP-2] a data source in another namespace is kept, and is not the `dataSource`', () => {
  const dataSourceRef = { kind: 'PersistentVolumeClaim', name: 'other', namespace: 'there' };
  const { object: claim } = created('PersistentVolumeClaim', { spec: { ...claimSpec, dataSourceRef } });
  assert.deepEqual((claim.spec as Body).dataSourceRef, dataSourceRef);
  assert.equal((claim.spec as Body).dataSource, undefined);
});

test('status and spec are isolated from each other', () => {
  const kind = kindNamed('PersistentVolumeClaim');
  const current = object('PersistentVolumeClaim', {
    spec: claimSpec,
    status: { phase: 'Pending' },
  }) as KubeObject & Body;
  const next = () =>
    object(
      'PersistentVolumeClaim',
      { spec: larger, status: { phase: 'Bound' } },
      { labels: { a: 'b' } },
    ) as KubeObject & Body;
  const main = next();
  kind.prepareForUpdate(main, current, '');
  assert.deepEqual([main.spec, main.status], [larger, { phase: 'Pending' }]);
  const status = next();
  kind.prepareForUpdate(status, current, 'status');
  assert.deepEqual(
    [status.spec, status.status, status.metadata.labels],
    [claimSpec, { phase: 'Bound' }, { a: 'b' }],
  );
});

test('events are the same objects in the groups "" and events.k8s.io', () => {
  const view = kindNamed('Event', 'events.k8s.io').storedAs;
  assert.ok(view);
  const event = object('Event', {
    note: 'n',
    regarding: { name: 'p' },
    reportingController: 'c',
    reason: 'r',
  });
  event.apiVersion = 'events.k8s.io/v1';
  const stored = view.toStored(event) as KubeObject & Body;
  assert.deepEqual(
    [stored.apiVersion, stored.message, stored.involvedObject, stored.reportingComponent],
    ['v1', 'n', { name: 'p' }, 'c'],
  );
  assert.deepEqual(view.fromStored(stored), event);
});

test('metadata is validated for every kind', () => {
  const problems = (metadata: Body, kind = 'ConfigMap', current?: KubeObject) =>
    texts(validateMetadata(object(kind, {}, metadata), kindNamed(kind), current));
  assert.deepEqual(problems({ namespace: 'd' }), []);
  assert.deepEqual(problems({ namespace: 'd', name: 'system:x' }, 'Role'), []);
  assert.equal(problems({ namespace: 'd', labels: { 'a b': 'c d' } }).length, 2);
  assert.equal(problems({ namespace: 'd', finalizers: ['plain'] }).length, 1);
  assert.equal(problems({ namespace: 'd' }, 'Node').length, 1);
  const deleting = object('ConfigMap', {}, { namespace: 'd', deletionTimestamp: '2026-01-01T00:00:00Z' });
  const again = { namespace: 'd', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a.io/b'] };
  assert.match(problems(again, 'ConfigMap', deleting).join(), /no new finalizers can be added/);
});

test('a scale is read from an object and written back', () => {
  const kind = kindNamed('Deployment');
  const deployment = object('Deployment', {
    spec: { replicas: 2, selector: { matchLabels: { a: 'b' } } },
    status: { replicas: 1 },
  });
  const scale = scaleOf(deployment, kind) as KubeObject & Body;
  assert.deepEqual(
    [scale.kind, scale.spec, scale.status],
    ['Scale', { replicas: 2 }, { replicas: 1, selector: 'a=b' }],
  );
  const next = withScale(deployment, { spec: { replicas: 5 } }, kind) as KubeObject & { spec: Body };
  assert.equal(next.spec.replicas, 5);
  assert.throws(
    () => withScale(deployment, { spec: { replicas: -1 } }, kind),
    /must be greater than or equal to 0/,
  );
});

test('a scale has the fields that its kind names; those that are not there count as 0', () => {
  const scale = {
    specReplicas: '.spec.size.wanted',
    statusReplicas: '.status.n',
    labelSelector: '.status.sel',
  };
  const kind = { plural: 'clusters', scale } as Kind;
  const cluster = object('Cluster', { status: { n: 3, sel: 'a=b' } }, { resourceVersion: '7', uid: 'u' });
  assert.deepEqual(scaleOf(cluster, kind), {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name: 'x', uid: 'u', resourceVersion: '7', creationTimestamp: undefined },
    spec: { replicas: 0 },
    status: { replicas: 3, selector: 'a=b' },
  });
  const written = (given: unknown) => withScale(cluster, given, kind) as KubeObject & Body;
  assert.deepEqual(written({ spec: { replicas: 4 } }).spec, { size: { wanted: 4 } });
  assert.deepEqual(written({}).spec, { size: { wanted: 0 } });
  assert.deepEqual(
    [{ metadata: { resourceVersion: '5' } }, { metadata: { resourceVersion: '' } }, {}].map(
      (given) => written(given).metadata.resourceVersion,
    ),
    ['5', '7', '7'],
  );
  assert.equal('spec' in cluster, false);
  for (const replicas of [1.5, '2', -1]) {
    assert.throws(() => written({ spec: { replicas } }), /spec\.replicas: Invalid value/);
  }
  assert.throws(() => scaleOf(cluster, { plural: 'pods' } as Kind), /pods have no scale/);
  const unmoved = scaleOf(cluster, {
    ...kind,
    scale: { ...scale, labelSelector: undefined },
  } as unknown as Kind);
  assert.deepEqual((unmoved as KubeObject & Body).status, { replicas: 3 });
});

test('every built-in kind is read from protobuf, which Go clients send', () => {
  const unread = builtinKinds.filter(
    ({ group, version, kind }) => !messageNameFor(group === '' ? version : `${group}/${version}`, kind),
  );
  assert.deepEqual(
    unread.map(({ group, kind }) => `${group} ${kind}`),
    // No kind of Kubernetes any more.
    ['policy PodSecurityPolicy'],
  );
});

test('ControllerRevisions have data that never changes, and a revision', () => {
  const errors = (body: Body): string[] => created('ControllerRevision', body).errors;
  assert.deepEqual(errors({ data: { spec: {} }, revision: 1 }), []);
  assert.deepEqual(errors({ revision: 1 }), ['data: Required value: data is mandatory']);
  assert.deepEqual(errors({ data: 'x', revision: 1 }), [
    'data: Required value: data must be a valid JSON object',
  ]);
  assert.match(String(errors({ data: {}, revision: -1 })), /^revision: .*greater than or equal to 0/);
  assert.match(
    String(updated('ControllerRevision', { data: { a: 1 }, revision: 1 }, { data: { a: 2 }, revision: 2 })),
    /^data: .*immutable/,
  );
  assert.deepEqual(
    updated('ControllerRevision', { data: { a: 1 }, revision: 1 }, { data: { a: 1 }, revision: 2 }),
    [],
  );
});

test('a ReplicaSet wants a selector that matches its template', () => {
  const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  const { object: set, errors } = created('ReplicaSet', {
    spec: { selector: { matchLabels: { app: 'a' } }, template },
  });
  assert.deepEqual(errors, []);
  assert.equal((set.spec as Body).replicas, 1);
  assert.match(
    String(created('ReplicaSet', { spec: { selector: { matchLabels: { app: 'b' } }, template } }).errors),
    /`selector` does not match template `labels`/,
  );
});

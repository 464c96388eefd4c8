import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import type { CSIVolumeSource } from '../../api/kinds.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  csiDrivers,
  csiNodeInfos,
  csiNodes,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  roleBindings,
  roles,
  serviceAccounts,
  storageClasses,
  volumeAttributesClasses,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { ADMIN, nodeUser } from '../auth/users.ts';
import { createAuthorizer } from '../authorization/authorizer.ts';
import type { Kind, Subresource } from '../kind.ts';
import type { AdmissionPlugin, AdmissionRequest, User } from '../pipeline.ts';
import { createMemoryReader, type MemoryReader } from '../testing/memory-reader.ts';
import { admissionPlugins } from './admission-plugins.ts';
import { podSecurityPolicies } from './pod-security-policy.ts';

let reader: MemoryReader;
let plugins: AdmissionPlugin[];
let warnings: string[];

beforeEach(() => {
  reader = createMemoryReader();
  reader.put(namespaces, { metadata: { name: 'app' } });
  reader.put(serviceAccounts, { metadata: { name: 'default', namespace: 'app' } });
  plugins = admissionPlugins({ reader, authorizer: createAuthorizer({ reader }) });
  warnings = [];
});

interface Loose {
  metadata: { name: string; namespace?: string; [key: string]: unknown };
  [key: string]: unknown;
}
interface Write {
  operation?: 'create' | 'update' | 'delete';
  object?: Loose;
  old?: Loose;
  user?: User;
  subresource?: Subresource;
  name?: string;
}

/** Runs all plugins as a write would; returns the admitted object, or throws the rejection. */
function admit(resource: Resource, write: Write): Loose {
  const { operation = 'create', user = ADMIN, subresource = '' } = write;
  const object = structuredClone(write.object) as unknown as KubeObject | undefined;
  const oldObject = write.old as unknown as KubeObject | undefined;
  const { name, namespace } = (write.object ?? write.old)?.metadata ?? { name: '' };
  const request: AdmissionRequest = {
    user,
    operation,
    kind: resource as Kind,
    subresource,
    name: write.name ?? name,
    namespace,
    object,
    oldObject,
    dryRun: false,
    warn: (message) => warnings.push(message),
  };
  for (const plugin of plugins) plugin.mutate?.(request);
  for (const plugin of plugins) plugin.validate?.(request);
  return object as unknown as Loose;
}

function refuses(act: () => unknown, pattern: RegExp, code = 403): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof KubeError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, pattern);
    return true;
  });
}

const pod = (spec: object = {}, metadata: object = {}): Loose => ({
  metadata: { name: 'p', namespace: 'app', ...metadata },
  spec: { containers: [], ...spec },
});

suite('namespaces', () => {
  const inNamespace = (namespace: string) => ({ object: { metadata: { name: 'x', namespace } } });
  const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

  test('nothing is created in a namespace that does not exist or is terminating', () => {
    refuses(() => admit(configMaps, inNamespace('nowhere')), /namespaces "nowhere" not found/, 404);
    reader.put(namespaces, { metadata: { name: 'old' }, status: { phase: 'Terminating' } });
    refuses(() => admit(configMaps, inNamespace('old')), /because it is being terminated/);
    admit(configMaps, inNamespace('app'));
  });

  test('a namespace that is being deleted is terminating, whatever its phase', () => {
    const metadata = { name: 'old', deletionTimestamp: '2026-01-01T00:00:00Z' };
    reader.put(namespaces, { metadata, status: { phase: 'Active' } });
    refuses(() => admit(configMaps, inNamespace('old')), /because it is being terminated/);
    // A subresource of an object adds no content, but its namespace has to exist.
    admit(configMaps, { ...inNamespace('old'), subresource: 'status' });
    refuses(() => admit(configMaps, { ...inNamespace('nowhere'), subresource: 'status' }), /not found/, 404);
  });

  test('objects without a namespace, and namespaces, need none', () => {
    admit(nodes, { object: { metadata: { name: 'n' } } });
    admit(namespaces, { object: { metadata: { name: 'new' } } });
    const object = { metadata: { name: 'default' } };
    admit(namespaces, { operation: 'update', object, old: object });
    admit(configMaps, { operation: 'delete', old: { metadata: { name: 'default', namespace: 'app' } } });
  });

  test('existing objects can still be updated and deleted', () => {
    reader.put(namespaces, { metadata: { name: 'old' }, status: { phase: 'Terminating' } });
    const object = { metadata: { name: 'x', namespace: 'old' } };
    admit(configMaps, { operation: 'update', object, old: object });
    admit(configMaps, { operation: 'delete', old: object });
  });

  test('the default namespaces cannot be deleted', () => {
    for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
      refuses(
        () => admit(namespaces, { operation: 'delete', old: { metadata: { name } } }),
        /may not be deleted/,
      );
    }
    admit(namespaces, { operation: 'delete', old: { metadata: { name: 'app' } } });
  });
});

suite('claims and volumes', () => {
  const claim = (spec: object = {}, more: object = {}): Loose => ({
    metadata: { name: 'c', namespace: 'app' },
    spec: { resources: { requests: { storage: '1Gi' } }, ...spec },
    ...more,
  });
  const storageClass = (name: string, isDefault: boolean, more: object = {}) =>
    reader.put(storageClasses, {
      provisioner: 'd',
      metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': String(isDefault) } },
      ...more,
    });

  test('have their protection finalizer from creation', () => {
    assert.deepEqual(admit(persistentVolumeClaims, { object: claim() }).metadata.finalizers, [
      'kubernetes.io/pvc-protection',
    ]);
    const volume = { metadata: { name: 'v', finalizers: ['mine'] }, spec: {} };
    assert.deepEqual(admit(persistentVolumes, { object: volume }).metadata.finalizers, [
      'mine',
      'kubernetes.io/pv-protection',
    ]);
    const attributes = { metadata: { name: 'gold' }, driverName: 'd' };
    assert.deepEqual(admit(volumeAttributesClasses, { object: attributes }).metadata.finalizers, [
      'kubernetes.io/vac-protection',
    ]);
  });

  test('a claim without a class gets the newest default, one with a class keeps it', () => {
    const classOf = (spec: object) =>
      (admit(persistentVolumeClaims, { object: claim(spec) }).spec as { storageClassName?: string })
        .storageClassName;
    assert.equal(classOf({}), undefined);
    storageClass('plain', false);
    storageClass('older', true);
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    reader.put(storageClasses, {
      provisioner: 'd',
      metadata: { name: 'newer', creationTimestamp: '2026-02-01T00:00:00Z', annotations },
    });
    assert.equal(classOf({}), 'newer');
    assert.equal(classOf({ storageClassName: 'plain' }), 'plain');
    assert.equal(classOf({ storageClassName: '' }), '');
  });

  test('only the creation of a claim chooses a class', () => {
    storageClass('standard', true);
    const classOf = (resource: Resource, write: Write) =>
      (admit(resource, write).spec as { storageClassName?: string }).storageClassName;
    const object = claim();
    assert.equal(classOf(persistentVolumeClaims, { object }), 'standard');
    assert.equal(classOf(persistentVolumeClaims, { operation: 'update', object, old: object }), undefined);
    assert.equal(classOf(persistentVolumeClaims, { object, subresource: 'status' }), undefined);
    assert.equal(classOf(persistentVolumes, { object: { metadata: { name: 'v' }, spec: {} } }), undefined);
    assert.equal(classOf(pods, { object: pod() }), undefined);
    const odd = { ...persistentVolumeClaims, group: 'other.io' };
    assert.equal(classOf(odd, { object }), undefined);
    const annotations = { 'volume.beta.kubernetes.io/storage-class': 'old' };
    const named = { ...object, metadata: { ...object.metadata, annotations } };
    assert.equal(classOf(persistentVolumeClaims, { object: named }), undefined);
    assert.equal('spec' in admit(persistentVolumeClaims, { object: { metadata: object.metadata } }), false);
  });

  const grown = { resources: { requests: { storage: '2Gi' } } };
  const sizes: [
    what: string,
    expansion: boolean,
    phase: string,
    spec: object,
    problem: RegExp | undefined,
  ][] = [
    ['where the class allows it', true, 'Bound', grown, undefined],
    ['where the class does not', false, 'Bound', grown, /must support resize/],
    ['before it is bound', true, 'Pending', grown, /Only bound/],
    [
      'to the same size in other words',
      false,
      'Bound',
      { resources: { requests: { storage: '1024Mi' } } },
      undefined,
    ],
  ];
  for (const [what, allowVolumeExpansion, phase, spec, problem] of sizes) {
    test(`a claim can be expanded ${what}: ${problem ? 'no' : 'yes'}`, () => {
      storageClass('fast', false, { allowVolumeExpansion });
      const old = claim({ storageClassName: 'fast' }, { status: { phase } });
      const object = claim({ storageClassName: 'fast', ...spec }, { status: { phase } });
      const act = () => admit(persistentVolumeClaims, { operation: 'update', object, old });
      if (problem) refuses(act, problem);
      else act();
    });
  }
});

suite('service accounts', () => {
  test('a pod gets the default service account, or needs the one that it names', () => {
    assert.equal(
      (admit(pods, { object: pod() }).spec as { serviceAccountName: string }).serviceAccountName,
      'default',
    );
    refuses(() => admit(pods, { object: pod({ serviceAccountName: 'ghost' }) }), /app\/ghost.*not found/);
    reader.put(serviceAccounts, {
      metadata: { name: 'own', namespace: 'app' },
      imagePullSecrets: [{ name: 's' }],
    });
    const { imagePullSecrets } = admit(pods, { object: pod({ serviceAccountName: 'own' }) }).spec as {
      imagePullSecrets: unknown;
    };
    assert.deepEqual(imagePullSecrets, [{ name: 's' }]);
  });

  test('a mirror pod has no service account, secrets or tokens', () => {
    const mirror = (spec: object) => ({
      object: pod(spec, { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
    });
    const { spec } = admit(pods, mirror({}));
    assert.equal('serviceAccountName' in (spec as object), false);
    refuses(
      () => admit(pods, mirror({ serviceAccountName: 'default' })),
      /may not reference service accounts/,
    );
    const secret = { name: 's', secret: { secretName: 's' } };
    refuses(() => admit(pods, mirror({ volumes: [secret] })), /may not reference/);
    const token = { name: 't', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } };
    refuses(() => admit(pods, mirror({ volumes: [token] })), /ServiceAccountToken/);
  });
});

suite('inline volumes', () => {
  const inline = (source: Partial<CSIVolumeSource> = {}) =>
    pod({ volumes: [{ name: 'v', csi: { driver: 'd', ...source } }] });
  const handle = { volumeHandle: 'h' };
  const table: [declared: object | undefined, source: object, expected: 'yes' | 'no' | 'warns'][] = [
    [undefined, {}, 'yes'],
    [{}, {}, 'no'],
    [{}, handle, 'yes'],
    [{ volumeLifecycleModes: ['Persistent'] }, {}, 'no'],
    [{ volumeLifecycleModes: ['Persistent'] }, handle, 'yes'],
    [{ volumeLifecycleModes: ['Ephemeral'] }, {}, 'yes'],
    [{ volumeLifecycleModes: ['Ephemeral'] }, handle, 'warns'],
    [{ volumeLifecycleModes: ['Persistent', 'Ephemeral'] }, {}, 'yes'],
    [{ volumeLifecycleModes: ['Persistent', 'Ephemeral'] }, handle, 'yes'],
    [{ lifecycle: 'ephemeral' }, {}, 'yes'],
    [{ lifecycle: 'persistent' }, {}, 'no'],
  ];
  for (const [declared, source, expected] of table) {
    test(`driver ${declared ? JSON.stringify(declared) : 'unknown'}, pod ${JSON.stringify(source)}: ${expected}`, () => {
      const metadata = { name: 'd', annotations: { [ANN_INLINE_HANDLES]: 'allowed' } };
      if (declared) reader.put(csiDrivers, { metadata, spec: declared });
      const act = () => admit(pods, { object: inline(source) });
      if (expected === 'no') refuses(act, /spec\.volumes\[0\]\.csi: .*driver d.*Persistent/);
      else act();
      assert.equal(warnings.length, expected === 'warns' ? 1 : 0);
    });
  }

  for (const declared of [undefined, {}, { volumeLifecycleModes: ['Persistent', 'Ephemeral'] }]) {
    test(`a handle without permission, driver ${declared ? JSON.stringify(declared) : 'unknown'}: no`, () => {
      if (declared) reader.put(csiDrivers, { metadata: { name: 'd' }, spec: declared });
      const wanted = /spec\.volumes\[0\]\.csi\.volumeHandle: driver d .*csi\.berth\/inline-handles=allowed/;
      refuses(() => admit(pods, { object: inline(handle) }), wanted);
    });
  }
});

suite('pod security policies', () => {
  const policy = (name: string, spec: object) =>
    reader.put(podSecurityPolicies, { metadata: { name }, spec });
  const withVolumes = (...volumes: object[]) =>
    pod({ volumes: volumes.map((volume, index) => ({ name: `v${index}`, ...volume })) });
  const csi = (driver: string) => ({ csi: { driver } });
  const jane: User = { name: 'jane', groups: ['system:authenticated'] };
  const mayUse = (subject: { kind: string; name: string; namespace?: string }, policyName: string) => {
    const role = `use-${policyName}`;
    reader.put(clusterRoles, {
      metadata: { name: role },
      rules: [
        {
          apiGroups: ['policy'],
          resources: ['podsecuritypolicies'],
          verbs: ['use'],
          resourceNames: [policyName],
        },
      ],
    });
    reader.put(clusterRoleBindings, {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [subject],
    });
  };

  test('without policies every pod is allowed', () => {
    admit(pods, { object: withVolumes(csi('a')), user: jane });
  });

  const table: [what: string, spec: object, volumes: object[], problem?: RegExp][] = [
    ['list absent, csi let in', { volumes: ['csi'] }, [csi('a'), csi('b')]],
    ['list absent, everything let in', { volumes: ['*'] }, [csi('a')]],
    [
      'list absent, csi not let in',
      { volumes: ['secret'] },
      [csi('a')],
      /volumes\[0\].*csi volumes are not allowed/,
    ],
    ['list names it', { volumes: ['csi'], allowedCSIDrivers: [{ name: 'a' }] }, [csi('a')]],
    [
      'list does not name it',
      { volumes: ['csi'], allowedCSIDrivers: [{ name: 'a' }] },
      [csi('a'), csi('b')],
      /volumes\[1\]\.csi\.driver.*"b".*not allowed/,
    ],
    ['list empty', { volumes: ['*'], allowedCSIDrivers: [] }, [csi('a')], /"a".*not allowed/],
    [
      'list empty, no csi in the pod',
      { volumes: ['*'], allowedCSIDrivers: [] },
      [{ secret: { secretName: 's' } }],
    ],
    [
      'list names it, csi not let in',
      { volumes: ['secret'], allowedCSIDrivers: [{ name: 'a' }] },
      [csi('a')],
      /csi volumes/,
    ],
    [
      'claims are not inline',
      { volumes: ['*'], allowedCSIDrivers: [] },
      [{ persistentVolumeClaim: { claimName: 'c' } }],
    ],
    [
      'a host path below an allowed one',
      { volumes: ['*'], allowedHostPaths: [{ pathPrefix: '/srv' }] },
      [{ hostPath: { path: '/srv/x' } }],
    ],
    [
      'a host path beside it',
      { volumes: ['*'], allowedHostPaths: [{ pathPrefix: '/srv' }] },
      [{ hostPath: { path: '/srvx' } }],
      /not allowed/,
    ],
    [
      'a host path out of it',
      { volumes: ['*'], allowedHostPaths: [{ pathPrefix: '/srv' }] },
      [{ hostPath: { path: '/srv/../etc' } }],
      /not allowed/,
    ],
  ];
  for (const [what, spec, volumes, problem] of table) {
    test(`${what}: ${problem ? 'no' : 'yes'}`, () => {
      policy('only', spec);
      mayUse({ kind: 'User', name: 'jane' }, 'only');
      const act = () => admit(pods, { object: withVolumes(...volumes), user: jane });
      if (problem) refuses(act, problem);
      else assert.deepEqual(act().metadata.annotations, { 'kubernetes.io/psp': 'only' });
    });
  }

  test('a policy applies if the creator or the service account may use it; the first by name that admits the pod is chosen', () => {
    policy('a-strict', { volumes: [] });
    policy('b-loose', { volumes: ['*'] });
    const object = withVolumes(csi('a'));
    refuses(() => admit(pods, { object, user: jane }), /may use any of the policies/);
    mayUse({ kind: 'Group', name: 'system:authenticated' }, 'a-strict');
    refuses(() => admit(pods, { object, user: jane }), /csi volumes are not allowed/);
    mayUse({ kind: 'ServiceAccount', name: 'default', namespace: 'app' }, 'b-loose');
    assert.deepEqual(admit(pods, { object, user: jane }).metadata.annotations, {
      'kubernetes.io/psp': 'b-loose',
    });
    assert.deepEqual(admit(pods, { object }).metadata.annotations, { 'kubernetes.io/psp': 'b-loose' });
  });

  test('the mirror pod annotation does not bypass policies, except for nodes', () => {
    policy('only', { volumes: [] });
    mayUse({ kind: 'User', name: 'jane' }, 'only');
    const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    const mirror = pod({ nodeName: 'n1', volumes: [{ name: 'v', csi: { driver: 'a' } }] }, metadata);
    refuses(() => admit(pods, { object: mirror, user: jane }), /csi volumes are not allowed/);
    const { uid } = reader.put(nodes, { metadata: { name: 'n1' } }).metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid, controller: true }];
    admit(pods, {
      object: { ...mirror, metadata: { ...mirror.metadata, ownerReferences } },
      user: nodeUser('n1'),
    });
  });

  test('unenforced fields of a policy cause a warning', () => {
    admit(podSecurityPolicies, {
      object: {
        metadata: { name: 'x' },
        spec: { privileged: false, volumes: ['*'], fsGroup: { rule: 'RunAsAny' } },
      },
    });
    assert.match(warnings.join(), /spec\.privileged/);
    assert.doesNotMatch(warnings.join(), /fsGroup|volumes/);
  });
});

suite('nodes', () => {
  const user = nodeUser('n1');
  const node = (labels: object = {}, more: object = {}): Loose => ({
    metadata: { name: 'n1', labels, ...more },
    spec: {},
  });
  const relabel = (labels: object, before: object = {}) =>
    admit(nodes, { operation: 'update', user, object: node(labels), old: node(before) });

  for (const label of [
    'topology.hostpath.csi.berth/node',
    'kubernetes.io/hostname',
    'topology.kubernetes.io/zone',
    'x.node.kubernetes.io/y',
  ]) {
    test(`may set ${label}`, () => {
      relabel({ [label]: 'a' });
      admit(nodes, { user, object: node({ [label]: 'a' }) });
    });
  }
  for (const label of [
    'topology.evil.example/zone',
    'role',
    'node-restriction.kubernetes.io/x',
    'kubernetes.io/other',
  ]) {
    test(`may not set, change or remove ${label}; the error names the setting`, () => {
      const pattern = new RegExp(`${label}.*--node-label-prefixes.*topology\\.hostpath\\.csi\\.berth/`);
      refuses(() => admit(nodes, { user, object: node({ [label]: 'a' }) }), pattern);
      refuses(() => relabel({ [label]: 'a' }), pattern);
      refuses(() => relabel({ [label]: 'b' }, { [label]: 'a' }), pattern);
      refuses(() => relabel({}, { [label]: 'a' }), pattern);
      relabel({ [label]: 'a' }, { [label]: 'a' });
      admit(nodes, { operation: 'update', object: node({ [label]: 'a' }), old: node() });
    });
  }

  test('the admin chooses the prefixes', () => {
    const options = { nodeLabelPrefixes: ['topology.mine/'] };
    plugins = admissionPlugins({ reader, authorizer: createAuthorizer({ reader }), options });
    relabel({ 'topology.mine/rack': 'r1' });
    refuses(() => relabel({ 'topology.hostpath.csi.berth/node': 'a' }), /topology\.mine\//);
  });

  test('may write their own Node only, without its taints', () => {
    refuses(
      () => admit(nodes, { user, object: { metadata: { name: 'n2' } } }),
      /not allowed to modify node "n2"/,
    );
    const tainted = { ...node(), spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } };
    refuses(() => admit(nodes, { operation: 'update', user, object: node(), old: tainted }), /taints/);
  });

  for (const [resource, what] of [
    [csiNodes, 'CSINode'],
    [csiNodeInfos, 'CSINodeInfo'],
  ] as const) {
    test(`may write the ${what} with their name, owned by their Node`, () => {
      const own = (name: string, owner: string) => ({
        user,
        object: {
          metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: owner, uid: 'u' }] },
        },
      });
      admit(resource, own('n1', 'n1'));
      refuses(() => admit(resource, own('n2', 'n2')), /same name as the requesting node/);
      refuses(() => admit(resource, own('n1', 'n2')), /its own Node the owner/);
    });
  }

  test('may write their own lease in kube-node-lease', () => {
    reader.put(namespaces, { metadata: { name: 'kube-node-lease' } });
    const lease = (name: string, namespace: string) => ({ user, object: { metadata: { name, namespace } } });
    admit(leases, lease('n1', 'kube-node-lease'));
    refuses(() => admit(leases, lease('n2', 'kube-node-lease')), /same name/);
    refuses(() => admit(leases, lease('n1', 'app')), /kube-node-lease/);
  });

  test('may write the status of their own pods, and nothing else of them', () => {
    const on = (nodeName: string, metadata: object = {}) => pod({ nodeName }, metadata);
    const status = { operation: 'update', subresource: 'status', user } as const;
    admit(pods, { ...status, object: on('n1'), old: on('n1') });
    refuses(() => admit(pods, { ...status, object: on('n2'), old: on('n2') }), /set to itself/);
    refuses(
      () => admit(pods, { ...status, object: on('n1', { labels: { a: 'b' } }), old: on('n1') }),
      /labels/,
    );
    admit(pods, { operation: 'delete', user, old: on('n1') });
    refuses(() => admit(pods, { operation: 'delete', user, old: on('n2') }), /delete pods/);
    refuses(() => admit(pods, { operation: 'update', user, object: on('n1'), old: on('n1') }), /mirror/);
  });

  test('may create mirror pods on themselves without references', () => {
    const { uid } = reader.put(nodes, { metadata: { name: 'n1' } }).metadata;
    const mirror = (spec: object = {}, owner: object = {}) =>
      pod(
        { nodeName: 'n1', ...spec },
        {
          annotations: { 'kubernetes.io/config.mirror': 'x' },
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid, controller: true, ...owner }],
        },
      );
    admit(pods, { user, object: mirror() });
    refuses(() => admit(pods, { user, object: pod({ nodeName: 'n1' }) }), /config\.mirror/);
    refuses(() => admit(pods, { user, object: mirror({ nodeName: 'n2' }) }), /set to itself/);
    refuses(() => admit(pods, { user, object: mirror({}, { uid: 'other' }) }), /owner reference/);
    refuses(
      () => admit(pods, { user, object: mirror({ volumes: [{ name: 's', secret: { secretName: 's' } }] }) }),
      /other (API )?objects/,
    );
  });

  test('may write the expansion status of a claim, and nothing else', () => {
    const claim = (status: object, metadata: object = {}): Loose => ({
      metadata: { name: 'c', namespace: 'app', ...metadata },
      spec: {},
      status: { phase: 'Bound', ...status },
    });
    const write = (object: Loose) =>
      admit(persistentVolumeClaims, {
        operation: 'update',
        subresource: 'status',
        user,
        object,
        old: claim({}),
      });
    write(claim({ capacity: { storage: '2Gi' }, conditions: [], allocatedResources: { storage: '2Gi' } }));
    refuses(() => write(claim({ phase: 'Lost' })), /other than status\.capacity/);
    refuses(() => write(claim({}, { labels: { a: 'b' } })), /other than status\.capacity/);
    refuses(() => write(claim({}, { finalizers: [] })), /other than status\.capacity/);
  });

  test('may request tokens bound to their own pods only', () => {
    const mine = reader.put(pods, {
      metadata: { name: 'mine', namespace: 'app' },
      spec: { containers: [], nodeName: 'n1' },
    });
    const other = reader.put(pods, {
      metadata: { name: 'other', namespace: 'app' },
      spec: { containers: [], nodeName: 'n2' },
    });
    const ask = (boundObjectRef?: object) =>
      admit(serviceAccounts, {
        user,
        subresource: 'token',
        object: { metadata: { name: 'default', namespace: 'app' }, spec: { boundObjectRef } },
      });
    ask({ kind: 'Pod', name: 'mine', uid: mine.metadata.uid });
    refuses(() => ask(), /not bound to a pod/);
    refuses(() => ask({ kind: 'Pod', name: 'mine' }), /without a uid/);
    refuses(() => ask({ kind: 'Pod', name: 'mine', uid: 'other' }), /gone/);
    refuses(() => ask({ kind: 'Pod', name: 'other', uid: other.metadata.uid }), /different node/);
    refuses(() => ask({ kind: 'Secret', name: 's', uid: 'u' }), /not bound to a pod/);
  });
});

suite('nobody grants what they do not have', () => {
  const ann: User = { name: 'ann', groups: [] };
  const role = (verbs: string[]) => ({
    metadata: { name: 'r', namespace: 'app' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs }],
  });
  const binding = (name: string): Loose => ({
    metadata: { name: 'b', namespace: 'app' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', name: 'bob' }],
  });
  beforeEach(() => {
    reader.put(clusterRoles, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    });
    reader.put(clusterRoles, {
      metadata: { name: 'all' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    });
    reader.put(roleBindings, {
      metadata: { name: 'ann', namespace: 'app' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
      subjects: [{ kind: 'User', name: 'ann' }],
    });
  });

  test('in roles', () => {
    admit(roles, { user: ann, object: role(['get']) });
    refuses(
      () => admit(roles, { user: ann, object: role(['get', 'delete']) }),
      /not currently held:\n.*"delete"/,
    );
    admit(roles, { user: ann, operation: 'update', object: role(['delete']), old: role(['delete']) });
    admit(roles, { object: role(['delete']) });
  });

  test('in bindings, unless they may bind the role', () => {
    admit(roleBindings, { user: ann, object: binding('reader') });
    refuses(() => admit(roleBindings, { user: ann, object: binding('all') }), /not currently held/);
    reader.put(roles, {
      metadata: { name: 'binder', namespace: 'app' },
      rules: [
        {
          apiGroups: ['rbac.authorization.k8s.io'],
          resources: ['clusterroles'],
          verbs: ['bind'],
          resourceNames: ['all'],
        },
      ],
    });
    reader.put(roleBindings, {
      metadata: { name: 'binder', namespace: 'app' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'binder' },
      subjects: [{ kind: 'User', name: 'ann' }],
    });
    admit(roleBindings, { user: ann, object: binding('all') });
  });
});

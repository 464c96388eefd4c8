import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ClusterRole } from '../../api/kinds.ts';
import { clusterRoleBindings, clusterRoles, namespaces, serviceAccounts } from '../../api/kinds.ts';
import type { Draft, KubeObject } from '../../api/object.ts';
import { publishedRbac } from '../../manifests/published-rbac.ts';
import { ADMIN, ANONYMOUS, authenticated, serviceAccountUser } from '../auth/users.ts';
import { createAuthorizer } from '../authorization/authorizer.ts';
import type { Attributes, User } from '../pipeline.ts';
import { createMemoryReader, type MemoryReader } from '../testing/memory-reader.ts';
import { bootstrapObjects, bootstrapSteps } from './bootstrap-objects.ts';

function store(reader: MemoryReader, wanted?: Draft<KubeObject>[]): number {
  const steps = bootstrapSteps(reader, wanted);
  for (const { resource, object } of steps) reader.put(resource, object as KubeObject);
  return steps.length;
}

const viewOf = (reader: MemoryReader): ClusterRole => {
  const role = reader.get(clusterRoles, { name: 'system:aggregate-to-view' });
  assert.ok(role);
  return role;
};

suite('bootstrap', () => {
  test('creates everything once, and nothing the second time', () => {
    const reader = createMemoryReader();
    assert.equal(store(reader), bootstrapObjects().length);
    assert.equal(store(reader), 0);
  });

  test('restores missing objects and rules, keeps added rules, and skips roles with autoupdate=false', () => {
    const reader = createMemoryReader();
    store(reader);
    const { rules = [], ...view } = viewOf(reader);
    const extra = { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] };
    reader.put(clusterRoles, { ...view, rules: [extra] });
    reader.put(namespaces, { metadata: { name: 'app' } });
    reader.remove(clusterRoleBindings, { name: 'system:discovery' });
    const edit = reader.get(clusterRoles, { name: 'system:aggregate-to-edit' });
    assert.ok(edit);
    const mine = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    reader.put(clusterRoles, { ...edit, metadata: { ...edit.metadata, annotations: mine }, rules: [] });

    assert.equal(store(reader), 3);
    assert.equal(store(reader), 0);
    assert.ok(viewOf(reader).rules?.includes(extra));
    assert.ok((viewOf(reader).rules?.length ?? 0) > rules.length);
    assert.ok(reader.get(clusterRoleBindings, { name: 'system:discovery' }));
    assert.ok(reader.get(serviceAccounts, { namespace: 'app', name: 'default' }));
    assert.deepEqual(reader.get(clusterRoles, { name: 'system:aggregate-to-edit' })?.rules, []);
  });

  test('adds what a binding or role lacks, and nothing that differs in no way', () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' };
    const subject = (name: string, namespace?: string, kind = 'ServiceAccount') => ({
      kind,
      name,
      ...(namespace && { namespace }),
    });
    const wanted = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'b', labels: { l: 'new' }, annotations: { ...annotations, a: 'new' } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
      subjects: [subject('one', 'ns')],
    };
    const stored = (change: { labels?: object; annotations?: object; subjects?: object[] }) => {
      const { labels = { l: 'own' }, annotations: more = { a: 'own' }, subjects = wanted.subjects } = change;
      const reader = createMemoryReader();
      const metadata = { name: 'b', labels, annotations: { ...annotations, ...more } };
      reader.put(clusterRoleBindings, { metadata, roleRef: wanted.roleRef, subjects } as never);
      const [step] = bootstrapSteps(reader, [wanted as never]);
      const object = step?.object as {
        metadata: { labels: object; annotations: object };
        subjects: object[];
      };
      return (
        step && { labels: object.metadata.labels, a: object.metadata.annotations, subjects: object.subjects }
      );
    };
    const own = { labels: { l: 'own' }, a: { ...annotations, a: 'own' }, subjects: wanted.subjects };
    assert.equal(stored({}), undefined);
    assert.deepEqual(stored({ labels: {} }), { ...own, labels: { l: 'new' } });
    assert.deepEqual(stored({ annotations: {} }), { ...own, a: { ...annotations, a: 'new' } });
    for (const other of [
      subject('two', 'ns'),
      subject('one', 'other'),
      subject('one', 'ns', 'User'),
      subject('one'),
    ])
      assert.deepEqual(stored({ subjects: [other] }), { ...own, subjects: [other, ...wanted.subjects] });
    assert.equal(stored({ annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'no' } }), undefined);
  });

  test('gives every namespace its default account, unless it is being deleted', () => {
    const reader = createMemoryReader();
    reader.put(namespaces, { metadata: { name: 'with' } });
    reader.put(serviceAccounts, { metadata: { name: 'default', namespace: 'with' } });
    reader.put(namespaces, { metadata: { name: 'without' } });
    reader.put(namespaces, { metadata: { name: 'going', deletionTimestamp: '2026-01-01T00:00:00Z' } });
    const made = bootstrapSteps(reader, []).map(
      ({ operation, object }) => `${operation} ${object.metadata.namespace}`,
    );
    assert.deepEqual(made, ['create without']);
  });

  test('aggregated roles are stored with their aggregated rules', () => {
    const reader = createMemoryReader();
    store(reader);
    const rules = reader.get(clusterRoles, { name: 'admin' })?.rules ?? [];
    assert.ok(rules.some(({ resources }) => resources?.includes('rolebindings')));
    assert.ok(rules.some(({ resources }) => resources?.includes('persistentvolumeclaims')));
  });
});

suite('who may do what from the start', async () => {
  const reader = createMemoryReader();
  store(reader);
  store(reader, await publishedRbac({ namespace: 'csi', secrets: { namespace: 'csi-creds' } }));
  for (const [name, role] of [
    ['ann', 'admin'],
    ['ed', 'edit'],
    ['vi', 'view'],
  ] as const) {
    reader.put(
      {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        plural: 'rolebindings',
        kind: 'RoleBinding',
        namespaced: true,
      },
      {
        metadata: { name, namespace: 'app' },
        roleRef: { kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', name }],
      } as unknown as KubeObject,
    );
  }
  const { authorize } = createAuthorizer({ reader });
  const person = (name: string) => authenticated({ name, groups: [] });
  const sidecar = (name: string) => serviceAccountUser('csi', name);
  const controller = (name: string) => serviceAccountUser('kube-system', name);
  const scheduler: User = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

  const core = (
    verb: string,
    plural: string,
    namespace?: string,
    name?: string,
  ): Omit<Attributes, 'user'> => ({
    verb,
    group: '',
    version: 'v1',
    plural,
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
  });
  const storage = (verb: string, plural: string) => ({ ...core(verb, plural), group: 'storage.k8s.io' });
  const path = (target: string) => ({ verb: 'get', path: target });
  const status = (attributes: Omit<Attributes, 'user'>) => ({ ...attributes, subresource: 'status' });

  const table: [who: User, what: Omit<Attributes, 'user'>, allowed: boolean][] = [
    [ADMIN, core('delete', 'persistentvolumes'), true],
    [ANONYMOUS, path('/healthz'), true],
    [ANONYMOUS, path('/version'), true],
    [ANONYMOUS, path('/api'), false],
    [ANONYMOUS, path('/metrics'), false],
    [ANONYMOUS, core('list', 'pods', 'app'), false],
    [person('new'), path('/apis/storage.k8s.io'), true],
    [person('new'), path('/openapi/v3'), true],
    [person('new'), { ...core('create', 'selfsubjectaccessreviews'), group: 'authorization.k8s.io' }, true],
    [person('new'), { ...core('create', 'subjectaccessreviews'), group: 'authorization.k8s.io' }, false],
    [person('new'), core('get', 'persistentvolumeclaims', 'app', 'x'), false],
    [person('vi'), core('list', 'persistentvolumeclaims', 'app'), true],
    [person('vi'), core('create', 'persistentvolumeclaims', 'app'), false],
    [person('vi'), core('get', 'secrets', 'app', 's'), false],
    [person('vi'), core('list', 'pods', 'other'), false],
    [person('ed'), core('create', 'persistentvolumeclaims', 'app'), true],
    [person('ed'), core('get', 'secrets', 'app', 's'), true],
    [person('ed'), core('create', 'persistentvolumes'), false],
    [person('ed'), { ...core('create', 'rolebindings', 'app'), group: 'rbac.authorization.k8s.io' }, false],
    [person('ann'), { ...core('create', 'rolebindings', 'app'), group: 'rbac.authorization.k8s.io' }, true],
    [
      person('ann'),
      { ...core('create', 'rolebindings', 'app'), group: 'rbac.authorization.k8s.io', verb: 'bind' },
      false,
    ],
    [scheduler, { ...core('create', 'pods', 'app', 'p'), subresource: 'binding' }, true],
    [scheduler, core('patch', 'persistentvolumeclaims', 'app', 'c'), true],
    [scheduler, core('get', 'secrets', 'app', 's'), false],
    [controller('attachdetach-controller'), storage('create', 'volumeattachments'), true],
    [controller('attachdetach-controller'), core('get', 'secrets', 'app', 's'), false],
    [
      controller('persistent-volume-binder'),
      status(core('patch', 'persistentvolumeclaims', 'app', 'c')),
      true,
    ],
    [controller('persistent-volume-binder'), storage('create', 'volumeattachments'), false],
    [controller('pvc-protection-controller'), core('delete', 'persistentvolumeclaims', 'app', 'c'), false],
    [controller('nobody'), core('list', 'pods'), false],
    [sidecar('csi-provisioner'), core('create', 'persistentvolumes'), true],
    [sidecar('csi-provisioner'), core('patch', 'persistentvolumeclaims', 'app', 'c'), true],
    [sidecar('csi-provisioner'), { ...core('list', 'csinodeinfos'), group: 'csi.storage.k8s.io' }, true],
    [sidecar('csi-provisioner'), storage('patch', 'volumeattachments'), false],
    [sidecar('csi-provisioner'), core('get', 'secrets', 'csi-creds', 's'), true],
    [sidecar('csi-provisioner'), core('list', 'secrets', 'csi-creds'), false],
    [sidecar('csi-provisioner'), core('get', 'secrets', 'app', 's'), false],
    [sidecar('csi-provisioner'), core('list', 'pods', 'app'), false],
    [sidecar('csi-attacher'), status(storage('patch', 'volumeattachments')), true],
    [sidecar('csi-attacher'), storage('create', 'volumeattachments'), false],
    [sidecar('csi-attacher'), core('delete', 'persistentvolumes'), false],
    [sidecar('csi-resizer'), status(core('patch', 'persistentvolumeclaims', 'app', 'c')), true],
    [sidecar('csi-resizer'), core('create', 'persistentvolumes'), false],
    [
      sidecar('csi-snapshotter'),
      { ...status(core('patch', 'volumesnapshotcontents')), group: 'snapshot.storage.k8s.io' },
      true,
    ],
    [sidecar('csi-snapshotter'), core('list', 'persistentvolumes'), false],
    [sidecar('csi-cluster-driver-registrar'), storage('create', 'csidrivers'), true],
    [sidecar('csi-cluster-driver-registrar'), core('list', 'pods'), false],
    [
      sidecar('csi-attacher'),
      { ...core('update', 'leases', 'csi', 'l'), group: 'coordination.k8s.io' },
      true,
    ],
    [
      sidecar('csi-attacher'),
      { ...core('update', 'leases', 'kube-system', 'l'), group: 'coordination.k8s.io' },
      false,
    ],
    [serviceAccountUser('kube-system', 'csi-provisioner'), core('create', 'persistentvolumes'), false],
    [{ name: 'berth:dashboard', groups: [] }, core('list', 'persistentvolumes'), true],
    [{ name: 'berth:dashboard', groups: [] }, core('get', 'secrets', 'app', 's'), false],
  ];
  for (const [who, what, allowed] of table) {
    const { verb, plural, subresource, namespace, path: target } = what;
    const shown =
      target ?? `${plural}${subresource ? `/${subresource}` : ''}${namespace ? ` in ${namespace}` : ''}`;
    test(`${who.name} ${verb} ${shown}: ${allowed ? 'yes' : 'no'}`, () => {
      assert.equal(authorize({ user: who, ...what }).decision, allowed ? 'allow' : 'no-opinion');
    });
  }
});

test('published roles: one account for all sidecars, no access to secrets, distinct names', async () => {
  const objects = await publishedRbac({
    components: ['provisioner', 'attacher'],
    namespace: 'csi',
    secrets: 'none',
    serviceAccount: 'everything',
    suffix: 'hostpath',
  });
  const names = (kind: string) =>
    objects.filter((each) => each.kind === kind).map((each) => each.metadata.name);
  assert.deepEqual(names('ServiceAccount'), ['everything']);
  assert.deepEqual(names('ClusterRoleBinding'), [
    'csi-provisioner-role-hostpath',
    'csi-attacher-role-hostpath',
  ]);
  assert.deepEqual(names('RoleBinding'), [
    'csi-provisioner-role-cfg-hostpath',
    'csi-attacher-role-cfg-hostpath',
  ]);
  const roles = new Set([...names('ClusterRole'), ...names('Role')]);
  assert.equal(roles.size, 4);
  for (const each of objects as { roleRef?: { name: string } }[]) {
    if (each.roleRef) assert(roles.has(each.roleRef.name), each.roleRef.name);
  }
  assert.equal(JSON.stringify(objects).includes('secrets'), false);
  assert.equal(JSON.stringify(objects).includes('kube-system'), false);
});

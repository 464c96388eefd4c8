import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Pod, PodSpec } from '../../api/kinds.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  roleBindings,
  roles,
  volumeAttachments,
} from '../../api/kinds.ts';
import { ADMIN, ANONYMOUS, nodeUser, serviceAccountUser } from '../auth/users.ts';
import type { Attributes, User } from '../pipeline.ts';
import { createMemoryReader, type MemoryReader } from '../testing/memory-reader.ts';
import { createAuthorizer } from './authorizer.ts';

const user = (name: string, ...groups: string[]): User => ({ name, groups });

/** `get secrets.ns/name`, `create volumeattachments.storage.k8s.io`, `get /healthz`. */
function ask(who: User, request: string): Attributes {
  const [verb = '', target = '', fieldSelector] = request.split(' ');
  if (target.startsWith('/')) return { user: who, verb, path: target };
  const [resource = '', where = ''] = target.split('@');
  const [kind = '', subresource] = resource.split('/');
  const dot = kind.indexOf('.');
  const [plural, group] = dot < 0 ? [kind, ''] : [kind.slice(0, dot), kind.slice(dot + 1)];
  const slash = where.indexOf('/');
  const namespace = slash < 0 ? undefined : where.slice(0, slash);
  const name = slash < 0 ? where : where.slice(slash + 1);
  return {
    user: who,
    verb,
    group,
    version: 'v1',
    plural,
    ...(subresource ? { subresource } : {}),
    ...(namespace ? { namespace } : {}),
    ...(name ? { name } : {}),
    ...(fieldSelector ? { fieldSelector } : {}),
  };
}

function podOn(
  reader: MemoryReader,
  node: string | undefined,
  name: string,
  spec: Partial<PodSpec> = {},
): Pod {
  return reader.put(pods, {
    metadata: { name, namespace: 'app' },
    spec: { containers: [], serviceAccountName: 'worker', ...(node ? { nodeName: node } : {}), ...spec },
  });
}

function boundVolume(reader: MemoryReader, claim: string, volume: string): void {
  reader.put(persistentVolumeClaims, {
    metadata: { name: claim, namespace: 'app' },
    spec: { volumeName: volume },
  });
  const ref = (name: string) => ({ name, namespace: 'storage' });
  reader.put(persistentVolumes, {
    metadata: { name: volume },
    spec: {
      claimRef: { namespace: 'app', name: claim },
      csi: {
        driver: 'd',
        volumeHandle: 'h',
        nodeStageSecretRef: ref(`${volume}-stage`),
        nodePublishSecretRef: ref(`${volume}-publish`),
        nodeExpandSecretRef: ref(`${volume}-expand`),
        controllerPublishSecretRef: ref(`${volume}-attach`),
        controllerExpandSecretRef: ref(`${volume}-grow`),
      },
    },
  });
}

suite('nodes', () => {
  const reader = createMemoryReader();
  boundVolume(reader, 'early', 'pv-early');
  podOn(reader, 'n1', 'before', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'early' } }] });
  const { authorize } = createAuthorizer({ reader });
  boundVolume(reader, 'data', 'pv-data');
  boundVolume(reader, 'other', 'pv-other');
  boundVolume(reader, 'one-scratch', 'pv-scratch');
  podOn(reader, 'n1', 'one', {
    imagePullSecrets: [{ name: 'pull' }],
    containers: [
      {
        name: 'c',
        env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }],
        envFrom: [{ configMapRef: { name: 'settings' } }],
      },
    ],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', ephemeral: {} },
      { name: 'secret', secret: { secretName: 'mounted' } },
      {
        name: 'all',
        projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }] },
      },
      {
        name: 'inline',
        csi: {
          driver: 'd',
          nodePublishSecretRef: { name: 'inline-publish' },
          nodeStageSecretRef: { name: 'inline-stage' },
          controllerPublishSecretRef: { name: 'inline-attach' },
        },
      },
    ],
  });
  podOn(reader, 'n2', 'two', { volumes: [{ name: 'o', persistentVolumeClaim: { claimName: 'other' } }] });
  podOn(reader, undefined, 'unscheduled', {
    volumes: [{ name: 's', secret: { secretName: 'unscheduled' } }],
  });
  reader.put(pods, {
    metadata: { name: 'mirror', namespace: 'app', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    spec: {
      nodeName: 'n1',
      containers: [],
      volumes: [{ name: 's', secret: { secretName: 'crown-jewels' } }],
    },
  });
  for (const node of ['n1', 'n2']) {
    reader.put(volumeAttachments, {
      metadata: { name: `va-${node}` },
      spec: { attacher: 'd', nodeName: node, source: { persistentVolumeName: 'pv-data' } },
    });
  }

  const n1 = nodeUser('n1');
  const table: [request: string, expected: 'allow' | 'no'][] = [
    ['get secrets@app/pull', 'allow'],
    ['get secrets@app/env', 'allow'],
    ['get secrets@app/mounted', 'allow'],
    ['get secrets@app/projected', 'allow'],
    ['get secrets@app/inline-publish', 'allow'],
    ['get secrets@app/inline-stage', 'allow'],
    ['get secrets@app/inline-attach', 'no'],
    ['get secrets@other/mounted', 'no'],
    ['get secrets@app/unscheduled', 'no'],
    ['get secrets@app/crown-jewels', 'no'],
    ['list secrets@app/', 'no'],
    ['list secrets', 'no'],
    ['watch secrets@app/ metadata.name=mounted', 'allow'],
    ['watch secrets@app/ metadata.name!=mounted', 'no'],
    ['update secrets@app/mounted', 'no'],
    ['delete secrets@app/mounted', 'no'],
    ['get configmaps@app/settings', 'allow'],
    ['get configmaps@app/projected', 'allow'],
    ['get configmaps@app/elsewhere', 'no'],
    ['get persistentvolumeclaims@app/early', 'allow'],
    ['get persistentvolumeclaims@app/data', 'allow'],
    ['get persistentvolumeclaims@app/one-scratch', 'allow'],
    ['get persistentvolumeclaims@app/other', 'no'],
    ['list persistentvolumeclaims@app/', 'no'],
    ['watch persistentvolumeclaims@app/ metadata.name=data', 'allow'],
    ['update persistentvolumeclaims@app/data', 'no'],
    ['patch persistentvolumeclaims/status@app/data', 'allow'],
    ['patch persistentvolumeclaims/status@app/other', 'no'],
    ['get persistentvolumes@pv-early', 'allow'],
    ['get persistentvolumes@pv-data', 'allow'],
    ['get persistentvolumes@pv-scratch', 'allow'],
    ['get persistentvolumes@pv-other', 'no'],
    ['list persistentvolumes', 'no'],
    ['patch persistentvolumes@pv-data', 'no'],
    ['get secrets@storage/pv-early-stage', 'allow'],
    ['get secrets@storage/pv-data-stage', 'allow'],
    ['get secrets@storage/pv-data-publish', 'allow'],
    ['get secrets@storage/pv-data-expand', 'allow'],
    ['get secrets@storage/pv-data-attach', 'no'],
    ['get secrets@storage/pv-data-grow', 'no'],
    ['get secrets@storage/pv-other-stage', 'no'],
    ['get volumeattachments.storage.k8s.io@va-n1', 'allow'],
    ['watch volumeattachments.storage.k8s.io metadata.name=va-n1', 'allow'],
    ['get volumeattachments.storage.k8s.io@va-n2', 'no'],
    ['list volumeattachments.storage.k8s.io', 'no'],
    ['create volumeattachments.storage.k8s.io', 'no'],
    ['patch volumeattachments.storage.k8s.io/status@va-n1', 'no'],
    ['create serviceaccounts/token@app/worker', 'allow'],
    ['create serviceaccounts/token@app/default', 'no'],
    ['create serviceaccounts@app/', 'no'],
    ['get pods@app/one', 'allow'],
    ['get pods@app/two', 'no'],
    ['list pods spec.nodeName=n1', 'allow'],
    ['watch pods spec.nodeName=n1', 'allow'],
    ['watch pods spec.nodeName=n2', 'no'],
    ['watch pods spec.nodeName!=n1', 'no'],
    ['list pods', 'no'],
    ['update pods@app/one', 'no'],
    ['patch pods/status@app/one', 'allow'],
    ['create pods/binding@app/one', 'no'],
    ['get nodes@n1', 'allow'],
    ['watch nodes metadata.name=n1', 'allow'],
    ['get nodes@n2', 'no'],
    ['list nodes', 'no'],
    ['patch nodes@n1', 'allow'],
    ['delete nodes@n1', 'no'],
    ['patch nodes/status@n1', 'allow'],
    ['create csinodes.storage.k8s.io', 'allow'],
    ['update csinodes.storage.k8s.io@n1', 'allow'],
    ['watch csinodes.storage.k8s.io metadata.name=n1', 'allow'],
    ['update csinodes.storage.k8s.io@n2', 'no'],
    ['get csinodes.storage.k8s.io@n2', 'no'],
    ['list csinodes.storage.k8s.io', 'no'],
    ['patch csinodeinfos.csi.storage.k8s.io@n1', 'allow'],
    ['patch csinodeinfos.csi.storage.k8s.io@n2', 'no'],
    ['update leases.coordination.k8s.io@kube-node-lease/n1', 'allow'],
    ['update leases.coordination.k8s.io@kube-node-lease/n2', 'no'],
    ['update leases.coordination.k8s.io@kube-system/n1', 'no'],
    ['list csidrivers.storage.k8s.io', 'allow'],
    ['create csidrivers.storage.k8s.io', 'no'],
    ['create events@app/', 'allow'],
    ['get storageclasses.storage.k8s.io@fast', 'no'],
    ['get clusterroles.rbac.authorization.k8s.io@cluster-admin', 'no'],
  ];
  for (const [request, expected] of table) {
    test(`n1: ${request}: ${expected}`, () => {
      assert.equal(authorize(ask(n1, request)).decision, expected === 'allow' ? 'allow' : 'no-opinion');
    });
  }

  test("a node's rights are granted and revoked with its pods", () => {
    const n3 = nodeUser('n3');
    const reads = [
      'get persistentvolumes@pv-data',
      'get secrets@storage/pv-data-stage',
      'get secrets@app/late',
    ];
    const decisions = () => reads.map((request) => authorize(ask(n3, request)).decision);
    const spec: Partial<PodSpec> = {
      volumes: [
        { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
        { name: 's', secret: { secretName: 'late' } },
      ],
    };
    podOn(reader, undefined, 'late', spec);
    assert.deepEqual(decisions(), ['no-opinion', 'no-opinion', 'no-opinion']);
    podOn(reader, 'n3', 'late', spec);
    podOn(reader, 'n3', 'late', spec);
    assert.deepEqual(decisions(), ['allow', 'allow', 'allow']);
    podOn(reader, 'n3', 'later', spec);
    reader.remove(pods, { namespace: 'app', name: 'late' });
    assert.deepEqual(decisions(), ['allow', 'allow', 'allow']);
    reader.remove(pods, { namespace: 'app', name: 'later' });
    assert.deepEqual(decisions(), ['no-opinion', 'no-opinion', 'no-opinion']);
  });

  test('the rights to a volume follow its binding', () => {
    const claimed = {
      metadata: { name: 'pv-moving' },
      spec: { claimRef: { namespace: 'app', name: 'data' } },
    };
    assert.equal(authorize(ask(n1, 'get persistentvolumes@pv-moving')).decision, 'no-opinion');
    reader.put(persistentVolumes, claimed);
    assert.equal(authorize(ask(n1, 'get persistentvolumes@pv-moving')).decision, 'allow');
    reader.put(persistentVolumes, { metadata: { name: 'pv-moving' }, spec: {} });
    assert.equal(authorize(ask(n1, 'get persistentvolumes@pv-moving')).decision, 'no-opinion');
  });

  test("a member of system:nodes without a node's user name is not a node", () => {
    const nobody = user('impostor', 'system:nodes');
    assert.equal(authorize(ask(nobody, 'get nodes@n1')).decision, 'no-opinion');
  });

  test("a node's user name without the group system:nodes grants nothing", () => {
    assert.equal(authorize(ask(user('system:node:n1'), 'get nodes@n1')).decision, 'no-opinion');
  });
});

suite('roles', () => {
  const reader = createMemoryReader();
  const { authorize, rulesFor } = createAuthorizer({ reader });
  const rule = (apiGroup: string, resources: string[], verbs: string[], resourceNames?: string[]) => ({
    apiGroups: [apiGroup],
    resources,
    verbs,
    ...(resourceNames ? { resourceNames } : {}),
  });
  const bindCluster = (
    name: string,
    role: string,
    ...subjects: { kind: string; name: string; namespace?: string }[]
  ) =>
    reader.put(clusterRoleBindings, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects,
    });
  const bind = (
    namespace: string,
    name: string,
    kind: 'Role' | 'ClusterRole',
    role: string,
    subject: { kind: string; name: string },
  ) =>
    reader.put(roleBindings, {
      metadata: { name, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects: [subject],
    });

  reader.put(clusterRoles, {
    metadata: { name: 'reader' },
    rules: [rule('', ['pods', 'pods/log', 'namespaces'], ['get', 'list'])],
  });
  reader.put(clusterRoles, { metadata: { name: 'scaler' }, rules: [rule('*', ['*/scale'], ['*'])] });
  reader.put(clusterRoles, {
    metadata: { name: 'health' },
    rules: [{ nonResourceURLs: ['/healthz', '/metrics/*'], verbs: ['get'] }],
  });
  reader.put(roles, {
    metadata: { name: 'one-secret', namespace: 'a' },
    rules: [rule('', ['secrets'], ['get', 'watch', 'list'], ['s1'])],
  });
  bindCluster('readers', 'reader', { kind: 'Group', name: 'devs' });
  bindCluster('scalers', 'scaler', { kind: 'User', name: 'jane' });
  bindCluster('health', 'health', { kind: 'ServiceAccount', name: 'probe', namespace: 'mon' });
  bindCluster('dangling', 'missing', { kind: 'Group', name: 'devs' });
  bind('a', 's1', 'Role', 'one-secret', { kind: 'User', name: 'jane' });
  bind('b', 'readers', 'ClusterRole', 'reader', { kind: 'User', name: 'bob' });
  bind('b', 'sa', 'ClusterRole', 'reader', { kind: 'ServiceAccount', name: 'same-namespace' });

  const jane = user('jane', 'devs');
  const bob = user('bob');
  const table: [who: User, request: string, expected: 'allow' | 'no'][] = [
    [ADMIN, 'delete secrets@kube-system/anything', 'allow'],
    [ADMIN, 'get /metrics', 'allow'],
    [ANONYMOUS, 'get pods@a/x', 'no'],
    [jane, 'get pods@a/x', 'allow'],
    [jane, 'list pods', 'allow'],
    [jane, 'get pods/log@a/x', 'allow'],
    [jane, 'get pods/status@a/x', 'no'],
    [jane, 'delete pods@a/x', 'no'],
    [jane, 'update deployments.apps/scale@a/x', 'allow'],
    [jane, 'update deployments.apps@a/x', 'no'],
    [jane, 'get secrets@a/s1', 'allow'],
    [jane, 'watch secrets@a/ metadata.name=s1', 'allow'],
    [jane, 'list secrets@a/', 'no'],
    [jane, 'get secrets@a/s2', 'no'],
    [jane, 'get secrets@b/s1', 'no'],
    [bob, 'get pods@b/x', 'allow'],
    [bob, 'get pods@a/x', 'no'],
    [bob, 'list pods', 'no'],
    [bob, 'get namespaces@b', 'allow'],
    [bob, 'get namespaces@a', 'no'],
    [bob, 'list namespaces', 'no'],
    [serviceAccountUser('b', 'same-namespace'), 'get pods@b/x', 'allow'],
    [serviceAccountUser('a', 'same-namespace'), 'get pods@b/x', 'no'],
    [serviceAccountUser('mon', 'probe'), 'get /healthz', 'allow'],
    [serviceAccountUser('mon', 'probe'), 'get /metrics/slis', 'allow'],
    [serviceAccountUser('mon', 'probe'), 'get /metrics', 'no'],
    [serviceAccountUser('mon', 'probe'), 'post /healthz', 'no'],
  ];
  for (const [who, request, expected] of table) {
    test(`${who.name}: ${request}: ${expected}`, () => {
      assert.equal(authorize(ask(who, request)).decision, expected === 'allow' ? 'allow' : 'no-opinion');
    });
  }

  test('aggregated roles grant the rules of the roles that they select, also transitively', () => {
    const label = (to: string) => ({ [`aggregate-to-${to}`]: 'true' });
    const aggregated = (name: string, labels: Record<string, string> = {}) =>
      reader.put(clusterRoles, {
        metadata: { name, labels },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label(name) }] },
        rules: [],
      });
    aggregated('admin');
    aggregated('edit', label('admin'));
    aggregated('view', label('edit'));
    bindCluster('ann', 'admin', { kind: 'User', name: 'ann' });
    const ann = user('ann');
    assert.equal(authorize(ask(ann, 'get widgets.example.com@a/x')).decision, 'no-opinion');
    reader.put(clusterRoles, {
      metadata: { name: 'widgets', labels: label('view') },
      rules: [rule('example.com', ['widgets'], ['get'])],
    });
    assert.equal(authorize(ask(ann, 'get widgets.example.com@a/x')).decision, 'allow');
    reader.put(clusterRoles, {
      metadata: { name: 'widgets' },
      rules: [rule('example.com', ['widgets'], ['get'])],
    });
    assert.equal(authorize(ask(ann, 'get widgets.example.com@a/x')).decision, 'no-opinion');
  });

  test('a change of a role or binding takes effect at the next request', () => {
    const eve = user('eve');
    const request = ask(eve, 'get nodes@n1');
    bindCluster('eve', 'noder', { kind: 'User', name: 'eve' });
    assert.equal(authorize(request).decision, 'no-opinion');
    reader.put(clusterRoles, { metadata: { name: 'noder' }, rules: [rule('', ['nodes'], ['get'])] });
    assert.equal(authorize(request).decision, 'allow');
    assert.deepEqual(rulesFor(eve, undefined), [rule('', ['nodes'], ['get'])]);
    bindCluster('eve', 'noder', { kind: 'User', name: 'mallory' });
    assert.equal(authorize(request).decision, 'no-opinion');
    assert.equal(authorize({ ...request, user: user('mallory') }).decision, 'allow');
    reader.remove(clusterRoles, { name: 'noder' });
    assert.equal(authorize({ ...request, user: user('mallory') }).decision, 'no-opinion');
  });
});

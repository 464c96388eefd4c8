// Authorization, tested on the real server through both entry points.

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { CSIVolumeSource, Pod, PodSpec } from '../../api/kinds.ts';
import {
  clusterRoles,
  csiDrivers,
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  leases,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  roleBindings,
  secrets,
  serviceAccounts,
  storageClasses,
  volumeAttachments,
} from '../../api/kinds.ts';
import type { Draft, KubeObject, Resource } from '../../api/object.ts';
import { ANN_INLINE_HANDLES } from '../../api/well-known.ts';
import { publishedRbac } from '../../manifests/published-rbac.ts';
import { createHttpKubeClient, type HttpKubeClient } from '../../runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import type { AuthConfig, Material } from '../../runtime/kube/kube-config.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { secretValue } from '../../runtime/log/secret-value.ts';
import { realRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import { podSecurityPolicies } from '../admission/pod-security-policy.ts';
import { type ApiServer, createApiServer } from '../api-server.ts';
import { nodeUser, serviceAccountUser } from '../auth/users.ts';
import type { User } from '../pipeline.ts';

let server: ApiServer;
let admin: KubeClient;
const opened: HttpKubeClient[] = [];

const inline = (field: string, value: string): Material => ({
  field,
  kind: 'inline',
  value: secretValue(value),
});

function overHttps(auth: AuthConfig): HttpKubeClient {
  const client = createHttpKubeClient({
    config: {
      server: server.url ?? '',
      source: 'the test',
      tls: { ca: inline('ca', server.pki.caPem) },
      auth,
    },
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  opened.push(client);
  return client;
}

function withCertificate(user: User): HttpKubeClient {
  const organizations = user.groups.filter((group) => group !== 'system:authenticated');
  const { keyPem, certificatePem } = server.pki.issueClientCertificate({
    commonName: user.name,
    organizations,
  });
  return overHttps({
    clientCertificate: { certificate: inline('certificate', certificatePem), key: inline('key', keyPem) },
  });
}

const DOORS: readonly [name: string, open: (user: User) => KubeClient][] = [
  ['local door', (user) => server.client(user)],
  ['HTTPS door', withCertificate],
];

async function outcome(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'yes';
  } catch (error) {
    if (error instanceof KubeError) return error.reason;
    throw error;
  }
}

async function refusal(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error));
    assert.equal(error.reason, 'Forbidden');
    return error.message;
  }
  throw new assert.AssertionError({ message: 'was allowed' });
}

/** Watches until the first event. */
async function firstEvent(
  client: KubeClient,
  resource: Resource,
  selection: { namespace?: string; fieldSelector?: string },
) {
  const stop = new AbortController();
  try {
    const options = { ...selection, sendInitialEvents: true, allowBookmarks: true, signal: stop.signal };
    for await (const _ of client.watch(resource, options)) return;
  } finally {
    stop.abort();
  }
}

const podDraft = (name: string, spec: Partial<PodSpec> = {}): Draft<Pod> => ({
  metadata: { name, namespace: 'app' },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

before(async () => {
  server = await createApiServer({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    freezeObjects: true,
  });
  admin = server.client(server.adminUser);
  for (const name of ['app', 'storage', 'csi', 'csi-creds'])
    await admin.create(namespaces, { metadata: { name } });
  await admin.create(storageClasses, { metadata: { name: 'fast' }, provisioner: 'd' });
  const { group, plural, kind } = csiNodeInfos;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await admin.create(customResourceDefinitions, {
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  });
  for (const name of ['n1', 'n2']) await admin.create(nodes, { metadata: { name } });
  const secret = (namespace: string, name: string) =>
    admin.create(secrets, { metadata: { name, namespace } });
  for (const name of ['mounted', 'inline', 'foreign']) await secret('app', name);
  await secret('csi-creds', 'driver');
  for (const own of ['one', 'two']) {
    for (const call of ['stage', 'publish', 'expand', 'attach']) await secret('storage', `${own}-${call}`);
    const ref = (call: string) => ({ name: `${own}-${call}`, namespace: 'storage' });
    await admin.create(persistentVolumeClaims, {
      metadata: { name: own, namespace: 'app' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        volumeName: `pv-${own}`,
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await admin.create(persistentVolumes, {
      metadata: { name: `pv-${own}` },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        storageClassName: 'fast',
        claimRef: { namespace: 'app', name: own },
        csi: {
          driver: 'd',
          volumeHandle: own,
          nodeStageSecretRef: ref('stage'),
          nodePublishSecretRef: ref('publish'),
          nodeExpandSecretRef: ref('expand'),
          controllerPublishSecretRef: ref('attach'),
        },
      },
    });
  }
  await admin.create(
    pods,
    podDraft('one', {
      nodeName: 'n1',
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'one' } },
        { name: 'secret', secret: { secretName: 'mounted' } },
        { name: 'inline', csi: { driver: 'd', nodePublishSecretRef: { name: 'inline' } } },
      ],
    }),
  );
  await admin.create(
    pods,
    podDraft('two', {
      nodeName: 'n2',
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'two' } }],
    }),
  );
  for (const node of ['n1', 'n2']) {
    await admin.create(volumeAttachments, {
      metadata: { name: `va-${node}` },
      spec: { attacher: 'd', nodeName: node, source: { persistentVolumeName: 'pv-one' } },
    });
  }
  for (const object of await publishedRbac({ namespace: 'csi', secrets: { namespace: 'csi-creds' } })) {
    const { apiVersion = '', kind = '' } = object;
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const plural = `${kind.toLowerCase()}s`;
    const resource = { group: group ?? '', version: version ?? '', kind, plural, namespaced: true };
    await admin.create({ ...resource, namespaced: !kind.startsWith('Cluster') }, object);
  }
});

after(async () => {
  for (const client of opened) await client.close();
  await server.stop();
});

for (const [door, open] of DOORS) {
  suite(`a node, ${door}`, () => {
    const in_ = (namespace: string, name: string) => ({ namespace, name });
    const table: [what: string, act: (n1: KubeClient) => Promise<unknown>, expected: 'yes' | 'Forbidden'][] =
      [
        ['gets a secret its pod mounts', (n1) => n1.get(secrets, in_('app', 'mounted')), 'yes'],
        ['gets a secret of its inline volume', (n1) => n1.get(secrets, in_('app', 'inline')), 'yes'],
        [
          'gets the stage secret behind its volume',
          (n1) => n1.get(secrets, in_('storage', 'one-stage')),
          'yes',
        ],
        [
          'gets the publish secret behind its volume',
          (n1) => n1.get(secrets, in_('storage', 'one-publish')),
          'yes',
        ],
        [
          'gets the expand secret behind its volume',
          (n1) => n1.get(secrets, in_('storage', 'one-expand')),
          'yes',
        ],
        [
          'gets the attach secret behind its volume',
          (n1) => n1.get(secrets, in_('storage', 'one-attach')),
          'Forbidden',
        ],
        [
          "gets a secret behind another node's volume",
          (n1) => n1.get(secrets, in_('storage', 'two-stage')),
          'Forbidden',
        ],
        ['gets a secret no pod of its needs', (n1) => n1.get(secrets, in_('app', 'foreign')), 'Forbidden'],
        ['gets a secret that does not exist', (n1) => n1.get(secrets, in_('app', 'nothing')), 'Forbidden'],
        ['lists secrets', (n1) => n1.list(secrets, { namespace: 'app' }), 'Forbidden'],
        ['watches all secrets', (n1) => firstEvent(n1, secrets, {}), 'Forbidden'],
        ['gets its claim', (n1) => n1.get(persistentVolumeClaims, in_('app', 'one')), 'yes'],
        ["gets another node's claim", (n1) => n1.get(persistentVolumeClaims, in_('app', 'two')), 'Forbidden'],
        ['lists claims', (n1) => n1.list(persistentVolumeClaims), 'Forbidden'],
        ['gets its volume', (n1) => n1.get(persistentVolumes, { name: 'pv-one' }), 'yes'],
        ["gets another node's volume", (n1) => n1.get(persistentVolumes, { name: 'pv-two' }), 'Forbidden'],
        ['gets its attachment', (n1) => n1.get(volumeAttachments, { name: 'va-n1' }), 'yes'],
        [
          'watches its attachment alone',
          (n1) => firstEvent(n1, volumeAttachments, { fieldSelector: 'metadata.name=va-n1' }),
          'yes',
        ],
        ["gets another node's attachment", (n1) => n1.get(volumeAttachments, { name: 'va-n2' }), 'Forbidden'],
        ['lists its own pods', (n1) => n1.list(pods, { fieldSelector: 'spec.nodeName=n1' }), 'yes'],
        ['lists all pods', (n1) => n1.list(pods), 'Forbidden'],
        [
          "lists another node's pods",
          (n1) => n1.list(pods, { fieldSelector: 'spec.nodeName=n2' }),
          'Forbidden',
        ],
        ['gets its own Node', (n1) => n1.get(nodes, { name: 'n1' }), 'yes'],
        ['gets another Node', (n1) => n1.get(nodes, { name: 'n2' }), 'Forbidden'],
        [
          'reports on its pod',
          (n1) =>
            n1.patch(
              pods,
              in_('app', 'one'),
              { status: { phase: 'Running' } },
              { type: 'merge', subresource: 'status' },
            ),
          'yes',
        ],
        [
          "reports on another node's pod",
          (n1) =>
            n1.patch(
              pods,
              in_('app', 'two'),
              { status: { phase: 'Failed' } },
              { type: 'merge', subresource: 'status' },
            ),
          'Forbidden',
        ],
        [
          'reports on another Node',
          (n1) =>
            n1.patch(
              nodes,
              { name: 'n2' },
              { status: { phase: 'x' } },
              { type: 'merge', subresource: 'status' },
            ),
          'Forbidden',
        ],
        ["deletes another node's pod", (n1) => n1.delete(pods, in_('app', 'two')), 'Forbidden'],
        [
          'changes a volume',
          (n1) => n1.patch(persistentVolumes, { name: 'pv-one' }, {}, { type: 'merge' }),
          'Forbidden',
        ],
      ];
    for (const [what, act, expected] of table) {
      test(`[SEC-4] ${what}: ${expected === 'yes' ? 'yes' : 'no'}`, async () => {
        assert.equal(await outcome(act(open(nodeUser('n1')))), expected);
      });
    }

    test('[SEC-4] a node may read what its pods refer to', async () => {
      const n2 = open(nodeUser('n2'));
      const read = () => outcome(n2.get(secrets, { namespace: 'storage', name: 'one-stage' }));
      assert.equal(await read(), 'Forbidden');
      const name = `visitor-${door === 'local door' ? 'a' : 'b'}`;
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'one' } }];
      await admin.create(pods, podDraft(name, { nodeName: 'n2', volumes }));
      assert.equal(await read(), 'yes');
      await admin.delete(pods, { namespace: 'app', name }, { gracePeriodSeconds: 0 });
      assert.equal(await read(), 'Forbidden');
    });

    test('[REG-9] a node may write the CSINode and CSINodeInfo with its name, owned by its Node', async () => {
      const name = `reg-${door === 'local door' ? 'a' : 'b'}`;
      const node = open(nodeUser(name));
      const { uid } = (await node.create(nodes, { metadata: { name } })).metadata;
      const owned = (called: string, owner = name) => ({
        name: called,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: owner, uid }],
      });
      const writes = {
        CSINode: (metadata: ReturnType<typeof owned>) =>
          node.create(csiNodes, { metadata, spec: { drivers: [] } }),
        CSINodeInfo: (metadata: ReturnType<typeof owned>) =>
          node.create(csiNodeInfos, { metadata, csiDrivers: [] }),
      };
      for (const write of Object.values(writes)) {
        assert.match(await refusal(write(owned('another'))), /same name as the requesting node/);
        assert.match(await refusal(write(owned(name, 'n1'))), /only make its own Node the owner/);
        assert.equal((await write(owned(name))).metadata.ownerReferences?.[0]?.uid, uid);
        assert.equal(await outcome(write(owned(name))), 'AlreadyExists');
      }
      assert.equal(await outcome(node.get(csiNodes, { name: 'n1' })), 'Forbidden');
      const lease = (called: string) =>
        node.create(leases, { metadata: { name: called, namespace: 'kube-node-lease' } });
      await lease(name);
      assert.match(await refusal(lease('another')), /same name as the requesting node/);
      assert.match(
        await refusal(node.create(nodes, { metadata: { name: 'another' } })),
        /not allowed to modify node/,
      );
    });

    test('[SEC-5] a node may label its own Node under allowed prefixes only; the error names the setting', async () => {
      const n1 = open(nodeUser('n1'));
      const label = (node: string, key: string, value: string | null) =>
        n1.patch(nodes, { name: node }, { metadata: { labels: { [key]: value } } }, { type: 'merge' });
      await label('n1', 'topology.hostpath.csi.berth/node', 'n1');
      const stored = await admin.get(nodes, { name: 'n1' });
      assert.equal(stored.metadata.labels?.['topology.hostpath.csi.berth/node'], 'n1');
      const message = await refusal(label('n1', 'topology.evil.example/zone', 'a'));
      assert.match(
        message,
        /topology\.evil\.example\/zone.*--node-label-prefixes.*topology\.hostpath\.csi\.berth\//,
      );
      assert.match(await refusal(label('n2', 'topology.hostpath.csi.berth/node', 'n1')), /modify node "n2"/);
      await admin.patch(
        nodes,
        { name: 'n1' },
        { metadata: { labels: { 'example.com/by-admin': 'x' } } },
        { type: 'merge' },
      );
      assert.match(await refusal(label('n1', 'example.com/by-admin', null)), /--node-label-prefixes/);
      assert.equal(
        (await admin.get(nodes, { name: 'n1' })).metadata.labels?.['topology.evil.example/zone'],
        undefined,
      );
    });
  });

  suite(`sidecars with their published roles, ${door}`, () => {
    const account = (name: string) => open(serviceAccountUser('csi', name));
    const claim = { namespace: 'app', name: 'one' };
    const merge = { type: 'merge' } as const;
    const status = { type: 'merge', subresource: 'status' } as const;
    const finalizers = {
      metadata: { finalizers: ['kubernetes.io/pvc-protection', 'csi.berth/provisioning'] },
    };
    const table: [
      who: string,
      what: string,
      act: (c: KubeClient) => Promise<unknown>,
      expected: 'yes' | 'Forbidden',
    ][] = [
      [
        'csi-provisioner',
        'puts its finalizer on a claim',
        (c) => c.patch(persistentVolumeClaims, claim, finalizers, merge),
        'yes',
      ],
      [
        'csi-provisioner',
        'reads classes, nodes and CSINodes',
        (c) => Promise.all([c.list(storageClasses), c.list(nodes), c.list(csiNodes)]),
        'yes',
      ],
      [
        'csi-provisioner',
        'reads a secret where secrets are',
        (c) => c.get(secrets, { namespace: 'csi-creds', name: 'driver' }),
        'yes',
      ],
      [
        'csi-provisioner',
        'reads a secret elsewhere',
        (c) => c.get(secrets, { namespace: 'app', name: 'mounted' }),
        'Forbidden',
      ],
      ['csi-provisioner', 'lists secrets', (c) => c.list(secrets, { namespace: 'csi-creds' }), 'Forbidden'],
      [
        'csi-provisioner',
        'creates a claim',
        (c) => c.create(persistentVolumeClaims, { metadata: { name: 'x', namespace: 'app' }, spec: {} }),
        'Forbidden',
      ],
      [
        'csi-attacher',
        'marks an attachment',
        (c) => c.patch(volumeAttachments, { name: 'va-n1' }, { status: { attached: true } }, status),
        'yes',
      ],
      [
        'csi-attacher',
        'puts its finalizer on a volume',
        (c) =>
          c.patch(persistentVolumes, { name: 'pv-one' }, { metadata: { annotations: { a: 'b' } } }, merge),
        'yes',
      ],
      [
        'csi-attacher',
        'deletes an attachment',
        (c) => c.delete(volumeAttachments, { name: 'va-n1' }),
        'Forbidden',
      ],
      [
        'csi-resizer',
        "reports a claim's size",
        (c) => c.patch(persistentVolumeClaims, claim, { status: { conditions: [] } }, status),
        'yes',
      ],
      [
        'csi-resizer',
        'deletes a volume',
        (c) => c.delete(persistentVolumes, { name: 'pv-one' }),
        'Forbidden',
      ],
      ['csi-cluster-driver-registrar', 'reads drivers', (c) => c.list(csiDrivers), 'yes'],
      ['csi-cluster-driver-registrar', 'lists pods', (c) => c.list(pods), 'Forbidden'],
    ];
    for (const [who, what, act, expected] of table) {
      test(`[SEC-4] ${who} ${what}: ${expected === 'yes' ? 'yes' : 'no'}`, async () => {
        assert.equal(await outcome(act(account(who))), expected);
      });
    }
  });

  suite(`inline volumes, ${door}`, () => {
    const suffix = door === 'local door' ? 'a' : 'b';
    const csiPod = (name: string, csi: CSIVolumeSource) =>
      podDraft(`${name}-${suffix}`, { volumes: [{ name: 'v', csi }] });
    before(async () => {
      const driver = (name: string, spec: object) =>
        admin.create(csiDrivers, {
          metadata: {
            name: `${name}.${suffix}`,
            ...(name !== 'closed' && { annotations: { [ANN_INLINE_HANDLES]: 'allowed' } }),
          },
          spec,
        });
      await driver('plain', {});
      await driver('closed', {});
      await driver('ephemeral', { volumeLifecycleModes: ['Ephemeral'] });
      await driver('seeds', { lifecycle: 'ephemeral' });
      await driver('both', { volumeLifecycleModes: ['Persistent', 'Ephemeral'] });
    });

    const table: [driver: string, handle: string | undefined, expected: 'yes' | 'Forbidden'][] = [
      ['plain', undefined, 'Forbidden'],
      ['plain', 'h', 'yes'],
      ['closed', 'h', 'Forbidden'],
      ['unknown', 'h', 'Forbidden'],
      ['ephemeral', undefined, 'yes'],
      ['ephemeral', 'h', 'yes'],
      ['seeds', undefined, 'yes'],
      ['both', undefined, 'yes'],
      ['both', 'h', 'yes'],
      ['unknown', undefined, 'yes'],
    ];
    for (const [name, handle, expected] of table) {
      test(`[INL-3] driver ${name}, ${handle ? 'with' : 'without'} a handle: ${expected === 'yes' ? 'yes' : 'no'}`, async () => {
        const source = { driver: `${name}.${suffix}`, ...(handle ? { volumeHandle: handle } : {}) };
        const created = open(server.adminUser).create(pods, csiPod(`${name}-${handle ?? 'none'}`, source));
        assert.equal(await outcome(created), expected);
      });
    }

    test('[INL-6] policies limit which drivers a pod may name', async () => {
      const jane = open({ name: `jane-${suffix}`, groups: ['system:authenticated'] });
      const anything = { rule: 'RunAsAny' };
      const common = {
        seLinux: anything,
        runAsUser: anything,
        supplementalGroups: anything,
        fsGroup: anything,
      };
      const bind = (role: string) =>
        admin.create(roleBindings, {
          metadata: { name: `${role}-${suffix}`, namespace: 'app' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
          subjects: [{ kind: 'User', name: `jane-${suffix}` }],
        });
      await bind('edit');
      const tried = (driver: string) =>
        outcome(jane.create(pods, csiPod('psp', { driver }), { dryRun: true }));
      assert.equal(await tried('free.a'), 'yes');

      const names = { list: `list-${suffix}`, none: `none-${suffix}`, absent: `absent-${suffix}` };
      const allow = async (name: string, spec: object) => {
        await admin.create(podSecurityPolicies, {
          metadata: { name },
          spec: { ...common, volumes: ['csi'], ...spec },
        });
        await admin.create(clusterRoles, {
          metadata: { name },
          rules: [
            {
              apiGroups: ['policy'],
              resources: ['podsecuritypolicies'],
              verbs: ['use'],
              resourceNames: [name],
            },
          ],
        });
        await bind(name);
      };
      await allow(names.none, { allowedCSIDrivers: [] });
      assert.equal(await tried('free.a'), 'Forbidden');
      await allow(names.list, { allowedCSIDrivers: [{ name: 'free.a' }] });
      assert.equal(await tried('free.a'), 'yes');
      const message = await refusal(jane.create(pods, csiPod('psp', { driver: 'other.a' })));
      assert.match(message, /spec\.volumes\[0\]\.csi\.driver: Invalid value: "other\.a"/);
      await allow(names.absent, {});
      assert.equal(await tried('other.a'), 'yes');
      for (const name of Object.values(names)) await admin.delete(podSecurityPolicies, { name });
      assert.equal(await tried('other.a'), 'yes');
    });
  });
}

suite('tokens, reviews and impersonation', () => {
  const reviews = (
    group: string,
    kind: string,
  ): Resource<KubeObject & { status: Record<string, unknown> }> => ({
    group: `${group}.k8s.io`,
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: false,
  });
  const review = async (client: KubeClient, group: string, kind: string, spec: object = {}) => {
    const body = { metadata: {}, spec } as unknown as Draft<KubeObject & { status: Record<string, unknown> }>;
    return (await client.create(reviews(group, kind), body)).status;
  };
  const tokenFor = async (client: KubeClient, spec: object) => {
    const name = { namespace: 'app', name: 'default' };
    const answer = await client.createSubresource<{ status: { token: string } }>(
      serviceAccounts,
      name,
      'token',
      { spec },
    );
    return answer.status.token;
  };

  test('a bound token authenticates its service account until its pod is deleted', async () => {
    const { uid } = (await admin.create(pods, podDraft('short-lived'))).metadata;
    const token = await tokenFor(admin, {
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'short-lived', uid },
    });
    const client = overHttps({ token: inline('token', token) });
    const self = await review(client, 'authentication', 'SelfSubjectReview');
    assert.equal((self.userInfo as { username: string }).username, 'system:serviceaccount:app:default');
    assert.equal((await review(admin, 'authentication', 'TokenReview', { token })).authenticated, true);
    await admin.delete(pods, { namespace: 'app', name: 'short-lived' }, { gracePeriodSeconds: 0 });
    assert.equal(await outcome(review(client, 'authentication', 'SelfSubjectReview')), 'Unauthorized');
    assert.equal((await review(admin, 'authentication', 'TokenReview', { token })).authenticated, false);
  });

  test('[SEC-4] a node gets tokens for its own pods only', async () => {
    const n1 = server.client(nodeUser('n1'));
    const bound = async (name: string) => {
      const { uid } = (await admin.get(pods, { namespace: 'app', name })).metadata;
      return { audiences: ['vault'], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid } };
    };
    assert.equal(await outcome(tokenFor(n1, await bound('one'))), 'yes');
    assert.match(await refusal(tokenFor(n1, await bound('two'))), /different node/);
    assert.match(await refusal(tokenFor(n1, {})), /not bound to a pod/);
  });

  test("access reviews give the authorizer's decision", async () => {
    const resourceAttributes = { verb: 'get', resource: 'secrets', namespace: 'app', name: 'mounted' };
    const asks = (user: string, groups: string[]) =>
      review(admin, 'authorization', 'SubjectAccessReview', { user, groups, resourceAttributes });
    assert.equal((await asks('system:node:n1', ['system:nodes'])).allowed, true);
    assert.equal((await asks('system:node:n2', ['system:nodes'])).allowed, false);
    const provisioner = server.client(serviceAccountUser('csi', 'csi-provisioner'));
    const own = await review(provisioner, 'authorization', 'SelfSubjectAccessReview', {
      resourceAttributes: { verb: 'create', resource: 'persistentvolumes' },
    });
    assert.equal(own.allowed, true);
    const rules = await review(provisioner, 'authorization', 'SelfSubjectRulesReview', { namespace: 'csi' });
    assert.match(JSON.stringify(rules.resourceRules), /csistoragecapacities/);
  });

  test('the admin may impersonate, others may not', async () => {
    const impersonate = { user: 'system:node:n1', groups: ['system:nodes'], extra: {} };
    const credentials = (user: User) => {
      const organizations = user.groups.filter((group) => group !== 'system:authenticated');
      const issued = server.pki.issueClientCertificate({ commonName: user.name, organizations });
      return { certificate: inline('c', issued.certificatePem), key: inline('k', issued.keyPem) };
    };
    const asNode = overHttps({ clientCertificate: credentials(server.adminUser), impersonate });
    assert.equal(await outcome(asNode.get(nodes, { name: 'n1' })), 'yes');
    assert.equal(await outcome(asNode.get(nodes, { name: 'n2' })), 'Forbidden');
    const jane = { name: 'jane', groups: ['system:authenticated'] };
    const cheat = overHttps({ clientCertificate: credentials(jane), impersonate });
    assert.match(await refusal(cheat.get(nodes, { name: 'n1' })), /cannot impersonate resource "users"/);
  });

  test('requests without credentials, and with invalid ones', async () => {
    assert.equal(await outcome(overHttps({}).list(pods)), 'Forbidden');
    assert.equal(await outcome(overHttps({ token: inline('token', 'nonsense') }).list(pods)), 'Unauthorized');
  });

  test('a pod can be created immediately after its namespace', async () => {
    await admin.create(namespaces, { metadata: { name: 'fresh' } });
    const pod = await admin.create(pods, {
      metadata: { name: 'p', namespace: 'fresh' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    assert.equal(pod.spec.serviceAccountName, 'default');
  });
});

test('an aggregated role includes the rules of a role that is added later', async (t) => {
  await admin.create(clusterRoles, {
    metadata: { name: 'widget-viewer', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] }],
  });
  const shows = (name: string) =>
    server.reader.get(clusterRoles, { name })?.rules?.some(({ resources }) => resources?.includes('widgets'));
  await new Promise<void>((resolve) => {
    const check = () => {
      if (shows('view') && shows('edit') && shows('admin')) resolve();
    };
    t.after(server.reader.subscribe(clusterRoles, check));
    check();
  });
});

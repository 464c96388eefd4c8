// `berth manifests --replace-official` against a server that has a deployment of official sidecars.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { startServer } from '../apiserver/server-process.ts';
import { temporaryDirectory } from '../e2e/up-process.ts';
import { runBerth } from '../run-berth.ts';
import { type Printed, runManifests } from './print-manifests.ts';

const NAMESPACE = 'storage';
const OFFICIAL = 'registry.k8s.io/sig-storage';

const sidecar = (name: string, args: readonly string[], more: object = {}) => ({
  name,
  image: `${OFFICIAL}/${name}:v6.1.0`,
  args: ['--csi-address=$(ADDRESS)', ...args],
  env: [{ name: 'ADDRESS', value: '/csi/csi.sock' }],
  volumeMounts: [{ name: 'socket', mountPath: '/csi' }],
  ...more,
});
const RESOURCES = { requests: { memory: '20Mi' } };

const pod = (containers: readonly object[], more: object = {}) => ({
  metadata: { labels: { app: 'd' } },
  spec: { serviceAccountName: 'driver', ...more, containers, volumes: [{ name: 'socket', emptyDir: {} }] },
});
const CONTROLLER = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'controller', namespace: NAMESPACE, annotations: { team: 'storage' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'd' } },
    template: pod([
      sidecar(
        'csi-provisioner',
        ['--leader-election', '--worker-threads=7', '--timeout', '30s', '--new-flag=1', '-v=5'],
        {
          resources: RESOURCES,
        },
      ),
      sidecar('csi-attacher', []),
      { name: 'driver', image: 'vendor/driver:1' },
    ]),
  },
};
const NODE = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'node', namespace: NAMESPACE },
  spec: {
    selector: { matchLabels: { app: 'd' } },
    template: pod([
      sidecar('csi-node-driver-registrar', [
        '--kubelet-registration-path=/var/lib/kubelet/plugins/d/csi.sock',
      ]),
      sidecar('livenessprobe', []),
    ]),
  },
};
const WEB = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: NAMESPACE },
  spec: {
    selector: { matchLabels: { app: 'w' } },
    template: { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'web', image: 'nginx' }] } },
  },
};
const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'driver' },
  rules: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['*'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
  ],
};
const BINDING = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'driver' },
  subjects: [{ kind: 'ServiceAccount', name: 'driver', namespace: NAMESPACE }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'driver' },
};

async function cluster(t: TestContext, objects: readonly object[]) {
  const dir = await temporaryDirectory(t);
  const server = await startServer({ dir });
  t.after(() => server.end('SIGTERM'));
  const connection = ['--kubeconfig', server.kubeconfig];
  const apply = async (text: string): Promise<void> => {
    const path = join(dir, 'objects.yaml');
    await writeFile(path, text);
    const { code, stderr } = await runBerth(['apply', '-f', path, ...connection]);
    assert.equal(code, 0, stderr);
  };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await apply([namespace, ...objects].map((object) => stringify(object)).join('---\n'));
  const replace = () =>
    runManifests([
      '--replace-official',
      '--namespace',
      NAMESPACE,
      '--berth-image',
      'berth:test',
      ...connection,
    ]);
  return { apply, replace };
}

const objectsOf = (text: string): Printed[] =>
  (parseAllDocuments(text) as { toJS(): Printed }[]).map((document) => document.toJS());

test('[REAL-4] prints the workloads of a namespace with Berth in place of the official sidecars', async (t) => {
  const { apply, replace } = await cluster(t, [CONTROLLER, NODE, WEB, ROLE, BINDING]);
  const { code, stdout, stderr } = await replace();
  assert.equal(code, 0, stderr);
  const printed = objectsOf(stdout);
  const workloads = printed.filter(({ apiVersion }) => apiVersion === 'apps/v1');
  assert.deepEqual(
    workloads.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ['Deployment controller', 'DaemonSet node'],
  );
  const [controller, node] = workloads;
  assert.deepEqual(controller?.metadata, CONTROLLER.metadata);
  assert.equal(controller?.spec.replicas, 2);
  const [provisioner, attacher, driver] = controller?.spec.template.spec.containers ?? [];
  assert.deepEqual(provisioner.command, ['berth', 'provisioner']);
  assert.equal(provisioner.image, 'berth:test');
  assert.deepEqual(provisioner.args, [
    '--csi-address=$(ADDRESS)',
    '--leader-election',
    '--worker-threads=7',
    '--timeout',
    '30s',
    '-v=5',
  ]);
  assert.deepEqual(provisioner.resources, RESOURCES);
  assert.deepEqual(provisioner.securityContext, { runAsUser: 0 });
  assert.deepEqual(attacher.command, ['berth', 'attacher']);
  assert.equal(driver.image, 'vendor/driver:1');
  assert.deepEqual(
    node?.spec.template.spec.containers.map(({ command }: { command: string[] }) => command[1]),
    ['node-registrar', 'livenessprobe'],
  );

  assert.match(stderr, /container csi-provisioner: --new-flag=1 is left out: unknown flag --new-flag/);
  assert.match(stderr, /container csi-attacher: has no --leader-election/);
  assert.doesNotMatch(stderr, /container csi-provisioner: has no --leader-election/);
  assert.match(stderr, /container driver: vendor\/driver:1 is no official sidecar and stays/);

  // What the account has is not asked for again.
  const rules = printed
    .filter(({ kind }) => kind === 'ClusterRole')
    .flatMap((role) => role.rules as { resources: string[]; verbs: string[] }[]);
  const verbsOf = (resource: string) =>
    new Set(rules.filter(({ resources }) => resources.includes(resource)).flatMap(({ verbs }) => verbs));
  assert.deepEqual(verbsOf('persistentvolumes'), new Set());
  assert.deepEqual(verbsOf('persistentvolumeclaims'), new Set(['patch']));
  assert(verbsOf('volumeattachments').has('patch'));
  assert.doesNotMatch(stdout, /secrets/);

  // Applied, nothing official is left, and the account lacks nothing.
  await apply(stdout);
  const again = await replace();
  assert.equal(again.code, 1);
  assert.match(again.stderr, /namespace storage has no workload with an official sidecar/);
  await apply(stringify(CONTROLLER));
  assert.match((await replace()).stderr, /ServiceAccount driver: has all the rights that Berth needs/);
});

test('[REAL-4] a native sidecar is replaced, an init container that ends is not', async (t) => {
  const { replace } = await cluster(t, [
    {
      ...CONTROLLER,
      spec: {
        ...CONTROLLER.spec,
        template: pod([{ name: 'driver', image: 'vendor/driver:1' }], {
          initContainers: [
            sidecar('csi-provisioner', ['--leader-election'], { restartPolicy: 'Always' }),
            { ...sidecar('csi-attacher', ['--version']), name: 'once' },
          ],
        }),
      },
    },
  ]);
  const { code, stdout, stderr } = await replace();
  assert.equal(code, 0, stderr);
  const [workload] = objectsOf(stdout).filter(({ apiVersion }) => apiVersion === 'apps/v1');
  const [provisioner, once] = workload?.spec.template.spec.initContainers ?? [];
  assert.deepEqual(provisioner.command, ['berth', 'provisioner']);
  assert.equal(provisioner.restartPolicy, 'Always');
  assert.equal(provisioner.image, 'berth:test');
  assert.equal(once.image, `${OFFICIAL}/csi-attacher:v6.1.0`);
  assert.equal(workload?.spec.template.spec.containers[0].image, 'vendor/driver:1');
  assert.match(stderr, /container csi-provisioner: is berth provisioner/);
  assert.match(stderr, /container once: \S+ is an init container that ends .* and stays/);
  assert.doesNotMatch(stdout, /external-attacher-runner/, 'rights of a sidecar that is not there');
});

test('a namespace without official sidecars is said to be one', async (t) => {
  const { replace } = await cluster(t, [WEB]);
  const { code, stdout, stderr } = await replace();
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /--namespace chooses another/);
});

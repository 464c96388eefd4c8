// What `berth manifests` prints: every shape of it is taken by API servers as it stands, and holds what was asked for.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { Container, Volume } from 'kubernetes-types/core/v1.js';
import { namespaces, pods, serviceAccounts } from '../../src/api/kinds.ts';
import type { Resource } from '../../src/api/object.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { resourceOfManifest } from '../../src/cli/objects/find-resource.ts';
import { defineDriver } from '../../src/driver/driver.ts';
import { serveDriver } from '../../src/driver/serve-driver.ts';
import { GROUPS_GATE } from '../../src/manifests/plan.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { Discovery, KubeClient } from '../../src/runtime/kube/kube.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking, missingPeers } from '../capabilities.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';
import { type Printed, printManifests, runManifests } from './print-manifests.ts';

const usual = ['--driver-name=some.csi.test', '--image=driver:1'];

const BY_NAME =
  '--sidecars=provisioner,snapshotter,health-monitor,snapshot-metadata,node-registrar,livenessprobe';

const shapes: [string, string[]][] = [
  ['as it comes', []],
  ['three replicas, separate containers', ['--replicas=3', '--separate']],
  ['a StatefulSet', ['--controller=statefulset', '--storage-capacity']],
  ['all in one DaemonSet', ['--controller=daemonset', '--storage-capacity']],
  ['a DaemonSet for local storage', ['--controller=daemonset', '--node-deployment', '--separate']],
  ['no controller', ['--controller=none', '--lifecycle-modes=Ephemeral', '--pod-info']],
  ['one sidecar', ['--sidecars=attacher']],
  ['nothing beside the driver', ['--sidecars=cluster-registrar']],
  [
    'everything else',
    [
      '--namespace=storage',
      '--create-namespace',
      '--secrets=vault',
      '--storage-capacity',
      '--requires-republish',
      '--token-audiences=one,two',
      '--selinux-mount',
      '--fs-group-policy=File',
      '--host-network',
      '--host-path=/dev,/etc/iscsi',
      '--controller-node-selector=role=storage',
      '--arg=driver=--name=a,b',
      '--arg=provisioner=--strict-topology',
      '--arg=livenessprobe=--probe-timeout=5s',
    ],
  ],
  [
    'two namespaces, not root where it need not be',
    [
      ...['--namespace=storage', '--node-namespace=vault', '--create-namespace', '--controller-user=1000'],
      ...['--replicas=2', '--driver-ports=8443', '--log-level=5'],
    ],
  ],
  ['directories of the host in the controller', ['--controller-host-path=/srv/a,/srv/b', '--replicas=2']],
  ['once for all drivers', ['--part=snapshot-controller', '--replicas=2', '--namespace=storage']],
  ['once, with group snapshots', ['--part=snapshot-controller', '--group-snapshots']],
  ['once, for populators', ['--part=data-source-validator', '--replicas=2']],
  ['once, for snapshot metadata', ['--part=snapshot-metadata']],
  ['all that is asked for by name', [BY_NAME, '--group-snapshots', '--secrets=everywhere']],
  ['all of them, separately', [BY_NAME, '--group-snapshots', '--separate', '--replicas=2']],
  ['a name at its longest', [`--driver-name=${'a-driver-with-a-name.'.repeat(2)}${'x'.repeat(21)}`]],
];

async function accept(kube: KubeClient & Discovery): Promise<void> {
  const { resources } = await kube.servedResources();
  for (const name of ['vault', 'storage']) await kube.create(namespaces, { metadata: { name } });
  for (const [shape, flags] of shapes) {
    for (const draft of await printManifests([...usual, ...flags])) {
      const { apiVersion = '', kind } = draft;
      const resource = resourceOfManifest(resources, { apiVersion, kind });
      assert(resource, `${apiVersion} ${kind} is not served`);
      if (kind === 'Namespace') continue;
      const made = await kube
        .create(resource, draft, { fieldValidation: 'Strict', dryRun: true })
        .catch((error: unknown) => assert.fail(`${shape}: ${kind} ${draft.metadata.name}: ${error}`));
      assert.equal(made.metadata.name, draft.metadata.name);
    }
  }
}

/** A client of a real kube-apiserver, until the test ends. */
async function realKube(t: TestContext) {
  const server = await startKubeApiserver(await temporary(t));
  t.after(() => server.stop());
  const config = await loadKubeConfig({ path: server.kubeconfig, env: {} });
  const kube = createHttpKubeClient({ clock: realClock, random: realRandom, log: silentLog, config });
  t.after(() => kube.close());
  return kube;
}

test('[DEP-1] [DEP-2] every shape is taken by the embedded API server as it stands', async (t) => {
  const server = await testServer(t);
  await accept(server.client(server.adminUser));
});

test('[DEP-1] [DEP-2] every shape is taken by a real kube-apiserver as it stands', {
  skip: missingPeers('etcd', 'kube-apiserver'),
}, async (t) => {
  const kube = await realKube(t);
  await accept(kube);
});

test('[DEP-1] [REAL-3] the pods meet the Pod Security level of their namespaces, and none stricter', {
  skip: missingPeers('etcd', 'kube-apiserver'),
}, async (t) => {
  const kube = await realKube(t);
  const split = ['--namespace=control', '--node-namespace=machines', '--create-namespace'];
  for (const flags of [
    [...usual, '--namespace=together', '--create-namespace'],
    [...usual, ...split],
    [...usual, ...split, '--controller-user=1000'],
    [...usual, ...split, '--controller-user=1000', '--controller-host-path=/srv'],
    ['--part=snapshot-controller', '--namespace=once', '--create-namespace'],
  ]) {
    const manifests = await printManifests(flags);
    for (const { apiVersion, kind, metadata } of manifests) {
      const resource = { Namespace: namespaces, ServiceAccount: serviceAccounts }[kind] as
        | Resource
        | undefined;
      const { name = '', namespace } = metadata;
      const at = { name, ...(namespace && { namespace }) };
      const options = { type: 'apply', fieldManager: 'test', force: true } as const;
      if (resource) await kube.patch(resource, at, { apiVersion, kind, metadata }, options);
    }
    for (const workload of manifests.filter(({ spec: given }) => given?.template)) {
      const { kind, metadata, spec } = workload;
      const namespace = metadata.namespace ?? '';
      const pod = { ...spec.template, metadata: { ...spec.template.metadata, name: 'p', namespace } };
      const refusal = () =>
        kube.create(pods, pod, { dryRun: true }).then(
          () => '',
          (error: unknown) => String(error),
        );
      /** Admission reads namespaces from a cache, which may lag behind a write. */
      const refusalOnce = async (isWanted: (text: string) => boolean): Promise<string> => {
        for (let tries = 0; tries < 100; tries++) {
          const text = await refusal();
          if (isWanted(text)) return text;
          await realClock.sleep(50);
        }
        return refusal();
      };
      assert.equal(await refusalOnce((text) => text === ''), '', `${kind} of ${flags.join(' ')}`);
      const labels = manifests.find(({ metadata: { name } }) => name === namespace)?.metadata.labels;
      const level = labels?.[ENFORCE] ?? '';
      const setLevel = (value: string) =>
        kube.patch(
          namespaces,
          { name: namespace },
          { metadata: { labels: { [ENFORCE]: value } } },
          { type: 'merge' },
        );
      const stricter = { privileged: 'baseline', baseline: 'restricted' }[level];
      if (stricter === undefined) continue;
      // Only the node pods of a shared namespace need its level.
      const isShared = manifests.some(
        (each) => each !== workload && each.metadata.namespace === namespace && each.spec?.template,
      );
      if (isShared && kind !== 'DaemonSet') continue;
      await setLevel(stricter);
      const violation = /violates PodSecurity/;
      const refused = await refusalOnce((text) => violation.test(text));
      assert.match(refused, violation, `${kind} of ${flags.join(' ')}`);
      await setLevel(level);
    }
  }
});

const ENFORCE = 'pod-security.kubernetes.io/enforce';

test('[DEP-1] kubectl applies what is printed, and deletes it again', {
  skip: lacking('kubectl'),
}, async (t) => {
  const directory = await temporary(t);
  const kubeconfig = join(directory, 'kubeconfig');
  await testServer(t, { listen: true, kubeconfigPath: kubeconfig });
  const { stdout: input } = await runManifests([...usual, '--namespace=storage', '--create-namespace']);
  for (const verb of [
    ['apply', '--validate=strict'],
    // No controller is here that would end the namespace.
    ['delete', '--wait=false'],
  ]) {
    const kubectl = spawn('kubectl', [`--kubeconfig=${kubeconfig}`, ...verb, '-f', '-']);
    kubectl.stdin.end(input);
    const said = text(kubectl.stderr);
    const [code] = await once(kubectl, 'close');
    assert.equal(code, 0, await said);
  }
});

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'dm-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const named = (manifests: readonly Printed[], kind: string): string[] =>
  manifests.filter((each) => each.kind === kind).map((each) => each.metadata.name ?? '');
const one = (manifests: readonly Printed[], kind: string): Printed => {
  const found = manifests.filter((each) => each.kind === kind);
  assert.equal(found.length, 1, kind);
  return found[0] as Printed;
};
const containersOf = (owner: Printed): Container[] => owner.spec.template.spec.containers;

test('[DEP-1] the DaemonSet has the three host paths, mounts that reach the host, and the registrar', async () => {
  const set = one(await printManifests([...usual, '--kubelet-dir=/k/']), 'DaemonSet');
  const volumes: Volume[] = set.spec.template.spec.volumes;
  assert.deepEqual(
    volumes.map(({ hostPath }) => [hostPath?.path, hostPath?.type]),
    [
      ['/k/plugins/some.csi.test', 'DirectoryOrCreate'],
      ['/k', 'Directory'],
      ['/k/plugins_registry', 'DirectoryOrCreate'],
    ],
  );
  const [driver, registrar, ...rest] = containersOf(set);
  assert.deepEqual(driver?.volumeMounts?.[1], {
    name: volumes[1]?.name,
    mountPath: '/k',
    mountPropagation: 'Bidirectional',
  });
  assert.equal(driver?.securityContext?.privileged, true);
  assert(registrar?.args?.includes('--kubelet-registration-path=/k/plugins/some.csi.test/csi.sock'));
  // Where the kubelet looks for drivers is the registrar's alone.
  for (const container of [driver, ...rest]) {
    assert(!container?.volumeMounts?.some(({ name }) => name === volumes[2]?.name), container?.name);
  }
});

test('[DEP-1] directories of the host are in the driver of the pod that they are for, and nowhere else', async () => {
  const flags = ['--host-path=/dev', '--controller-host-path=/srv/a,/srv/b'];
  for (const [controller, kind] of [
    ['deployment', 'Deployment'],
    ['statefulset', 'StatefulSet'],
  ] as const) {
    const manifests = await printManifests([...usual, ...flags, `--controller=${controller}`]);
    const pathsIn = (owner: Printed): Record<string, string[]> => {
      const added = new Map(
        (owner.spec.template.spec.volumes as Volume[])
          .filter(({ name }) => name.startsWith('host-path-'))
          .map(({ name, hostPath }) => [name, hostPath?.path ?? '']),
      );
      return Object.fromEntries(
        containersOf(owner).map(({ name, volumeMounts = [] }) => [
          name,
          volumeMounts.flatMap((mount) => {
            const path = added.get(mount.name);
            if (path !== undefined) assert.equal(mount.mountPath, path);
            return path ?? [];
          }),
        ]),
      );
    };
    const none = { 'liveness-probe': [] };
    assert.deepEqual(pathsIn(one(manifests, kind)), { driver: ['/srv/a', '/srv/b'], sidecars: [], ...none });
    assert.deepEqual(pathsIn(one(manifests, 'DaemonSet')), {
      driver: ['/dev'],
      'node-registrar': [],
      ...none,
    });
  }
});

test('a controller that would find another directory on each node is warned about', async () => {
  const flags = [...usual, '--arg=driver=--x', '--controller-host-path=/srv'];
  const { code, stderr } = await runManifests(flags);
  assert.equal(code, 0);
  assert.match(stderr, /the controller may run on any node, and finds that node's \/srv there/);
  const pinned = await runManifests([...flags, '--controller-node-selector=kubernetes.io/hostname=a']);
  assert.equal(pinned.stderr, '');
});

test('[DEP-1] a Deployment elects a leader, a StatefulSet has one replica and none', async () => {
  for (const [flags, kind, replicas, elects] of [
    [['--replicas=3'], 'Deployment', 3, true],
    [[], 'Deployment', 1, true],
    [['--controller=statefulset'], 'StatefulSet', 1, false],
  ] as const) {
    for (const separate of [[], ['--separate']]) {
      const owner = one(await printManifests([...usual, ...flags, ...separate]), kind);
      assert.equal(owner.spec.replicas, replicas);
      const sidecars = containersOf(owner).filter(
        ({ name }) => name !== 'driver' && name !== 'liveness-probe',
      );
      assert(sidecars.length > 0);
      for (const { args } of sidecars) assert.equal(args?.includes('--leader-election'), elects);
    }
  }
});

test('[DEP-1] a DaemonSet has driver and sidecars in one pod, which elect a leader unless each acts for its own node', async () => {
  for (const separate of [[], ['--separate']]) {
    for (const [flags, sidecars] of [
      [[], ['provisioner', 'attacher', 'resizer', 'snapshotter']],
      [['--node-deployment'], ['provisioner', 'snapshotter']],
    ] as const) {
      const manifests = await printManifests([...usual, '--controller=daemonset', ...flags, ...separate]);
      assert.deepEqual([named(manifests, 'Deployment'), named(manifests, 'StatefulSet')], [[], []]);
      const set = one(manifests, 'DaemonSet');
      const account = set.spec.template.spec.serviceAccountName;
      const bindings = manifests.filter(({ kind }) => kind === 'ClusterRoleBinding');
      assert.deepEqual(
        new Set(bindings.flatMap(({ subjects }) => subjects.map(({ name }: { name: string }) => name))),
        new Set([account]),
      );
      const [, , ...running] = containersOf(set).filter(({ name }) => name !== 'liveness-probe');
      assert.deepEqual(
        running.map(({ name }) => name),
        separate.length > 0 ? sidecars : ['sidecars'],
      );
      for (const { name, args = [], env } of running) {
        assert.equal(args.includes('--leader-election'), flags.length === 0);
        const perNode = args.filter((argument) => argument.endsWith('node-deployment'));
        const prefix =
          name === 'sidecars' ? sidecars.map((each) => `--${each}-node-deployment`) : ['--node-deployment'];
        assert.deepEqual(perNode, flags.length === 0 ? [] : prefix);
        assert.equal(
          env?.some((each) => each.name === 'NODE_NAME'),
          flags.length > 0,
        );
      }
    }
  }
});

test('[DEP-1] replicas are drained one at a time, and pods let in only what their containers serve', async () => {
  const budgets = (flags: string[]) => printManifests(flags).then((all) => named(all, 'PodDisruptionBudget'));
  assert.deepEqual(await budgets(usual), []);
  assert.deepEqual(await budgets([...usual, '--replicas=2']), ['some-csi-test-controller']);
  assert.deepEqual(await budgets(['--part=snapshot-controller', '--replicas=2']), ['snapshot-controller']);

  const manifests = await printManifests([...usual, '--replicas=2', '--driver-ports=8443', '--separate']);
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  assert.equal(policies.length, 2);
  for (const { metadata, spec } of policies) {
    const owner = manifests.find(
      ({ kind, metadata: { name } }) => /Set|Deployment/.test(kind) && name === metadata.name,
    );
    assert(owner);
    assert.deepEqual(spec.podSelector.matchLabels, owner.spec.template.metadata.labels);
    const served = containersOf(owner).flatMap(({ ports = [] }) =>
      ports.map(({ containerPort }) => containerPort),
    );
    assert(served.length > 0);
    assert.deepEqual(
      spec.ingress[0].ports.map(({ port }: { port: number }) => port),
      [...served, 8443],
    );
  }
  const budget = one(manifests, 'PodDisruptionBudget');
  assert.deepEqual(budget.spec.selector, one(manifests, 'Deployment').spec.selector);
  // Policies do not apply to pods in the host's network.
  const onHost = await printManifests([...usual, '--host-network']);
  assert.deepEqual(named(onHost, 'NetworkPolicy'), ['some-csi-test-controller']);
  assert.deepEqual(named(await printManifests([...usual, '--network-policy=false']), 'NetworkPolicy'), []);
});

test('[DEP-1] every container has a probe or answers one, and requests what was measured', async () => {
  for (const flags of [[], ['--separate'], ['--controller=daemonset']]) {
    const manifests = await printManifests([...usual, ...flags]);
    for (const container of manifests.filter(({ spec }) => spec?.template).flatMap(containersOf)) {
      const probed = container.livenessProbe !== undefined && container.readinessProbe !== undefined;
      assert.equal(probed, container.name !== 'liveness-probe', container.name);
      if (container.name === 'driver') continue;
      assert.match(String(container.resources?.requests?.memory), /^[1-9]\d*Mi$/, container.name);
    }
  }
});

test('a driver that gets no arguments is warned about', async () => {
  const { stderr } = await runManifests(usual);
  assert.match(stderr, /the driver gets no arguments, only CSI_ENDPOINT and NODE_ID/);
  assert.equal((await runManifests([...usual, '--arg=node-driver=--x'])).stderr, '');
});

test('[DEP-1] every sidecar is optional, and only those that run get rights', async () => {
  const roles = async (...flags: string[]) => {
    const manifests = await printManifests([...usual, ...flags]);
    return { manifests, roles: named(manifests, 'ClusterRole') };
  };
  const attaching = await roles('--sidecars=attacher');
  assert.deepEqual(attaching.roles, ['external-attacher-runner-some-csi-test']);
  assert.deepEqual(
    containersOf(one(attaching.manifests, 'Deployment')).map(({ name }) => name),
    ['driver', 'sidecars'],
  );
  assert.deepEqual(
    containersOf(one(attaching.manifests, 'DaemonSet')).map(({ name }) => name),
    ['driver'],
  );
  assert.equal(one(attaching.manifests, 'CSIDriver').spec.attachRequired, true);
  const making = await roles('--sidecars=provisioner,node-registrar,livenessprobe');
  assert.deepEqual(making.roles, ['external-provisioner-runner-some-csi-test']);
  assert.equal(one(making.manifests, 'CSIDriver').spec.attachRequired, false);
  const audited = await roles('--sidecars=attacher', '--arg=sidecars=--audit-interval=1h');
  assert.deepEqual(audited.roles, [
    'external-attacher-runner-some-csi-test',
    'berth-audit-runner-some-csi-test',
  ]);
  // The registrar makes the object itself.
  const registering = await roles('--sidecars=provisioner,cluster-registrar');
  assert.deepEqual(named(registering.manifests, 'CSIDriver'), []);
  const none = await roles('--controller=none');
  assert.deepEqual([none.roles, named(none.manifests, 'Deployment')], [[], []]);
  assert.deepEqual(named(none.manifests, 'ServiceAccount'), ['some-csi-test-node']);
});

test('[DEP-1] [SEC-4] Secrets may be read in one namespace, everywhere, or nowhere', async () => {
  const rights = async (...flags: string[]) =>
    (await printManifests([...usual, ...flags]))
      .filter(({ rules }) => JSON.stringify(rules ?? []).includes('"secrets"'))
      .map(({ kind, metadata, rules }) => [
        kind,
        metadata.namespace,
        rules.flatMap(({ verbs }: { verbs: string[] }) => verbs),
      ]);
  assert.deepEqual(await rights(), []);
  assert.deepEqual(await rights('--secrets=vault'), [['Role', 'vault', ['get']]]);
  assert.deepEqual(await rights('--secrets=everywhere'), [['ClusterRole', undefined, ['get']]]);
});

test('[DEP-1] a running driver says its name and what it needs', async (t) => {
  const directory = await temporary(t);
  const nothing = () => ({});
  const node = {
    nodePublishVolume: nothing,
    nodeUnpublishVolume: nothing,
    nodeGetInfo: () => ({ nodeId: 'n' }),
  };
  const making = {
    validateVolumeCapabilities: nothing,
    createVolume: nothing,
    deleteVolume: nothing,
  };
  const attaching = { ...making, controllerPublishVolume: nothing, controllerUnpublishVolume: nothing };
  for (const [name, controller, sidecars, attachRequired] of [
    ['made.test', making, 'provisioner', false],
    ['attached.test', attaching, 'provisioner,attacher', true],
  ] as const) {
    const endpoint = join(directory, `${name}.sock`);
    const driver = defineDriver({ name, version: '1', node, controller });
    const server = await serveDriver(driver, { endpoint, clock: realClock, log: silentLog });
    try {
      const manifests = await printManifests([`--from=unix://${endpoint}`, '--image=driver:1']);
      const object = one(manifests, 'CSIDriver');
      assert.equal(object.metadata.name, name);
      assert.equal(object.spec.attachRequired, attachRequired);
      const [, together] = containersOf(one(manifests, 'Deployment'));
      assert(together?.args?.includes(`--controllers=${sidecars}`), together?.args?.join(' '));
      const { stderr } = await runManifests([`--from=${endpoint}`, '--driver-name=other', '--image=i']);
      assert.match(
        stderr,
        new RegExp(`--driver-name is other, but the driver at --from reports the name ${name}`),
      );
    } finally {
      await server.stop(0);
    }
  }
});

test('what cannot be deployed is refused in one sentence', async () => {
  const table: [string[], RegExp][] = [
    [['--image=i'], /give --driver-name, or --from/],
    [['--driver-name=a'], /--image must be given/],
    [['--driver-name=-a', '--image=i'], /"-a" is not a valid driver name: /],
    [[...usual, '--controller=statefulset', '--replicas=2'], /has one replica, not 2/],
    [[...usual, '--controller=daemonset', '--replicas=2'], /has one pod on each node/],
    [[...usual, '--node-deployment'], /--node-deployment needs --controller=daemonset/],
    [
      [...usual, '--controller=daemonset', '--node-deployment', '--sidecars=provisioner,resizer'],
      /the resizer cannot act for one node only; .* may have provisioner, snapshotter/,
    ],
    [[...usual, '--sidecars=attacher', '--storage-capacity'], /--storage-capacity needs the provisioner/],
    [[...usual, '--sidecars=attacher', '--group-snapshots'], /--group-snapshots needs the snapshotter/],
    [[...usual, '--sidecars=nobody'], /there is no sidecar "nobody", only /],
    [
      [...usual, '--controller=daemonset', '--node-namespace=n'],
      /one pod for everything: leave out --node-namespace=n/,
    ],
    [[...usual, '--controller=daemonset', '--controller-user=1'], /--controller-user=1 is the user of the/],
    [[...usual, '--driver-ports=99999'], /--driver-ports has "99999", which is not a port/],
    [
      [...usual, `--kubelet-dir=/${'long/'.repeat(16)}`],
      /the socket \S+\/plugins\/some\.csi\.test\/csi\.sock would have 111 bytes, and Linux allows 107/,
    ],
    [
      [...usual, '--controller=daemonset', '--controller-host-path=/srv'],
      /--controller-host-path=\/srv is for the controller's own pod, which --controller=daemonset has not/,
    ],
    [[...usual, '--controller-host-path=srv'], /"srv" is not an absolute path/],
    [[...usual, '--kubelet-dir=k'], /"k" is not an absolute path/],
    [[...usual, '--lifecycle-modes=Eternal'], /neither Persistent nor Ephemeral/],
    [[...usual, '--arg=nobody=--x'], /is not of the form CONTAINER=ARGUMENT/],
    [
      [...usual, '--arg=provisioner=--no-such-flag'],
      /container sidecars of the Deployment would reject .*no-such-flag/,
    ],
    [[...usual, '--separate', '--arg=attacher=--timeout=soon'], /container attacher .*duration/],
    [['--from=/nowhere/csi.sock', '--image=i'], /there is nothing at \/nowhere\/csi.sock/],
  ];
  for (const [argv, expected] of table) {
    const { code, stdout, stderr } = await runManifests(argv);
    assert.notEqual(code, 0, argv.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, expected);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  }
});

test('[DEP-1] [SIDE-2] what snapshots need once: definitions, the controller and its rights, and no driver', async () => {
  const flags = ['--part=snapshot-controller', '--arg=snapshot-controller=--worker-threads=3'];
  const manifests = await printManifests(flags);
  assert.deepEqual(named(manifests, 'CustomResourceDefinition').toSorted(), [
    'volumesnapshotclasses.snapshot.storage.k8s.io',
    'volumesnapshotcontents.snapshot.storage.k8s.io',
    'volumesnapshots.snapshot.storage.k8s.io',
  ]);
  assert.deepEqual(named(manifests, 'ClusterRole'), ['snapshot-controller-runner']);
  const { spec } = one(manifests, 'Deployment');
  assert.equal(spec.template.spec.serviceAccountName, one(manifests, 'ServiceAccount').metadata.name);
  const [container] = spec.template.spec.containers as Container[];
  assert.deepEqual(container?.command, ['berth', 'snapshot-controller']);
  assert.deepEqual(container?.args, ['--http-endpoint=:8080', '--leader-election', '--worker-threads=3']);
  // Not among the parts of a driver, which may be installed many times.
  const driver = await printManifests(usual);
  assert.deepEqual(named(driver, 'CustomResourceDefinition'), []);
  assert.ok(JSON.stringify(one(driver, 'Deployment')).includes('snapshotter'));
  const together = await printManifests(['--part=snapshot-controller', '--group-snapshots']);
  assert.equal(named(together, 'CustomResourceDefinition').length, 6);
  assert(containersOf(one(together, 'Deployment'))[0]?.args?.includes(GROUPS_GATE));
  const refused = await runManifests(['--part=snapshot-controller', '--arg=snapshot-controller=--threads=3']);
  assert.equal(refused.code, 2);
});

test('[DEP-1] [POP-1] what populators need once: the definition, and the validator with its rights', async () => {
  const manifests = await printManifests(['--part=data-source-validator']);
  assert.deepEqual(named(manifests, 'CustomResourceDefinition'), [
    'volumepopulators.populator.storage.k8s.io',
  ]);
  assert.equal(named(manifests, 'ClusterRole').length, 1);
  const { spec } = one(manifests, 'Deployment');
  assert.equal(spec.template.spec.serviceAccountName, one(manifests, 'ServiceAccount').metadata.name);
  const [container] = spec.template.spec.containers as Container[];
  assert.deepEqual(container?.command, ['berth', 'data-source-validator']);
  assert.deepEqual(container?.args, ['--http-endpoint=:8080', '--leader-election']);
});

test('[DEP-1] [CBT-1] snapshot metadata is served behind a Service, with the certificate of a Secret', async () => {
  const definition = await printManifests(['--part=snapshot-metadata']);
  assert.deepEqual(
    definition.map(({ metadata }) => metadata.name),
    ['snapshotmetadataservices.cbt.storage.k8s.io'],
  );
  for (const [kind, ...shape] of [
    ['Deployment'],
    ['Deployment', '--separate'],
    ['DaemonSet', '--controller=daemonset'],
  ]) {
    const manifests = await printManifests([...usual, BY_NAME, '--namespace=storage', ...shape]);
    const service = one(manifests, 'Service');
    const deployment = one(manifests, kind ?? '');
    const { labels } = deployment.spec.template.metadata;
    assert.deepEqual(service.spec.selector, labels);
    const volumes: Volume[] = deployment.spec.template.spec.volumes;
    const secret = volumes.find((volume) => volume.secret);
    assert.equal(secret?.secret?.secretName, 'some-csi-test-snapshot-metadata-tls');
    const container = containersOf(deployment).find(({ volumeMounts }) =>
      volumeMounts?.some(({ name }) => name === secret?.name),
    );
    const prefix = shape.includes('--separate') ? '' : 'snapshot-metadata-';
    const address = 'some-csi-test-snapshot-metadata.storage.svc:50051';
    for (const argument of [`service-address=${address}`, 'tls-cert=/tls/tls.crt', 'tls-ca=/tls/ca.crt']) {
      assert(container?.args?.includes(`--${prefix}${argument}`), container?.args?.join(' '));
    }
    assert(container?.ports?.some(({ name }) => name === service.spec.ports[0].targetPort));
    assert.deepEqual(named(manifests, 'ClusterRole').toSorted(), [
      'external-health-monitor-controller-runner-some-csi-test',
      'external-provisioner-runner-some-csi-test',
      'external-snapshot-metadata-runner-some-csi-test',
      'external-snapshotter-runner-some-csi-test',
    ]);
  }
  const other = await printManifests([...usual, BY_NAME, '--snapshot-metadata-tls-secret=mine']);
  assert(JSON.stringify(one(other, 'Deployment')).includes('"secretName":"mine"'));
  assert.deepEqual(named(await printManifests(usual), 'Service'), []);
});

// The Helm chart and the Kustomize base give the objects that `berth manifests` prints: with their default values, and with
// others as with the flags that say the same.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { programPath } from '../capabilities.ts';
import { run, temporaryDirectory } from '../e2e/up-process.ts';
import { apiServers } from './api-servers.ts';
import { type Printed, printManifests, runManifests } from './print-manifests.ts';

const usual = [
  '--driver-name=some.csi.test',
  '--image=driver:1',
  '--arg=driver=--endpoint=$(CSI_ENDPOINT)',
  '--arg=node-driver=--nodeid=$(NODE_ID)',
];
const noHelm = programPath('helm') === undefined && 'this machine has no helm: charts are not rendered';
const noKubectl = programPath('kubectl') === undefined && 'this machine has no kubectl: bases are not built';

const shapes: [string, string[]][] = [
  ['as it comes', []],
  ['separate containers, log lines, three replicas', ['--separate', '--log-level=5', '--replicas=3']],
  ['a StatefulSet', ['--controller=statefulset', '--storage-capacity', '--secrets=everywhere']],
  ['a DaemonSet', ['--controller=daemonset', '--node-deployment', '--arg=provisioner=--strict-topology']],
  ['no controller', ['--controller=none', '--lifecycle-modes=Ephemeral', '--sidecars=node-registrar']],
  [
    'two namespaces',
    ['--namespace=a', '--node-namespace=b', '--controller-user=7', '--secrets=vault', '--group-snapshots'],
  ],
  ['directories of the host', ['--host-path=/dev', '--controller-host-path=/srv/a,/srv/b']],
  ['once for all drivers', ['--part=snapshot-controller', '--replicas=2', '--namespace=123']],
  ['once, a definition only', ['--part=snapshot-metadata']],
];

/** The same objects in any order. */
function assertSame(actual: readonly Printed[], expected: readonly Printed[]): void {
  const sorted = (objects: readonly Printed[]) =>
    new Map(
      objects
        .map(
          (object) =>
            [`${object.kind} ${object.metadata.namespace}/${object.metadata.name}`, object] as const,
        )
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  assert.deepEqual(sorted(actual), sorted(expected));
}

const objectsIn = (text: string): Printed[] =>
  (parseAllDocuments(text) as { toJS(): Printed | null }[])
    .map((document) => document.toJS())
    .filter((object) => object !== null);

async function write(t: TestContext, format: string, flags: readonly string[]): Promise<string> {
  const directory = await temporaryDirectory(t);
  const { code, stderr } = await runManifests([...flags, `--format=${format}`, `--output=${directory}`]);
  assert.equal(code, 0, stderr);
  return directory;
}

async function render(
  chart: string,
  flags: readonly string[],
  values: readonly string[] = [],
): Promise<Printed[]> {
  const namespace = flags.find((flag) => flag.startsWith('--namespace='))?.split('=')[1] ?? 'kube-system';
  const { code, stdout, stderr } = await run('helm', [
    ...['template', 'name', chart, '--include-crds', '--namespace', namespace],
    ...values.flatMap((value) => ['--set', value]),
  ]);
  assert.equal(code, 0, stderr);
  return objectsIn(stdout);
}

for (const [shape, flags] of shapes) {
  test(`[DEP-1] the Helm chart has the printed objects: ${shape}`, { skip: noHelm }, async (t) => {
    const chart = await write(t, 'helm', [...usual, ...flags]);
    assertSame(await render(chart, flags), await printManifests([...usual, ...flags]));
    const { code, stdout } = await run('helm', ['lint', '--strict', chart]);
    assert.equal(code, 0, stdout);
  });

  test(`[DEP-1] the Kustomize base has the printed objects: ${shape}`, { skip: noKubectl }, async (t) => {
    const base = await write(t, 'kustomize', [...usual, ...flags]);
    const { code, stdout, stderr } = await run('kubectl', ['kustomize', base]);
    assert.equal(code, 0, stderr);
    assertSame(objectsIn(stdout), await printManifests([...usual, ...flags]));
  });
}

const ALL = ['provisioner', 'attacher', 'resizer', 'snapshotter', 'node-registrar', 'livenessprobe'];
const without = (...names: string[]) => `--sidecars=${ALL.filter((name) => !names.includes(name)).join(',')}`;
const changes: [values: string[], flags: string[]][] = [
  [
    ['image=registry:5000/d:2', 'berthImage=b:3'],
    ['--image=registry:5000/d:2', '--berth-image=b:3'],
  ],
  [['replicas=3'], ['--replicas=3']],
  [['logLevel=5'], ['--log-level=5']],
  [
    ['driver.args={--x,--y}', 'driver.nodeArgs={--z}'],
    ['--arg=driver=--x', '--arg=driver=--y', '--arg=node-driver=--z'],
  ],
  [['sidecars.attacher=false'], [without('attacher')]],
  [
    ['sidecars.livenessprobe=false', 'sidecars.nodeRegistrar=false'],
    [without('livenessprobe', 'node-registrar')],
  ],
  [
    ['sidecars.provisioner=false', 'sidecars.resizer=false', 'sidecars.snapshotter=false'],
    [without('provisioner', 'resizer', 'snapshotter')],
  ],
  [
    ['sidecars.clusterRegistrar=true', 'sidecars.attacher=false'],
    [`${without('attacher')},cluster-registrar`],
  ],
  [
    ['sidecars.snapshotMetadata=true', 'sidecars.healthMonitor=true', 'replicas=2'],
    [`${without()},snapshot-metadata,health-monitor`, '--replicas=2'],
  ],
];

for (const separate of [[], ['--separate']]) {
  test(`[DEP-1] values change the chart as flags change the manifests${separate.join(' ')}`, {
    skip: noHelm,
  }, async (t) => {
    const chart = await write(t, 'helm', [...usual, ...separate]);
    for (const [values, flags] of changes) {
      const given = flags.some((flag) => flag.startsWith('--arg')) ? usual.slice(0, 2) : usual;
      assertSame(await render(chart, [], values), await printManifests([...given, ...separate, ...flags]));
    }
  });
}

test('[DEP-1] what a container requests is a value, and a value that no template reads is refused', {
  skip: noHelm,
}, async (t) => {
  const chart = await write(t, 'helm', usual);
  const rendered = await render(
    chart,
    [],
    ['resources.driver.requests.memory=1Gi', 'resources.sidecars.requests.memory=99Mi'],
  );
  const deployment = rendered.find(({ kind }) => kind === 'Deployment');
  const requested = deployment?.spec.template.spec.containers.map(
    ({ resources }: { resources: { requests: { memory: string } } }) => resources.requests.memory,
  );
  assert.deepEqual(requested.slice(0, 2), ['1Gi', '99Mi']);
  for (const [value, expected] of [
    ['sidecars.atacher=false', /additional properties 'atacher' not allowed|atacher is not allowed/],
    ['replicas=many', /replicas/],
  ] as const) {
    const { code, stderr } = await run('helm', ['template', 'name', chart, '--set', value]);
    assert.notEqual(code, 0);
    assert.match(stderr, expected);
  }
  const none = ALL.slice(0, 4).flatMap((name) => ['--set', `sidecars.${name}=false`]);
  const { stderr } = await run('helm', ['template', 'name', chart, ...none]);
  assert.match(stderr, /sidecars: at least one of provisioner, attacher,/);
});

test('[DEP-1] a base or chart is written again without leftovers, and refused without a directory', async (t) => {
  const base = await write(t, 'kustomize', usual);
  const flags = [...usual, '--part=node', '--format=kustomize', `--output=${base}`];
  assert.equal((await runManifests(flags)).code, 0);
  assert.deepEqual((await readdir(base)).toSorted(), ['kustomization.yaml', 'node.yaml']);
  const { resources } = parse(await readFile(join(base, 'kustomization.yaml'), 'utf8'));
  assert.deepEqual(resources, ['node.yaml']);
  for (const [wrong, expected] of [
    [['--format=helm'], /--format=helm writes files: give --output DIRECTORY/],
    [[`--output=${base}`], /--output is for --format=helm/],
    [['--format=helm', `--output=${base}`, '--part=node'], /one chart of all parts/],
    [['--format=helm', `--output=${base}`, '--create-namespace'], /Helm creates namespaces/],
    [
      ['--format=helm', `--output=${base}`, '--part=snapshot-controller', '--create-namespace'],
      /Helm creates namespaces/,
    ],
  ] as const) {
    const { code, stderr } = await runManifests([...usual, ...wrong]);
    assert.equal(code, 2);
    assert.match(stderr, expected);
  }
});

for (const { name, missing, start } of apiServers) {
  test(`[DEP-2] the chart is installed, upgraded and removed by Helm, the base applied, on ${name}`, {
    skip: noHelm || noKubectl || missing,
    timeout: 120_000,
  }, async (t) => {
    const kubeconfig = await start(t);
    const chart = await write(t, 'helm', usual);
    const base = await write(t, 'kustomize', usual);
    const server = ['--kubeconfig', kubeconfig];
    const did = async (program: string, ...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(program, [...args, ...server]);
      assert.equal(code, 0, `${program} ${args.join(' ')}: ${stderr}`);
      return stdout;
    };
    const helm = (...args: string[]) => did('helm', ...args, '--namespace=kube-system');
    const same = async (...flags: string[]) => {
      const { code, stdout } = await runManifests([...usual, ...flags, '--diff', ...server]);
      assert.equal(code, 0, stdout);
    };
    await helm('install', 'some', chart);
    await same();
    await helm('upgrade', 'some', chart, '--set=replicas=2,sidecars.resizer=false');
    await same('--replicas=2', without('resizer'));
    await helm('uninstall', 'some');
    const left = await did(
      'kubectl',
      'get',
      'clusterroles,deployments,daemonsets,csidrivers',
      '-A',
      '-o',
      'name',
    );
    assert.doesNotMatch(left, /some-csi-test|some\.csi\.test/);
    await did('kubectl', 'apply', '-k', base);
    await same();
  });
}

// `berth support-bundle` against `berth up` and a real kube-apiserver: what a bug report needs is in it, and no secret that was
// planted anywhere in the cluster.

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readTar } from '../../scripts/image/tar.ts';
import { lacking, missingPeers } from '../capabilities.ts';
import { berth, run, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';

const planted = (name: string) => `s3cr3t-of-${name}-0123456789`;
const list = (...items: object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** Secrets wherever an administrator may have put one. */
const plants = list(
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'login' },
    stringData: { password: planted('secret') },
  },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'leaky', annotations: { 'example.com/note': planted('annotation') } },
    provisioner: 'nobody.csi.test',
    parameters: { adminPassword: planted('parameter'), pool: planted('innocent-name') },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'leaky' },
    spec: {
      capacity: { storage: '1Mi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      csi: {
        driver: 'nobody.csi.test',
        volumeHandle: 'h',
        volumeAttributes: { apiKey: planted('attribute'), share: planted('innocent-attribute') },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'stuck', annotations: { 'example.com/api-token': planted('claim-annotation') } },
    spec: {
      storageClassName: 'leaky',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Mi' } },
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'driver' },
    spec: {
      selector: { matchLabels: { app: 'd' } },
      template: {
        metadata: { labels: { app: 'd' } },
        spec: {
          containers: [
            {
              name: 'driver',
              image: 'some-csi-driver:1',
              args: [
                '--csi-address=/csi/csi.sock',
                `--token=${planted('argument')}`,
                '--password',
                planted('next-argument'),
                `--url=https://user:${planted('url')}@storage/`,
              ],
              env: [
                { name: 'STORAGE_PASSWORD', value: planted('variable') },
                { name: 'STORAGE', value: planted('innocent-variable') },
              ],
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'told' },
    involvedObject: { kind: 'PersistentVolumeClaim', name: 'stuck', namespace: 'default' },
    type: 'Warning',
    reason: 'ProvisioningFailed',
    message: `the storage refused ${planted('parameter')}`,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    source: { component: 'nobody.csi.test' },
  },
);

async function bundleOf(directory: string, flags: readonly string[]): Promise<Map<string, string>> {
  const file = join(directory, `b${flags.length}.tar.gz`);
  const { code, stdout, stderr } = await berth(['support-bundle', '--output', file, ...flags]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /readable by you only/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = await berth(['support-bundle', '--output', file, ...flags]);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /exists; name another file/);
  return new Map(
    readTar(gunzipSync(readFileSync(file))).map(({ path, data }) => [
      path.slice(path.indexOf('/') + 1),
      String(data),
    ]),
  );
}

function assertClean(files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    for (const name of plants.match(/s3cr3t-of-[\w-]+-0123456789/g) ?? []) {
      assert(!text.includes(name), `${name} is in ${path}`);
      assert(!text.includes(Buffer.from(name).toString('base64')), `${name} is in ${path}, encoded`);
    }
    // Also parts of them, should a pattern have cut one.
    assert(!text.includes('s3cr3t-of-'), path);
  }
}

test('[SEC-4] a bundle of berth up has objects, causes, logs, traces and metrics, and no secret', {
  skip: lacking('root', 'kubectl'),
  timeout: 120_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'), [
    '--metrics',
    `--class-parameters=pool=${planted('innocent-flag')}`,
    '--provisioner-worker-threads=7',
  ]);
  await up.apply(plants);
  const everything = await run('kubectl', [
    ...['--kubeconfig', up.kubeconfig],
    ...['get', 'secret,sc,pv,pvc,deployment,event', '-o', 'json'],
  ]);
  assert(everything.stdout.includes(planted('variable')), 'the secrets are in the cluster');
  const flags = ['--kubeconfig', up.kubeconfig];
  const files = await bundleOf(directory, flags);
  assertClean(files);
  assertClean(
    await bundleOf(directory, [...flags, '--include-parameters', '--namespace=default']).then(
      withoutInnocent,
    ),
  );
  for (const path of [
    'about.json',
    'server-version.json',
    'why.json',
    'logs/berth-up.log',
    'metrics/berth-up/provisioner.txt',
    'objects/leases.coordination.k8s.io.json',
    'objects/csinodes.storage.k8s.io.json',
    'traces/claim/default/stuck.jsonl',
  ]) {
    assert(files.get(path), `${path} is among ${[...files.keys()].join(', ')}`);
  }
  const commandLine = files.get('berth-up-command-line.txt')?.split('\n') ?? [];
  assert(commandLine.includes('--provisioner-worker-threads=7'), commandLine.join('\n'));
  assert(commandLine.includes('--class-parameters=pool=[stripped]'));
  assert.match(files.get('why.txt') ?? '', /PersistentVolumeClaim default\/stuck/);
  assert.match(files.get('objects/events.json') ?? '', /the storage refused \[stripped\]/);
  const [deployment] = JSON.parse(files.get('objects/deployments.apps.json') ?? '[]');
  assert.equal(deployment.spec.template.spec.containers[0].image, 'some-csi-driver:1');
  assert(![...files.keys()].some((path) => /secret|configmap/i.test(path)));
});

/** What has an innocent name stays when it is asked for. */
const withoutInnocent = (files: Map<string, string>): Map<string, string> => {
  const text = files.get('objects/storageclasses.storage.k8s.io.json') ?? '';
  assert(text.includes(planted('innocent-name')), 'parameters were asked for');
  return new Map(
    [...files].map(([path, each]) => [
      path,
      ['name', 'attribute', 'flag'].reduce(
        (text, what) => text.replaceAll(planted(`innocent-${what}`), ''),
        each,
      ),
    ]),
  );
};

test('[SEC-4] a bundle of a real cluster says what could not be read, and has no secret', {
  skip: lacking('kubectl') || missingPeers('etcd', 'kube-apiserver'),
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const server = await startKubeApiserver(directory);
  t.after(() => server.stop());
  const applied = await run('kubectl', ['--kubeconfig', server.kubeconfig, 'apply', '-f', '-'], {
    input: plants,
  });
  assert.equal(applied.code, 0, applied.stderr);
  const files = await bundleOf(directory, ['--kubeconfig', server.kubeconfig]);
  assertClean(files);
  assert.match(files.get('server-version.json') ?? '', /gitVersion/, files.get('about.json') ?? '');
  assert.match(files.get('objects/persistentvolumeclaims.json') ?? '', /"stuck"/);
  const { unread } = JSON.parse(files.get('about.json') ?? '{}');
  assert(
    unread.some((each: string) => each.startsWith('logs of berth up: ')),
    unread.join('\n'),
  );
});

// Berth's image and printed manifests, run by a real kubelet and containerd: driver, registrar and sidecars in the pod of
// one DaemonSet, the snapshot controller in a Deployment. kube-controller-manager makes the pods of both.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { readTar } from '../../scripts/image/tar.ts';
import { peerPath, programPath } from '../capabilities.ts';
import { berth, run, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { processes } from '../interop/processes.ts';
import { BUSYBOX, kubeletArguments, missingForContainers, stillThere } from '../real/real-up.ts';
import { runManifests } from './print-manifests.ts';

const IMAGE = fileURLToPath(new URL('../../scripts/image.ts', import.meta.url));
const DRIVER = 'local.csi.test';
const ELSEWHERE = ['hostpath', 'provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller'];
const skip =
  missingForContainers('kube-controller-manager') ||
  (programPath('apt-get') === undefined && 'this machine has no apt-get');

test("[REAL-3] [DEP-2] Berth's image runs driver and sidecars as the manifests say, and volumes live and end", {
  skip,
  timeout: 240_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const image = join(directory, 'image');
  const built = await run(process.execPath, [IMAGE, '--output', image], { timeoutMs: 150_000 });
  assert.equal(built.code, 0, built.stderr);
  const name = /^(berth:\S+) for/m.exec(built.stderr)?.[1] ?? '';

  const dataDir = join(directory, 'd');
  const up = await startUp(t, dataDir, [
    ...['--without', ['dashboard', ...ELSEWHERE].join(',')],
    ...kubeletArguments(directory),
    ...['--kubelet-images', `${image}.tar`],
  ]);
  const programs = processes();
  t.after(() => programs.stop());
  programs.start(
    [peerPath('kube-controller-manager') ?? ''],
    [
      `--kubeconfig=${up.kubeconfig}`,
      '--controllers=deployment-controller,replicaset-controller,daemonset-controller',
      '--leader-elect=false',
      '--secure-port=0',
    ],
  );
  const apply = async (flags: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await runManifests(flags);
    assert.equal(code, 0, stderr);
    await up.apply(stdout);
  };
  const state = join(directory, 'state');
  await apply(['--part=snapshot-controller', `--berth-image=${name}`]);
  await apply([
    `--driver-name=${DRIVER}`,
    `--image=${name}-hostpath`,
    `--berth-image=${name}`,
    ...['--controller=daemonset', `--kubelet-dir=${join(dataDir, 'n', 'kubelet-1')}`],
    `--host-path=${state}`,
    ...[
      'driver',
      'hostpath',
      `--driver-name=${DRIVER}`,
      '--endpoint=$(CSI_ENDPOINT)',
      '--node-id=$(NODE_ID)',
      `--state-dir=${state}`,
    ].map((argument) => `--arg=driver=${argument}`),
  ]);
  await up.apply(CLASSES);
  await up.kubectl(
    'rollout',
    'status',
    '-n',
    'kube-system',
    'daemonset/local-csi-test-node',
    '--timeout=120s',
  );
  await up.kubectl(
    'rollout',
    'status',
    '-n',
    'kube-system',
    'deployment/snapshot-controller',
    '--timeout=120s',
  );

  await up.apply(podWith('writer', 'data', 'echo kept > /data/file; sleep 1000'));
  await up.kubectl('wait', 'pod/writer', '--for=condition=Ready', '--timeout=120s');
  await up.apply(SNAPSHOT);
  await up.kubectl(
    'wait',
    'volumesnapshot/taken',
    '--for=jsonpath={.status.readyToUse}=true',
    '--timeout=60s',
  );
  await up.apply(
    podWith('reader', 'restored', 'cat /data/file; sleep 1000', {
      kind: 'VolumeSnapshot',
      name: 'taken',
      apiGroup: 'snapshot.storage.k8s.io',
    }),
  );
  await up.kubectl('wait', 'pod/reader', '--for=condition=Ready', '--timeout=120s');
  assert.equal(await up.kubectl('logs', 'reader'), 'kept\n');

  const bundle = join(directory, 'bundle.tar.gz');
  const collected = await berth(['support-bundle', '--kubeconfig', up.kubeconfig, '--output', bundle]);
  assert.equal(collected.code, 0, collected.stderr);
  const logs = readTar(gunzipSync(readFileSync(bundle))).filter(({ path }) => path.endsWith('.log'));
  for (const container of ['driver', 'sidecars', 'snapshot-controller']) {
    const found = logs.find(({ path }) => path.endsWith(`/${container}.log`));
    assert(found?.data?.length, `${container} has a log among ${logs.map(({ path }) => path).join(', ')}`);
  }

  await up.kubectl(
    'delete',
    '--timeout=120s',
    'pod/writer',
    'pod/reader',
    'pvc/data',
    'pvc/restored',
    'volumesnapshot/taken',
  );
  await up.kubectl('wait', 'pv,volumesnapshotcontent', '--all', '--for=delete', '--timeout=120s');
  assert.deepEqual([readdirSync(join(state, 'volumes')), readdirSync(join(state, 'snapshots'))], [[], []]);
  await programs.stop();
  assert.equal(await up.stop(), 0);
  assert.deepEqual(stillThere(dataDir), []);
});

const CLASSES = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: ${DRIVER}
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: local}
driver: ${DRIVER}
deletionPolicy: Delete
`;

const SNAPSHOT = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: taken}
spec: {volumeSnapshotClassName: local, source: {persistentVolumeClaimName: data}}
`;

function podWith(name: string, claim: string, command: string, dataSource?: object): string {
  const spec = {
    storageClassName: 'local',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '16Mi' } },
    ...(dataSource && { dataSource }),
  };
  const mounted = { name: 'data', mountPath: '/data' };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: claim }, spec },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            { name: 'main', image: BUSYBOX, command: ['sh', '-c', command], volumeMounts: [mounted] },
          ],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
        },
      },
    ],
  });
}

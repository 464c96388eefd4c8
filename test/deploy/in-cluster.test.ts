// Berth's image and printed manifests, run by a real kubelet and containerd: driver, registrar and sidecars in the pod of
// one DaemonSet, the snapshot controller in a Deployment. kube-controller-manager makes the pods of both.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { readTar } from '../../scripts/image/tar.ts';
import { peerPath, programPath } from '../capabilities.ts';
import { berth, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { processes } from '../interop/processes.ts';
import { kubeletArguments, missingForContainers, stillThere } from '../real/real-up.ts';
import { buildImage, driverFlags, liveInCluster } from './cluster-life.ts';
import { printedText } from './print-manifests.ts';

const ELSEWHERE = ['hostpath', 'provisioner', 'attacher', 'resizer', 'snapshotter', 'snapshot-controller'];
const skip =
  missingForContainers('kube-controller-manager') ||
  (programPath('apt-get') === undefined && 'this machine has no apt-get');

test("[REAL-3] [DEP-2] Berth's image runs driver and sidecars as the manifests say, and volumes live and end", {
  skip,
  timeout: 175_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const image = await buildImage(directory);
  const dataDir = join(directory, 'd');
  const up = await startUp(t, dataDir, [
    ...['--without', ['dashboard', ...ELSEWHERE].join(',')],
    ...kubeletArguments(directory),
    ...['--kubelet-images', image.archive],
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
  const apply = async (flags: readonly string[]): Promise<string> => up.apply(await printedText(flags));
  const state = join(directory, 'state');
  await apply(['--part=snapshot-controller', `--berth-image=${image.name}`]);
  await apply(driverFlags(image.name, { kubeletDir: join(dataDir, 'n', 'kubelet-1'), state }));
  await liveInCluster(up, state);

  const bundle = join(directory, 'bundle.tar.gz');
  const collected = await berth(['support-bundle', '--kubeconfig', up.kubeconfig, '--output', bundle]);
  assert.equal(collected.code, 0, collected.stderr);
  const logs = readTar(gunzipSync(readFileSync(bundle))).filter(({ path }) => path.endsWith('.log'));
  for (const container of ['driver', 'sidecars', 'snapshot-controller']) {
    const found = logs.find(({ path }) => path.endsWith(`/${container}.log`));
    assert(found?.data?.length, `${container} has a log among ${logs.map(({ path }) => path).join(', ')}`);
  }
  await programs.stop();
  assert.equal(await up.stop(), 0);
  assert.deepEqual(stillThere(dataDir), []);
});

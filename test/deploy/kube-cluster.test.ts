// Berth's image in a whole Kubernetes: kube-apiserver, controller manager, scheduler, kubelet and containerd. Installed from the
// printed manifests, by Helm and by Kustomize, one after the other.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { programPath } from '../capabilities.ts';
import { run, temporaryDirectory } from '../e2e/up-process.ts';
import { KUBE_PROGRAMS, startKubeCluster } from '../real/kube-cluster.ts';
import { missingForContainers, writeImages } from '../real/real-up.ts';
import { buildImage, driverFlags, liveInCluster } from './cluster-life.ts';
import { printedText } from './print-manifests.ts';

/** A busy machine may take long to start containers. */
const STEP = { timeout: 280_000 };
const noHelm = programPath('helm') === undefined && 'this machine has no helm';
const skip =
  missingForContainers(...KUBE_PROGRAMS) ||
  (programPath('apt-get') === undefined && 'this machine has no apt-get');

test("[REAL-3] [DEP-2] Berth's image runs in Kubernetes, from printed manifests, a Kustomize base and a Helm chart", {
  skip,
  timeout: 600_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const image = await buildImage(directory);
  const images = [...writeImages(directory), image.archive];
  const cluster = await startKubeCluster(t, directory, { images });
  const state = join(directory, 'state');
  const flags = driverFlags(image.name, { kubeletDir: cluster.rootDir, state });
  await cluster.apply(await printedText(['--part=snapshot-controller', `--berth-image=${image.name}`]));

  await t.test('from printed manifests', STEP, async () => {
    const path = join(directory, 'manifests.yaml');
    await writeFile(path, await printedText(flags));
    await cluster.kubectl('apply', '-f', path);
    await liveInCluster(cluster, state);
    await cluster.kubectl('delete', '-f', path, '--timeout=60s');
  });
  await t.test('from a Kustomize base', STEP, async () => {
    const base = join(directory, 'base');
    await printedText([...flags, '--format=kustomize', `--output=${base}`]);
    await cluster.kubectl('apply', '-k', base);
    await liveInCluster(cluster, state);
    await cluster.kubectl('delete', '-k', base, '--timeout=60s');
  });
  await t.test('from a Helm chart', { ...STEP, skip: noHelm }, async () => {
    const chart = join(directory, 'chart');
    await printedText([...flags, '--format=helm', `--output=${chart}`]);
    const helm = async (...args: readonly string[]): Promise<void> => {
      const env = { KUBECONFIG: cluster.kubeconfig };
      const { code, stderr } = await run('helm', [...args, '--namespace=kube-system'], {
        env,
        timeoutMs: 120_000,
      });
      assert.equal(code, 0, stderr);
    };
    await helm('install', 'local', chart);
    await liveInCluster(cluster, state);
    await helm('uninstall', 'local', '--wait');
  });
});

// Our attacher on a real kube-apiserver, and the official attacher on our API server: the same volume through the same
// life, with the same names on the objects. Needs the official programs of BERTH_PEERS.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  csiNodes,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import { createApiServer } from '../../src/apiserver/index.ts';
import { serveCsi } from '../../src/csi/server/serve-csi.ts';
import { ScriptedDriver } from '../../src/csi/testing/scripted-driver.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import {
  attachment,
  DRIVER,
  existing,
  FINALIZER,
  ourNode,
  pv,
} from '../../src/sidecars/attacher/testing/attacher-world.ts';
import { missingPeers, peerPath } from '../capabilities.ts';
import { startKubeApiserver } from '../interop/kube-apiserver.ts';

const berth = fileURLToPath(new URL('../../bin/berth', import.meta.url));

async function wholeLife(directory: string, kubeconfig: string, command: string[]): Promise<void> {
  const config = await loadKubeConfig({ path: kubeconfig, env: {} });
  const kube = createHttpKubeClient({ config, clock: realClock, random: realRandom, log: silentLog });
  const driver = new ScriptedDriver({ name: DRIVER });
  const address = join(directory, 's');
  const { services, interceptor } = driver;
  const serving = await serveCsi({
    address,
    services,
    interceptors: [interceptor],
    clock: realClock,
    log: silentLog,
  });
  const [program = '', ...argv] = command;
  const child = spawn(program, [...argv, `--csi-address=${address}`, `--kubeconfig=${kubeconfig}`], {
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  try {
    existing(driver, 'vol-pv1');
    await kube.create(csiNodes, ourNode() as never);
    await kube.create(persistentVolumes, pv('pv1') as never);
    await kube.create(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }) as never);
    const attached = await until(kube, (object) => object?.status?.attached === true);
    assert.deepEqual(attached?.metadata.finalizers, [FINALIZER]);
    assert.equal(attached?.metadata.annotations?.['csi.alpha.kubernetes.io/node-id'], 'id-node-a');
    assert.deepEqual(attached?.status, { attached: true, attachmentMetadata: { device: '/dev/vol-pv1' } });
    const volume = await kube.get(persistentVolumes, { name: 'pv1' });
    assert.ok(volume.metadata.finalizers?.includes(FINALIZER));
    driver.script('ControllerUnpublishVolume', { fail: 'INTERNAL', message: 'busy' });
    await kube.delete(volumeAttachments, { name: 'va' });
    const failed = await until(kube, (object) => object?.status?.detachError !== undefined);
    assert.match(failed?.status?.detachError?.message ?? '', /busy/);
    await until(kube, (object) => object === undefined);
    assert.equal(driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
    await kube.delete(persistentVolumes, { name: 'pv1' });
    for (;;) {
      const { items } = await kube.list(persistentVolumes);
      if (!items.some(({ metadata }) => metadata.finalizers?.includes(FINALIZER))) break;
      await realClock.sleep(50);
    }
  } finally {
    child.kill('SIGKILL');
    await exit;
    await serving.stop(0);
    await kube.close();
  }
}

async function until(kube: KubeClient, holds: (object: VolumeAttachment | undefined) => boolean) {
  for (;;) {
    const { items } = await kube.list(volumeAttachments);
    const found = items.find(({ metadata }) => metadata.name === 'va');
    if (holds(found)) return found;
    await realClock.sleep(20);
  }
}

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ip-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test('our attacher on a real kube-apiserver', { skip: missingPeers('etcd', 'kube-apiserver') }, async (t) => {
  const directory = await temporary(t);
  const { kubeconfig, stop } = await startKubeApiserver(directory);
  try {
    await wholeLife(directory, kubeconfig, [
      process.execPath,
      berth,
      'attacher',
      '--retry-interval-start=500ms',
    ]);
  } finally {
    await stop();
  }
});

test('the official attacher on our API server', { skip: missingPeers('csi-attacher') }, async (t) => {
  const directory = await temporary(t);
  const kubeconfig = join(directory, 'kubeconfig');
  const server = await createApiServer({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    kubeconfigPath: kubeconfig,
  });
  try {
    await wholeLife(directory, kubeconfig, [peerPath('csi-attacher') ?? '', '--retry-interval-start=500ms']);
  } finally {
    await server.stop();
  }
});

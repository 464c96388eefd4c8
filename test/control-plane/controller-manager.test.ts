// `berth controller-manager` as a process, on an API server that is another.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  configMaps,
  leases,
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
} from '../../src/api/kinds.ts';
import { claim, volume } from '../../src/control-plane/testing/objects.ts';
import { createInformers } from '../../src/runtime/informer/create-informers.ts';
import { createHttpKubeClient } from '../../src/runtime/kube/http-kube-client.ts';
import { loadKubeConfig } from '../../src/runtime/kube/load-kube-config.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { startServer } from '../apiserver/server-process.ts';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));

async function start(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), 'berth-cm-'));
  const server = await startServer({ dir });
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const config = await loadKubeConfig({ path: server.kubeconfig, env: {} });
  const kube = createHttpKubeClient({ ...ports, config });
  const informers = createInformers({ ...ports, kube });
  const stop = new AbortController();
  informers.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await kube.close();
    await server.end('SIGTERM');
    await rm(dir, { recursive: true });
  });
  return { kube, informers, kubeconfig: server.kubeconfig };
}

interface Manager {
  child: ChildProcess;
  ended: Promise<number | null>;
  stderr(): string;
}

function manage(t: TestContext, kubeconfig: string, ...flags: string[]): Manager {
  const child = spawn(process.execPath, [BERTH, 'controller-manager', '--kubeconfig', kubeconfig, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended, stderr: () => stderr };
}

test('binds, ends namespaces, and hands over to the next one at once', async (t) => {
  const { kube, informers, kubeconfig } = await start(t);
  const first = manage(t, kubeconfig);
  await kube.create(persistentVolumes, volume('v'));
  await kube.create(persistentVolumeClaims, claim('data'));
  const claims = informers.of(persistentVolumeClaims);
  await claims.waitFor('default/data', (object) => object?.status?.phase === 'Bound');
  const second = manage(t, kubeconfig);
  first.child.kill('SIGTERM');
  assert.equal(await first.ended, 0, first.stderr());
  await kube.create(namespaces, { metadata: { name: 'n' } });
  await kube.create(configMaps, { metadata: { name: 'm', namespace: 'n' } });
  await kube.delete(namespaces, { name: 'n' });
  await informers.of(namespaces).waitFor('n', (object) => object === undefined);
  const lease = await kube.get(leases, { name: 'kube-controller-manager', namespace: 'kube-system' });
  assert.equal(lease.spec?.leaseTransitions, 1);
  second.child.kill('SIGTERM');
  assert.equal(await second.ended, 0, second.stderr());
});

test('runs only the controllers that it is told to', async (t) => {
  const { kube, informers, kubeconfig } = await start(t);
  manage(t, kubeconfig, '--leader-elect=false', '--controllers=*,-persistentvolume-binder');
  await kube.create(persistentVolumes, volume('v'));
  await kube.create(persistentVolumeClaims, claim('data'));
  await kube.create(namespaces, { metadata: { name: 'n' } });
  await kube.delete(namespaces, { name: 'n' });
  await informers.of(namespaces).waitFor('n', (object) => object === undefined);
  const { status } = await kube.get(persistentVolumeClaims, { name: 'data', namespace: 'default' });
  assert.equal(status?.phase, 'Pending');
});

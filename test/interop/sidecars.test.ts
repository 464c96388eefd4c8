// Sidecars and API servers, ours and the official ones, crosswise: whoever does it, the same volume lives the same
// life. Needs the official programs of BERTH_PEERS.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServer } from '../apiserver/server-process.ts';
import { missingPeers, peerPath } from '../capabilities.ts';
import { HttpsCaller } from '../https-caller.ts';
import { type KubeApiserver, startKubeApiserver } from './kube-apiserver.ts';
import { berth, type Program } from './processes.ts';
import { type Life, type LifeOptions, volumeLife } from './volume-life.ts';

const ours = {
  provisioner: berth('provisioner'),
  attacher: berth('attacher'),
  resizer: berth('resizer'),
};
const peer = (name: string): Program => [peerPath(name) ?? name];
const official = {
  provisioner: peer('csi-provisioner'),
  attacher: peer('csi-attacher'),
  resizer: peerPath('csi-resizer') ? peer('csi-resizer') : ours.resizer,
};
const realServer = ['etcd', 'kube-apiserver'];

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'io-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

type Sidecars = Pick<LifeOptions, 'provisioner' | 'attacher' | 'resizer'>;

async function onOurServer(t: TestContext, sidecars: Sidecars): Promise<Life> {
  const directory = await temporary(t);
  const server = await startServer({ dir: directory });
  try {
    return await volumeLife({ ...sidecars, directory, kubeconfig: server.kubeconfig });
  } finally {
    await server.end('SIGTERM');
  }
}

async function onTheRealServer(
  t: TestContext,
  sidecars: Sidecars,
): Promise<Life & { wasForbidden: string[] }> {
  const directory = await temporary(t);
  const server = await startKubeApiserver(directory);
  try {
    const before = new Set(await forbidden(server));
    const life = await volumeLife({ ...sidecars, directory, kubeconfig: server.kubeconfig });
    return { ...life, wasForbidden: (await forbidden(server)).filter((line) => !before.has(line)) };
  } finally {
    await server.stop();
  }
}

/** The counters of requests that were answered 403, each with its count. */
async function forbidden(server: KubeApiserver): Promise<string[]> {
  const caller = new HttpsCaller(server);
  try {
    const lines = (await caller.call('GET', '/metrics')).body.split('\n');
    return lines.filter((line) => line.startsWith('apiserver_request_total{') && line.includes('code="403"'));
  } finally {
    await caller.close();
  }
}

test('[DEP-2] [SEC-4] [SIDE-1] our sidecars, with their published roles only, do the same on a real kube-apiserver as on ours', {
  skip: missingPeers(...realServer),
}, async (t) => {
  const { wasForbidden, ...real } = await onTheRealServer(t, ours);
  assert.deepEqual(wasForbidden, []);
  assert.deepEqual(real, await onOurServer(t, ours));
  assert.deepEqual(real.after, {});
});

test('the official sidecars do the same on our API server as on a real kube-apiserver', {
  skip: missingPeers(...realServer, 'csi-provisioner', 'csi-attacher'),
}, async (t) => {
  const [onOurs, onReal] = [await onOurServer(t, official), await onTheRealServer(t, official)];
  assert.deepEqual(withoutIdentity(onOurs.attached), withoutIdentity(onReal.attached));
  assert.deepEqual([onOurs.after, onReal.after], [{}, {}]);
});

/** The official provisioner tells its own process apart, in each volume it makes. */
function withoutIdentity(state: Life['attached']): unknown {
  return JSON.parse(JSON.stringify(state), (key, value) =>
    key === 'storage.kubernetes.io/csiProvisionerIdentity' ? '<process>' : value,
  );
}

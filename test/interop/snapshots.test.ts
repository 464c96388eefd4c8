// The snapshot controller, the snapshotter and the API server, ours and the official ones, crosswise: whoever does it, the
// same snapshot, and the same group snapshot, live the same life. Needs programs of BERTH_PEERS.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServer } from '../apiserver/server-process.ts';
import { missingPeers, peerPath } from '../capabilities.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { berth, type Program } from './processes.ts';
import { type SnapshotLife, type SnapshotPrograms, snapshotLife } from './snapshot-life.ts';

const peer = (name: string): Program => [peerPath(name) ?? name];
const ours: SnapshotPrograms = {
  controller: berth('snapshot-controller'),
  snapshotter: berth('snapshotter'),
};
const official: SnapshotPrograms = {
  controller: peer('snapshot-controller'),
  snapshotter: peer('csi-snapshotter'),
};
const realServer = ['etcd', 'kube-apiserver'];
const officialPrograms = ['snapshot-controller', 'csi-snapshotter'];

async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'is-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function onOurServer(t: TestContext, programs: SnapshotPrograms): Promise<SnapshotLife> {
  const directory = await temporary(t);
  const server = await startServer({ dir: directory });
  try {
    return await snapshotLife({ ...programs, directory, kubeconfig: server.kubeconfig });
  } finally {
    await server.end('SIGTERM');
  }
}

async function onTheRealServer(t: TestContext, programs: SnapshotPrograms): Promise<SnapshotLife> {
  const directory = await temporary(t);
  const server = await startKubeApiserver(directory);
  try {
    return await snapshotLife({ ...programs, directory, kubeconfig: server.kubeconfig });
  } finally {
    await server.stop();
  }
}

test('[SIDE-2] [DEP-2] [GRP-1] a snapshot lives its life by processes alone, with the published roles only', async (t) => {
  const { after, stored, members } = await onOurServer(t, ours);
  assert.deepEqual([after, stored], [{}, []]);
  const member = { isReady: true, isNamedAsOfficially: true };
  assert.deepEqual(members, [
    { of: 'data', ...member },
    { of: 'restored', ...member },
  ]);
});

test('[SIDE-2] [DEP-2] our two do the same on a real kube-apiserver as on ours', {
  skip: missingPeers(...realServer),
}, async (t) => {
  assert.deepEqual(await onTheRealServer(t, ours), await onOurServer(t, ours));
});

test('[SIDE-2] [GRP-1] the official two, and one of each with one of ours, make the same of a snapshot as ours', {
  skip: missingPeers(...officialPrograms),
  timeout: 200_000,
}, async (t) => {
  const wanted = await onOurServer(t, ours);
  for (const programs of [
    official,
    { ...ours, controller: official.controller },
    { ...ours, snapshotter: official.snapshotter },
  ]) {
    assert.deepEqual(await onOurServer(t, programs), wanted);
  }
});

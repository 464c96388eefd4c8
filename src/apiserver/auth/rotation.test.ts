// Certificate rotation in a running server, and files that change while it runs.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { testServer } from '../testing/test-server.ts';
import { createPki, DAY_MS } from './pki.ts';

const MINUTE_MS = 60_000;

/** The serving certificate's fingerprint, as a new connection sees it. */
function servedCertificate(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    // Virtual time is ahead of the client's.
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}

test('the serving certificate is renewed before it expires, without a restart', {
  timeout: 30_000,
}, async (t) => {
  const clock = new VirtualClock({ startMs: Date.now() });
  const { url = '' } = await testServer(t, { clock, listen: true });
  const first = await servedCertificate(url);
  clock.wallJump(300 * DAY_MS);
  await clock.advance(MINUTE_MS);
  assert.equal(await servedCertificate(url), first, 'renewed too early');
  clock.wallJump(40 * DAY_MS);
  await clock.advance(MINUTE_MS);
  assert.notEqual(await servedCertificate(url), first);
});

test('a serving certificate that changes on disk is served within a minute', {
  timeout: 30_000,
}, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'rotation-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const clock = new VirtualClock({ startMs: Date.now() });
  const pki = await createPki({ clock, dir: join(dataDir, 'pki') });
  const { url = '' } = await testServer(t, { clock, listen: true, pki });
  const first = await servedCertificate(url);
  // Another process that needs an additional name in it.
  await createPki({ clock, dir: join(dataDir, 'pki'), hosts: ['berth.example'] });
  await clock.advance(MINUTE_MS);
  await until(async () => (await servedCertificate(url)) !== first);
});

test('kubeconfigs get a new certificate before theirs expires', { timeout: 30_000 }, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'rotation-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const clock = new VirtualClock({ startMs: Date.now() });
  const kubeconfigPath = join(dir, 'admin');
  const server = await testServer(t, { clock, listen: true, kubeconfigPath });
  await server.keepKubeconfig(join(dir, 'other'), { name: 'other', groups: [] });
  const read = () => Promise.all(['admin', 'other'].map((name) => readFile(join(dir, name), 'utf8')));
  const first = await read();
  clock.wallJump(300 * DAY_MS);
  await clock.advance(DAY_MS);
  assert.deepEqual(await read(), first, 'renewed too early');
  clock.wallJump(40 * DAY_MS);
  await clock.advance(DAY_MS);
  await until(async () => (await read()).every((text, at) => text !== first[at]));
});

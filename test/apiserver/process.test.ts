// `berth apiserver` as a program: its ready line, its data directory, its end, and peers that speak no TLS.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { adminCaller, startServer } from './server-process.ts';

const BERTH = fileURLToPath(new URL('../../bin/berth', import.meta.url));

async function temporary(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'apiserver-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

function berth(...args: string[]): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BERTH, ...args], (error, _stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stderr }),
    );
  });
}

test('a data directory belongs to one process at a time, and outlives it', async (t) => {
  const dir = await temporary(t);
  const dataDir = join(dir, 'data');
  const first = await startServer({ dir, dataDir });
  const caller = await adminCaller(first.kubeconfig);
  await caller.call('POST', '/api/v1/namespaces', { metadata: { name: 'kept' } });
  const second = await berth('apiserver', '--data-dir', dataDir);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /state\.db is in use by another process/);
  await caller.close();
  assert.equal(await first.end('SIGTERM'), 0);
  const third = await startServer({ dir, dataDir });
  const again = await adminCaller(third.kubeconfig);
  assert.equal((await again.call('GET', '/api/v1/namespaces/kept')).code, 200);
  await again.close();
  assert.equal(await third.end('SIGINT'), 0);
});

test('a command line that contradicts itself is refused', async () => {
  const { code, stderr } = await berth('apiserver', '--ephemeral', '--data-dir', '/nonexistent');
  assert.equal(code, 2);
  assert.match(stderr, /exclude each other/);
});

test('peers that speak no TLS, or nothing at all, change nothing for others', async (t) => {
  const dir = await temporary(t);
  const server = await startServer({ dir });
  const port = Number(new URL(server.url).port);
  const open = (text: Buffer | string) =>
    new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        if (text.length > 0) socket.write(text);
        else resolve();
      });
      t.after(() => socket.destroy());
      socket.on('error', () => resolve());
      socket.on('close', () => resolve());
      socket.resume();
    });
  await Promise.all([
    open('GET / HTTP/1.1\r\n\r\n'),
    open(randomBytes(5_000)),
    ...Array.from({ length: 200 }, () => open('')),
  ]);
  const caller = await adminCaller(server.kubeconfig);
  assert.equal((await caller.call('GET', '/readyz')).body, 'ok');
  await caller.close();
  assert.equal(await server.end('SIGTERM'), 0);
});

// `berth node-credentials` against `berth apiserver` as a program.

import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminCaller, startServer } from '../apiserver/server-process.ts';
import { runBerth } from '../run-berth.ts';

test('[REAL-1] a kubelet gets the rights of its node and nothing more, in a private file', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'node-credentials-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const server = await startServer({ dir });
  t.after(() => server.end('SIGTERM'));
  const output = join(dir, 'kubelet.kubeconfig');
  const from = ['--kubeconfig', server.kubeconfig];
  const made = await runBerth(['node-credentials', 'worker-1', ...from, '--output', output]);
  assert.deepEqual(made, { code: 0, stdout: '', stderr: '' });
  assert.equal((await stat(output)).mode & 0o777, 0o600);

  const kubelet = await adminCaller(output);
  t.after(() => kubelet.close());
  const node = (name: string) => ({ metadata: { name } });
  assert.equal((await kubelet.call('POST', '/api/v1/nodes', node('worker-1'))).code, 201);
  assert.equal((await kubelet.call('POST', '/api/v1/nodes', node('worker-2'))).code, 403);
  assert.equal((await kubelet.call('GET', '/api/v1/services')).code, 200);
  assert.equal((await kubelet.call('GET', '/apis/node.k8s.io/v1/runtimeclasses')).code, 200);
  for (const path of ['/api/v1/secrets', '/api/v1/pods', '/berth/node-credentials?name=worker-2']) {
    assert.equal((await kubelet.call('GET', path)).code, 403, path);
  }

  const refused = await runBerth(['node-credentials', 'worker-2', '--kubeconfig', output]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /only give its node credentials to an administrator/);
  const odd = await runBerth(['node-credentials', 'Worker_1', ...from]);
  assert.equal(odd.code, 2);
  assert.match(odd.stderr, /"Worker_1" is not a valid node name/);
  await writeFile(output, 'apiVersion: v1\nkind: Config\n');
  const foreign = await runBerth(['node-credentials', 'worker-1', ...from, '--output', output]);
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /was not written by berth/);
});

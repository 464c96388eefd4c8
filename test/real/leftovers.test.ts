// What is left of a real node after a crash of `berth up`, and after a start that failed: nothing.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { peerPath } from '../capabilities.ts';
import { berth, run, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { kubeletArguments, missingForContainers, SHARED_VOLUME, stillThere } from './real-up.ts';

const skip = missingForContainers();

test('[REAL-1] containers that outlived a crash are ended at the next start', {
  skip,
  timeout: 150_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const dataDir = join(directory, 'data');
  const up = await startUp(t, dataDir, ['--without', 'dashboard', ...kubeletArguments(directory)]);
  const kubectl = peerPath('kubectl') ?? '';
  const env = { KUBECONFIG: up.kubeconfig };
  const manifest = join(directory, 'web.yaml');
  await writeFile(manifest, SHARED_VOLUME);
  await run(kubectl, ['apply', '-f', manifest], { env });
  const ready = ['wait', '--for=condition=Ready', 'pod/web', '--timeout=60s'];
  assert.equal((await run(kubectl, ready, { env, timeoutMs: 90_000 })).code, 0);
  await up.stop('SIGKILL');
  assert.notDeepEqual(stillThere(dataDir), []);
  const next = await startUp(t, dataDir, ['--without', 'dashboard', '--without', 'nodes']);
  const left = stillThere(dataDir).filter((what) => !what.startsWith('mount'));
  assert.deepEqual(left, []);
  assert.equal(await next.stop(), 0);
  assert.deepEqual(stillThere(dataDir), []);
});

test('[REAL-1] a kubelet that cannot start is reported, and nothing is left', {
  skip,
  timeout: 150_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const dataDir = join(directory, 'data');
  const broken = join(directory, 'kubelet');
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo Kubernetes v1.36.4 && exit\necho "E0101 no cgroups here" >&2\nexit 1\n`;
  await writeFile(broken, script, { mode: 0o755 });
  const args = kubeletArguments(directory).map((arg) =>
    arg.startsWith('--kubelet=') ? `--kubelet=${broken}` : arg,
  );
  const ended = await berth(['up', '--data-dir', dataDir, '--without', 'dashboard', ...args]);
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /kubelet of kubelet-1 ended \(exit code 1\): E0101 no cgroups here/);
  assert.deepEqual(stillThere(dataDir), []);
});

// docs/real-containers.md, line by line: every `sh` block in one shell beside a running `berth up --kubelet`.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { run, startUp, temporaryDirectory } from '../e2e/up-process.ts';
import { kubeletArguments, missingForContainers } from './real-up.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('[REAL-1] real containers, line by line', {
  skip: missingForContainers(),
  timeout: 240_000,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'), [
    '--without',
    'dashboard',
    ...kubeletArguments(directory),
  ]);
  const text = await readFile(join(ROOT, 'docs', 'real-containers.md'), 'utf8');
  const script = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');
  const prologue = [
    `cd ${directory}`,
    'set -eo pipefail',
    `ln -s ${ROOT}/examples examples`,
    `npx() { shift; ${process.execPath} ${ROOT}/bin/berth "$@"; }`,
  ];
  const { code, stdout, stderr } = await run('bash', ['-c', [...prologue, script].join('\n')], {
    env: { KUBECONFIG: up.kubeconfig, PATH: `${process.env.BERTH_PEERS}:${process.env.PATH}` },
    timeoutMs: 180_000,
  });
  assert.equal(code, 0, `${stdout}\n${stderr}\n${up.output().stderr}`);
  for (const expected of [
    /^kubelet-1 +Ready/m,
    /^hello$/m,
    /^written$/m,
    /^once$/m,
    /system:node:worker-1/,
  ]) {
    assert.match(stdout, expected);
  }
  assert.equal(await up.stop(), 0);
});

// The pages that people copy from, line by line: every `sh` block of getting-started.md in one shell beside a running
// `berth up`, and the script of running-in-ci.md by itself.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lacking } from '../capabilities.ts';
import { mountsBelow, run, startUp, temporaryDirectory } from './up-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const skip = lacking('root', 'kubectl');

async function shellBlocks(page: string): Promise<string> {
  const text = await readFile(join(ROOT, 'docs', page), 'utf8');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');
}

/** In the source tree, with the Node that runs the tests; the first line that fails ends it. */
const shell = (script: string, env: Record<string, string>) =>
  run('bash', ['-c', `cd ${ROOT}; set -eo pipefail; npx() { shift; "$NODE" bin/berth "$@"; }; ${script}`], {
    env: { ...env, NODE: process.execPath, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` },
    timeoutMs: 100_000,
  });

test('getting started, line by line', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  const { code, stdout, stderr } = await shell(await shellBlocks('getting-started.md'), {
    KUBECONFIG: up.kubeconfig,
  });
  assert.equal(code, 0, `${stdout}\n${stderr}\n${up.output().stderr}`);
  for (const expected of [/hostpath \(default\)/, /NodePublishVolume .*→ OK/, /^hello$/m, /shared-left/]) {
    assert.match(stdout, expected);
  }
  assert.deepEqual(mountsBelow(up.dataDir), []);
  await up.stop();
});

test("[BYO-6] the script for CI, with the system's own Node first in the path", { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const script = `cd ${ROOT}; ${await shellBlocks('running-in-ci.md')}`;
  const systemPath = (process.env.PATH ?? '').split(':').filter((each) => !each.includes('node_modules'));
  const env = { TMPDIR: directory, PATH: ['/usr/bin', ...systemPath].join(':') };
  const { code, stderr } = await run('bash', ['-eo', 'pipefail', '-c', script], { env, timeoutMs: 100_000 });
  assert.equal(code, 0, stderr);
  assert.deepEqual(mountsBelow(directory), []);
});

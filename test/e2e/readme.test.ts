// The program in the README's library section, as it stands there.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { mountsBelow, run, temporaryDirectory } from './up-process.ts';

const testing = new URL('../../src/test-cluster/index.ts', import.meta.url).href;

test("[BYO-4] the README's program runs, and leaves nothing", { skip: lacking('mounts') }, async (t) => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
  const [, program = ''] = /## As a library\n\n```ts\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  assert.match(program, /'berth\/testing'/);
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'program.mts');
  await writeFile(file, program.replace("'berth/testing'", JSON.stringify(testing)));
  const { code, stdout, stderr } = await run(process.execPath, [file], { env: { TMPDIR: directory } });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^mounted on node-[12] at .*\/mount$/m);
  for (const call of [/^provisioner: CreateVolume took/m, /^node-[12]: NodePublishVolume took/m]) {
    assert.match(stdout, call);
  }
  assert.deepEqual(mountsBelow(directory), []);
});

// `berth demo` succeeds and leaves nothing behind.

import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { BERTH, berth, mountsBelow, run } from './up-process.ts';

test('[MNT-1] [MNT-2] [POD-3] [INL-1] [SEC-1] [TOP-8] berth demo: all steps succeed, and nothing is left', {
  skip: lacking('mounts'),
}, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'demo-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const { code, stdout, stderr } = await berth(['demo'], { env: { TMPDIR: directory } });
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.equal(stderr, '');
  for (const call of [
    'CreateVolume',
    'ControllerPublishVolume',
    'NodeStageVolume',
    'NodePublishVolume',
    'NodeUnpublishVolume',
    'NodeUnstageVolume',
    'ControllerUnpublishVolume',
    'DeleteVolume',
  ]) {
    assert.match(stdout, new RegExp(`${call} .*→ OK in \\d`), call);
  }
  assert.doesNotMatch(stdout, /✗|see this/);
  assert.match(stdout, /Nothing is left: .*\n\nAll steps succeeded, in \d/);
  // Node's compile cache is there too.
  const left = (await readdir(directory)).filter((name) => name !== 'node-compile-cache');
  assert.deepEqual(left, []);
  assert.deepEqual(mountsBelow(directory), []);
});

test('berth demo without root: in a namespace of its own', { skip: lacking('root') }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'demo-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o777);
  const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  const demo = ['env', `TMPDIR=${directory}`, process.execPath, BERTH, 'demo'];
  const { code, stdout, stderr } = await run('setpriv', [...nobody, ...demo]);
  if (/unshare failed/.test(stderr)) return t.skip('this machine lets nobody but root have a user namespace');
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  assert.match(stdout, /All steps succeeded, in \d/);
});

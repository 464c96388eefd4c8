// `berth try` as a process: on drivers that it starts, on one written in Go, and interrupted.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import { serveDirectoryDriver } from './directory-driver.ts';
import { hostpath, leftIn, tried } from './tried.ts';
import { BERTH, berth, mountsBelow, run, temporaryDirectory } from './up-process.ts';

const skip = lacking('mounts');

test('[BYO-1] a driver that mounts nothing is noticed, also in JUnit', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket, volumes } = await serveDirectoryDriver(t, directory, { mountsNothing: true });
  const { code, stdout } = await berth(['try', '-o', 'junit', `--driver=${socket}`, '--timeout=3s'], {
    env: { TMPDIR: directory },
  });
  assert.equal(code, 1);
  assert.match(stdout, /<testsuite name="berth try directory.csi.test" tests="11" failures="1"/);
  assert.match(
    stdout,
    /name="publish it to a pod" time="[\d.]+"><failure message=".*is published, but nothing is mounted at/,
  );
  assert.equal(volumes.size, 0);
});

test('[BYO-1] interrupted, it deletes what it created and fails', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const called = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const { socket, volumes } = await serveDirectoryDriver(t, directory, {
    beforePublish() {
      called.resolve();
      return go.promise;
    },
  });
  const child = spawn(process.execPath, [BERTH, 'try', `--driver=${socket}`, '--timeout=3s'], {
    env: { ...process.env, TMPDIR: directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const exited = once(child, 'exit');
  await called.promise;
  assert.equal(volumes.size, 1);
  child.kill('SIGINT');
  go.resolve();
  assert.deepEqual(await exited, [1, null]);
  assert.match(stderr, /interrupted/);
  assert.equal(volumes.size, 0);
  assert.deepEqual(mountsBelow(directory), []);
});

test('[BYO-2] a driver that Berth starts on two nodes moves its volume between them', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const state = join(directory, 's');
  const { code, steps, stdout, stderr } = await tried(
    directory,
    `--exec=${hostpath(state)}`,
    `--exec=${hostpath(state, '--services=node')}`,
  );
  assert.equal(code, 0, stdout + stderr);
  assert.equal(steps.get('move it to another node')?.state, 'passed');
  assert.deepEqual(readdirSync(join(state, 'volumes')), []);
});

test('[BYO-2] a command that ends at once is an error with what it printed', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { code, stderr, stdout } = await tried(directory, '--exec=echo no such flag >&2; exit 3');
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /the driver did not start: .* ended with exit code 3; it printed: no such flag$/m);
  assert.deepEqual(leftIn(directory), []);
});

const official = missingPeers('hostpathplugin') || skip;
test('[BYO-1] the official hostpath driver, written in Go', { skip: official }, async (t) => {
  const plugin = peerPath('hostpathplugin') ?? '';
  // It answers GetPluginInfo only when it was built with one.
  if (!/\d/.test((await run(plugin, ['--version'])).stdout)) return t.skip('it was built without a version');
  const directory = await temporaryDirectory(t);
  const state = join(directory, 's');
  await mkdir(state);
  const command = `exec ${plugin} --endpoint=$CSI_ENDPOINT --nodeid=$NODE_ID --statedir=${state} --enable-attach=true`;
  const { code, steps, stdout, stderr } = await tried(directory, `--exec=${command}`);
  assert.equal(code, 0, stdout + stderr);
  for (const title of [
    'attach it to a node',
    'snapshot it',
    'restore the snapshot to a new volume',
    'clone it',
  ]) {
    assert.equal(steps.get(title)?.state, 'passed', title);
  }
  const { Volumes } = JSON.parse(await readFile(join(state, 'state.json'), 'utf8'));
  assert.deepEqual(Volumes ?? [], []);
});

// `berth try` as a process: on hostpath, on drivers that are brought or started, on drivers that fail, and interrupted.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import { serveDirectoryDriver } from './directory-driver.ts';
import { BERTH, berth, mountsBelow, run, temporaryDirectory } from './up-process.ts';

const skip = lacking('root');

interface Line {
  subject?: { driver: string; version: string; capabilities: Record<string, string[]> };
  title?: string;
  state?: string;
  why?: string;
  counts?: Record<string, number>;
}

async function tried(directory: string, ...args: string[]) {
  const ended = await berth(['try', '-o', 'json', '--size=1Mi', ...args], {
    env: { TMPDIR: directory },
    timeoutMs: 120_000,
  });
  const lines = ended.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
  const steps = new Map(lines.flatMap(({ title, state, why }) => (title ? [[title, { state, why }]] : [])));
  return { ...ended, lines, steps };
}

/** Node keeps compiled code there, too. */
const leftIn = (directory: string): string[] =>
  readdirSync(directory).filter((name) => name.startsWith('berth'));

const hostpath = (state: string, more = ''): string =>
  `exec ${process.execPath} ${BERTH} driver hostpath --driver-name=other.csi.test --endpoint=$CSI_ENDPOINT --node-id=$NODE_ID --state-dir=${state} ${more}`;

test('[BYO-1] hostpath passes every step, and nothing is left', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { code, lines, stdout, stderr } = await tried(directory);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(lines[0]?.subject?.driver, 'hostpath.csi.berth');
  assert.deepEqual(lines.at(-1)?.counts, { passed: 11, failed: 0, skipped: 0 });
  assert.equal(stderr, '');
  assert.deepEqual(leftIn(directory), []);
});

test('[BYO-1] what a driver cannot do is skipped with the capability that it lacks', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket, volumes } = await serveDirectoryDriver(t, directory);
  const { code, lines, steps, stdout } = await tried(directory, `--driver=${socket}`);
  assert.equal(code, 0, stdout);
  assert.equal(lines[0]?.subject?.version, '1.2.3');
  const expected: [string, string, RegExp?][] = [
    ['create a volume', 'passed'],
    ['attach it to a node', 'skipped', /^the driver does not have PUBLISH_UNPUBLISH_VOLUME$/],
    ['stage it on the node', 'skipped', /STAGE_UNSTAGE_VOLUME/],
    ['publish it to a pod', 'passed'],
    ['write a file and read it', 'passed'],
    ['expand it', 'skipped', /EXPAND_VOLUME/],
    ['snapshot it', 'skipped', /CREATE_DELETE_SNAPSHOT/],
    ['restore the snapshot to a new volume', 'skipped', /CREATE_DELETE_SNAPSHOT/],
    ['clone it', 'skipped', /CLONE_VOLUME/],
    ['move it to another node', 'skipped', /on one node; give the socket of a second/],
    ['delete everything', 'passed'],
  ];
  for (const [title, state, why = /^undefined$/] of expected) {
    assert.equal(steps.get(title)?.state, state, title);
    assert.match(String(steps.get(title)?.why), why, title);
  }
  assert.equal(steps.size, expected.length);
  assert.equal(volumes.size, 0);
  assert.deepEqual(mountsBelow(directory), []);
});

test("[BYO-1] a failure has the driver's own words and the flag to give", { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket } = await serveDirectoryDriver(t, directory, { needs: 'pool' });
  const { code, steps } = await tried(directory, `--driver=${socket}`);
  assert.equal(code, 1);
  assert.match(
    String(steps.get('create a volume')?.why),
    /^CreateVolume failed with gRPC code 3 \(INVALID_ARGUMENT\); the driver said: "parameter pool is missing"; .*--class-parameters/,
  );
  assert.match(
    String(steps.get('delete everything')?.why),
    /^it needs "create a volume", which did not pass$/,
  );
});

test('[BYO-1] parameters are given by a flag, or with the class in a manifest', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const { socket } = await serveDirectoryDriver(t, directory, { needs: 'pool' });
  const given = await tried(directory, `--driver=${socket}`, '--class-parameters=pool=fast');
  assert.equal(given.code, 0, given.stdout);
  const manifest = join(directory, 'class.yaml');
  const meta = 'apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: mine}\n';
  await writeFile(
    manifest,
    `${meta}provisioner: directory.csi.test\nvolumeBindingMode: WaitForFirstConsumer\nparameters: {pool: slow}\n`,
  );
  const ofClass = await tried(directory, `--driver=${socket}`, `--class=${manifest}`);
  assert.equal(ofClass.code, 0, ofClass.stdout + ofClass.stderr);
});

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

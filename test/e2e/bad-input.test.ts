// Whatever is wrong with the machine or the command line: one clear sentence, a non-zero exit, nothing left behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking, programPath } from '../capabilities.ts';
import { BERTH, berth, type Ended, mountsBelow, run, startUp, temporaryDirectory } from './up-process.ts';

const root = { skip: lacking('root') };

/** One line that says what is wrong, and nothing else. */
function refused({ code, stderr }: Ended, text: RegExp): void {
  assert.match(stderr, text);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.ok(code === 1 || code === 2, `exit code ${code}`);
}

test('a port that is taken', root, async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  refused(
    await berth(['up', '--data-dir', dataDir, '--port', String(port)]),
    new RegExp(`port ${port} is in use on 127\\.0\\.0\\.1; .*--port`),
  );
  assert.deepEqual(mountsBelow(dataDir), []);
});

test('a data directory that another berth up uses', root, async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const up = await startUp(t, dataDir);
  const { code, stderr } = await berth(['up', '--data-dir', dataDir]);
  assert.equal(code, 1);
  assert.match(stderr, /state\.db .*(use|lock)/);
  // The first one did not notice.
  assert.equal(up.child.exitCode, null);
  assert.equal(await up.stop(), 0);
});

test('a data directory that is a file, or below one', root, async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'file');
  await writeFile(file, '');
  refused(
    await berth(['up', '--data-dir', file]),
    /cannot be used: there is a file of that name; .*--data-dir/,
  );
  refused(await berth(['up', '--data-dir', join(file, 'x')]), /a part of the path is a file/);
});

test('a data directory on a file system that takes none', root, async (t) => {
  for (const path of ['/proc/berth', '/proc/berth/deeper']) {
    refused(await berth(['up', '--data-dir', path]), /cannot be used: its file system takes no directories/);
  }
  const fixed = join(await temporaryDirectory(t), 'fixed');
  await mkdir(fixed);
  await run('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', fixed]);
  const ended = [
    await berth(['up', '--data-dir', fixed]),
    await berth(['up', '--data-dir', join(fixed, 'a', 'b')]),
  ];
  await run('umount', [fixed]);
  for (const each of ended) refused(each, /cannot be used: its filesystem is read-only/);
});

test('no cluster: the way to one is named', async (t) => {
  const home = await temporaryDirectory(t);
  const env = { HOME: home, KUBECONFIG: '', BERTH_DATA_DIR: join(home, 'none') };
  refused(await berth(['get', 'pods'], { env }), /no Kubernetes configuration.*berth up/);
});

test('a disk without room', root, async (t) => {
  const directory = await temporaryDirectory(t);
  const small = join(directory, 'small');
  await mkdir(small);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
  const ended = await berth(['up', '--data-dir', join(small, 'd')]);
  // Before the directory is removed, which happens first of all that happens after a test.
  await run('umount', [small]);
  refused(ended, /is full: \d+ KiB are free, at least 16 MiB/);
});

test('not root', root, async (t) => {
  const directory = await temporaryDirectory(t);
  await chmod(directory, 0o777);
  const ended = await new Promise<Ended>((resolve) => {
    const child = spawn(process.execPath, [BERTH, 'up', '--data-dir', join(directory, 'd')], {
      uid: 65_534,
      gid: 65_534,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.once('exit', (code) => resolve({ code, stdout: '', stderr }));
  });
  refused(ended, /needs root: run it with sudo, or with --rootless/);
  assert.deepEqual(await readdir(directory), []);
});

test('root that may not mount', {
  skip: root.skip || (programPath('setpriv') === undefined && 'setpriv is not installed'),
}, async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const up = [process.execPath, BERTH, 'up', '--data-dir', dataDir];
  refused(
    await run('setpriv', ['--bounding-set=-sys_admin', '--inh-caps=-sys_admin', ...up]),
    /is root but may not mount .*--privileged/,
  );
});

test('a driver that is not there, or is no driver', root, async (t) => {
  const directory = await temporaryDirectory(t);
  const socket = join(directory, 's');
  const up = (address: string) => berth(['up', '--data-dir', join(directory, 'd'), '--driver', address]);
  refused(await up(`unix://${socket}`), /there is nothing at .*; start your driver with --endpoint/);
  await writeFile(socket, '');
  refused(await up(`unix://${socket}`), /there is no socket at/);
  refused(await up('tcp://127.0.0.1:1'), /--driver.*only unix sockets are supported/);
  const mute = createServer((connection) => connection.end('what?'));
  await new Promise<void>((resolve) => mute.listen(`${socket}2`, resolve));
  t.after(() => mute.close());
  refused(await up(`${socket}2`), /the driver at .* does not answer as it should/);
  assert.deepEqual((await readdir(directory)).toSorted(), ['s', 's2']);
});

test('a kubeconfig that is somebody else’s', root, async (t) => {
  const directory = await temporaryDirectory(t);
  const kubeconfig = join(directory, 'config');
  await writeFile(kubeconfig, 'apiVersion: v1\nkind: Config\nclusters: []\n');
  refused(
    await berth(['up', '--data-dir', join(directory, 'd'), '--kubeconfig', kubeconfig]),
    /exists and was not written by berth, so it was left as it is/,
  );
});

test('flags that make no sense', async () => {
  refused(await berth(['up', '--ephemeral', '--data-dir', '/x']), /exclude each other/);
  refused(await berth(['up', '--nodes', '0']), /--nodes/);
  refused(
    await berth(['up', '--without', 'provisoner']),
    /there is no part "provisoner", only .*provisioner/,
  );
  refused(await berth(['up', '--port', '70000']), /--port/);
});

test('a trace of nothing, or from a server that keeps none', root, async (t: TestContext) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const up = await startUp(t, dataDir);
  const trace = (...args: string[]) => berth(['trace', '--kubeconfig', up.kubeconfig, ...args]);
  refused(await trace('pod', 'nobody'), /nothing is recorded of pod default\/nobody/);
  refused(await trace('node', 'node-1'), /expected pod NAME or pvc NAME/);
  await up.stop();
  refused(await trace('pod', 'nobody'), /cannot be reached/);
});

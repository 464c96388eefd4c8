// `--rootless` as a user without any rights: from a root test as nobody, elsewhere as the user of the tests.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { lacking } from '../capabilities.ts';
import { BERTH, berth, run, temporaryDirectory } from './up-process.ts';

const skip = lacking('namespaces');
const NOBODY = 65_534;
const prefix =
  process.getuid?.() === 0 && !process.env.BERTH_TEST_NAMESPACE
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
    : [];

/** A directory of that user. */
async function home(t: Parameters<typeof temporaryDirectory>[0]): Promise<string> {
  const directory = join(await temporaryDirectory(t), 'home');
  await mkdir(directory);
  if (prefix.length > 0) {
    await chown(join(directory, '..'), NOBODY, NOBODY);
    await chown(directory, NOBODY, NOBODY);
  }
  return directory;
}

const commandLine = (...args: string[]): [string, ...string[]] => {
  const [program = process.execPath, ...rest] = [...prefix, process.execPath, BERTH, ...args];
  return [program, ...rest];
};

test('[BYO-5] berth try passes whole without root', { skip }, async (t) => {
  const directory = await home(t);
  const [program, ...args] = commandLine('try', '--rootless', '--size=1Mi', '-o', 'json');
  const { code, stdout, stderr } = await run(program, args, {
    env: { HOME: directory, TMPDIR: directory, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /\{"counts":\{"passed":11,"failed":0,"skipped":0\}\}\n$/);
});

test('[BYO-5] berth up --rootless mounts in its namespace, refuses block volumes by name, and ends', {
  skip,
}, async (t) => {
  const directory = await home(t);
  const [program, ...args] = commandLine('up', '--rootless', '--without=dashboard');
  const child = spawn(program, args, {
    env: { ...process.env, HOME: directory, TMPDIR: directory, XDG_STATE_HOME: '', BERTH_DATA_DIR: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  let printed = '';
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      printed += `${line}\n`;
      if (line.includes('Ctrl-C stops it')) resolve();
    });
  });
  const data = join(directory, '.local/state/berth');
  assert.match(printed, /rootless +mounts are in its namespace: nsenter .* --target \d+\n/);
  const env = { KUBECONFIG: join(data, 'kubeconfig') };
  const claim = (name: string, mode: string): string =>
    `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ${name}}, spec: {volumeMode: ${mode}, accessModes: ` +
    '[ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}\n---\n';
  const pod =
    '{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: busybox}], volumes: [{name: ' +
    'data, persistentVolumeClaim: {claimName: data}}]}}\n';
  const file = join(directory, 'objects.yaml');
  await writeFile(file, claim('data', 'Filesystem') + claim('raw', 'Block') + pod);
  const must = async (...words: string[]): Promise<string> => {
    const answer = await berth(words, { env });
    assert.equal(answer.code, 0, answer.stderr);
    return answer.stdout;
  };
  await must('apply', '-f', file);
  await must('wait', 'pod/web', '--for=condition=Ready');
  // `wait` has no condition for an event.
  let events = '';
  while (!events.includes('ProvisioningFailed')) events = await must('get', 'events', '-o', 'json');
  assert.match(
    events,
    /needs a loop device .* runs with --rootless, where volumes are directories; run it as root/,
  );
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

test('[BYO-5] a driver outside of the namespace is refused by name', async () => {
  const { code, stderr } = await berth(['up', '--rootless', '--driver=/nowhere.sock']);
  assert.equal(code, 2);
  assert.match(stderr, /cannot mount into it; let Berth start it with --exec/);
});

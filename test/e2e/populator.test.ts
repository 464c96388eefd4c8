// examples/hello-populator on `berth up`: the program under the account of its deploy.yaml, with that account's rights alone. No
// containers run there, so the test does the container's work.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { lacking } from '../capabilities.ts';
import { EXAMPLES, startUp, temporaryDirectory, type UpProcess, undoAfter } from './up-process.ts';

const example = (file: string): string => join(EXAMPLES, 'hello-populator', file);

async function accountConfig(up: UpProcess): Promise<string> {
  const config = parse(await readFile(up.kubeconfig, 'utf8'));
  const token = (await up.kubectl('create', 'token', 'hello-populator', '--namespace=hello')).trim();
  const path = join(up.dataDir, 'hello.kubeconfig');
  await writeFile(path, stringify({ ...config, users: [{ name: config.users[0].name, user: { token } }] }));
  return path;
}

test('the example fills a claim before anybody can use it, with the rights of its account', {
  skip: lacking('root', 'kubectl'),
  timeout: 180_000,
}, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  await up.kubectl('apply', '-f', example('deploy.yaml'));
  await up.kubectl('wait', 'crd/hellos.hello.example.com', '--for=condition=Established', '--timeout=30s');
  const child: ChildProcess = spawn(process.execPath, [example('populator.ts')], {
    env: { ...process.env, KUBECONFIG: await accountConfig(up) },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  undoAfter(t, async () => {
    child.kill();
    await ended;
  });
  await up.kubectl('apply', '-f', example('claim.yaml'));
  const { metadata } = await up.get('pvc', 'greeted');
  const pod = `populate-${metadata.uid}`;
  const inHello = ['--namespace=hello', '--timeout=60s'];
  await up.kubectl('wait', `pod/${pod}`, '--for=create', ...inHello);
  await up.kubectl('wait', `pod/${pod}`, '--for=condition=Ready', ...inHello);
  const { spec, metadata: made } = await up.get('pod', pod, '--namespace=hello');
  const [contents, path] = spec.containers[0].args;
  const { target } = JSON.parse(made.annotations['csi.berth/published-volumes']);
  await writeFile(join(target, path.replace('/mnt/volume/', '')), contents);
  const success = JSON.stringify({ status: { phase: 'Succeeded' } });
  await up.kubectl('patch', 'pod', pod, '--namespace=hello', '--subresource=status', '-p', success);

  const { data = '' } = await up.published('reader');
  assert.equal(await readFile(join(data, 'greeting.txt'), 'utf8'), 'Hello, world!');
  await up.kubectl('wait', `pod/${pod}`, '--for=delete', ...inHello);
  await up.kubectl('wait', `pvc/prime-${metadata.uid}`, '--for=delete', ...inHello);
  const claim = await up.get('pvc', 'greeted');
  assert.deepEqual(claim.metadata.finalizers, ['kubernetes.io/pvc-protection']);
  const reasons = (await up.get('events')).items
    .filter(({ involvedObject }: { involvedObject: { name: string } }) => involvedObject.name === 'greeted')
    .map(({ reason }: { reason: string }) => reason);
  for (const reason of ['PopulatorCreated', 'PopulatorFinished'])
    assert.ok(reasons.includes(reason), `${reason} is among ${reasons.join(', ')}`);
  assert.ok(!reasons.includes('UnrecognizedDataSourceKind'), 'it is registered');
  await up.kubectl('delete', '-f', example('claim.yaml'), '--timeout=60s');
  await up.kubectl('wait', 'pv', '--all', '--for=delete', '--timeout=60s');
  assert.doesNotMatch(said, /forbidden/i);
  child.kill('SIGTERM');
  assert.equal(await ended, 0, said);
});

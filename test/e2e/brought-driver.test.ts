// `--driver`: a driver that somebody else runs, whatever it is written in, through the whole life of a volume.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking, peerPath } from '../capabilities.ts';
import { BERTH, claimAndPod, mountsBelow, run, startUp, temporaryDirectory } from './up-process.ts';

const skip = lacking('root', 'kubectl');

async function startDriver(
  t: Pick<TestContext, 'after'>,
  command: readonly string[],
  socket: string,
): Promise<ChildProcess> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  while (!existsSync(socket)) {
    assert.equal(child.exitCode, null, 'the driver ended');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return child;
}

test('a driver with a socket for its controller and one for each node', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const sockets = ['c', 'n1', 'n2'].map((name) => join(directory, name));
  const [controller = '', ...nodes] = sockets;
  const driver = [process.execPath, BERTH, 'driver', 'hostpath', '--driver-name=other.csi.test'];
  const state = `--state-dir=${join(directory, 's')}`;
  for (const [index, socket] of nodes.entries()) {
    const args = [`--endpoint=unix://${socket}`, `--node-id=other-${index + 1}`, '--services=node', state];
    await startDriver(t, [...driver, ...args], socket);
  }
  const args = [`--endpoint=unix://${controller}`, '--node-id=c', '--services=controller', state];
  await startDriver(t, [...driver, ...args], controller);
  const up = await startUp(t, join(directory, 'd'), [
    '--without=hostpath',
    `--driver=${sockets.map((socket) => `unix://${socket}`).join(',')}`,
  ]);
  await up.apply(claimAndPod('both', { class: 'other.csi.test', mode: 'ReadWriteMany', node: 'node-2' }));
  const { data = '' } = await up.published('both');
  await writeFile(join(data, 'word'), 'hello');
  const object = (await up.get('csidriver', 'other.csi.test')).spec;
  assert.deepEqual([object.podInfoOnMount, object.volumeLifecycleModes], [false, ['Persistent']]);
  const { spec } = (await up.get('volumeattachments')).items[0];
  assert.deepEqual([spec.attacher, spec.nodeName], ['other.csi.test', 'node-2']);
  await up.kubectl('delete', 'pod/both', 'pvc/both');
  await up.kubectl('wait', 'pv', '--all', '--for=delete', '--timeout=45s');
  assert.deepEqual(readdirSync(join(directory, 's', 'volumes')), []);
  assert.equal(await up.stop(), 0);
});

test('[POD-2] [INL-3] a brought driver gets pod information, inline volumes and fsGroup where the flags say that it wants them', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const socket = join(directory, 's.sock');
  const state = `--state-dir=${join(directory, 's')}`;
  const driver = [process.execPath, BERTH, 'driver', 'hostpath', '--driver-name=other.csi.test'];
  await startDriver(t, [...driver, `--endpoint=unix://${socket}`, '--node-id=one', state], socket);
  const args = ['--nodes=1', '--without=hostpath', `--driver=${socket}`];
  const flags = [
    '--driver-pod-info-mount',
    '--driver-volume-lifecycle-modes=Ephemeral',
    '--driver-fs-group-policy=File',
  ];
  const first = await startUp(t, join(directory, 'd'), [...args, ...flags]);
  const { spec } = await first.get('csidriver', 'other.csi.test');
  assert.deepEqual(
    [spec.podInfoOnMount, spec.volumeLifecycleModes, spec.fsGroupPolicy],
    [true, ['Ephemeral'], 'File'],
  );
  const volumes = [{ name: 'data', csi: { driver: 'other.csi.test' } }];
  const containers = [{ name: 'main', image: 'busybox' }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'inline' }, spec: { containers, volumes } };
  await first.apply(JSON.stringify(pod));
  await first.published('inline');
  await first.kubectl('delete', 'pod/inline');
  assert.equal(await first.stop(), 0);
  const second = await startUp(t, join(directory, 'd'), [
    ...args,
    '--driver-volume-lifecycle-modes=Persistent',
    '--allow-inline-handles',
  ]);
  const { metadata } = await second.get('csidriver', 'other.csi.test');
  assert.equal(metadata.annotations?.['csi.berth/inline-handles'], 'allowed');
  assert.match(second.output().stdout, /inline +pods may name any volume of other\.csi\.test by its handle/);
  assert.match(second.output().stderr, /exists and is not changed.*podInfoOnMount, volumeLifecycleModes/);
  assert.equal(await second.stop(), 0);
});

test('[SIDE-2] without anything kept, nothing of it stays with the driver either', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const socket = join(directory, 's.sock');
  const state = join(directory, 's');
  await startDriver(
    t,
    [
      process.execPath,
      BERTH,
      'driver',
      'hostpath',
      '--driver-name=other.csi.test',
      `--endpoint=unix://${socket}`,
      '--node-id=one',
      `--state-dir=${state}`,
    ],
    socket,
  );
  const kubeconfig = join(directory, 'kubeconfig');
  const child = spawn(
    process.execPath,
    [BERTH, 'up', '--ephemeral', '--nodes=1', `--driver=${socket}`, `--kubeconfig=${kubeconfig}`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  // Read on to the end: a process whose output nobody reads any more ends.
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      if (/^ready /m.test(String(chunk))) resolve();
    });
  });
  const kubectl = (args: string[], input?: string) =>
    run('kubectl', ['--kubeconfig', kubeconfig, ...args], { ...(input !== undefined && { input }) });
  await kubectl(['apply', '-f', '-'], claimAndPod('left', { class: 'other.csi.test' }));
  const waited = await kubectl(['wait', 'pod/left', '--for=condition=Ready', '--timeout=45s']);
  assert.equal(waited.code, 0, waited.stderr);
  assert.equal(readdirSync(join(state, 'volumes')).length, 1);
  const spec = { source: { persistentVolumeClaimName: 'left' } };
  const snapshot = { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', spec };
  await kubectl(['apply', '-f', '-'], JSON.stringify({ ...snapshot, metadata: { name: 'left' } }));
  const isReady = '--for=jsonpath={.status.readyToUse}=true';
  const cut = await kubectl(['wait', 'volumesnapshot/left', isReady, '--timeout=45s']);
  assert.equal(cut.code, 0, cut.stderr);
  assert.equal(readdirSync(join(state, 'snapshots')).length, 1);
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.deepEqual(readdirSync(join(state, 'volumes')), []);
  assert.deepEqual(readdirSync(join(state, 'snapshots')), []);
  assert.deepEqual(mountsBelow(directory), []);
});

const official = peerPath('hostpathplugin');
const usable = async (): Promise<string | false> => {
  const missing = lacking('root', 'kubectl', 'BERTH_PEERS');
  if (missing) return missing;
  if (official === undefined) return 'BERTH_PEERS has no hostpathplugin';
  // It answers GetPluginInfo only when it was built with one.
  const { stdout } = await run(official, ['--version']);
  return /\d/.test(stdout) ? false : 'the hostpathplugin of BERTH_PEERS was built without a version';
};

for (const attach of [false, true]) {
  test(`the official hostpath driver, written in Go, ${attach ? 'with' : 'without'} attaching`, {
    skip: await usable(),
  }, async (t) => {
    const directory = await temporaryDirectory(t);
    const socket = join(directory, 'csi.sock');
    const state = join(directory, 's');
    await mkdir(state);
    await startDriver(
      t,
      [
        official ?? '',
        `--endpoint=unix://${socket}`,
        '--nodeid=go-node',
        `--statedir=${state}`,
        `--enable-attach=${attach}`,
      ],
      socket,
    );
    const up = await startUp(t, join(directory, 'd'), [`--driver=unix://${socket}`]);
    await up.apply(claimAndPod('go', { class: 'hostpath.csi.k8s.io-delayed' }));
    const { data = '' } = await up.published('go');
    await writeFile(join(data, 'word'), 'hello');
    assert.equal((await up.get('volumeattachments')).items.length, attach ? 1 : 0);
    const { labels } = (await up.get('node', 'node-1')).metadata;
    assert.equal(labels['topology.hostpath.csi/node'], 'go-node');
    // Restarted over a mounted volume of a driver that lives on.
    assert.equal(await up.stop(), 0);
    const again = await startUp(t, join(directory, 'd'), [`--driver=unix://${socket}`]);
    assert.equal((await again.published('go')).data, data);
    assert.equal(await readFile(join(data, 'word'), 'utf8'), 'hello');
    await again.kubectl('delete', 'pod/go', 'pvc/go');
    await again.kubectl('wait', 'pv', '--all', '--for=delete', '--timeout=45s');
    const { Volumes } = JSON.parse(await readFile(join(state, 'state.json'), 'utf8'));
    assert.deepEqual(Volumes ?? [], []);
    assert.equal(await again.stop(), 0);
  });
}

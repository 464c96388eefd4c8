// `berth up` as a process, driven with kubectl: volumes on two nodes, moved, shared, and across restarts.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it, type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import {
  BERTH,
  claimAndPod,
  claimOf,
  mountsBelow,
  podOf,
  startUp,
  temporaryDirectory,
  type UpProcess,
} from './up-process.ts';

const skip = lacking('root', 'kubectl');

async function nothingLeft(up: UpProcess): Promise<void> {
  for (const kind of ['pods', 'pvc', 'pv', 'volumeattachments']) {
    await up.kubectl('wait', kind, '--all', '--for=delete', '--timeout=45s');
  }
  assert.deepEqual(mountsBelow(up.dataDir), []);
  assert.doesNotMatch(up.output().stderr, /Warning/, 'Node has nothing to warn of');
}

describe('two nodes', { skip }, () => {
  const cleanups: (() => unknown)[] = [];
  let up: UpProcess;
  before(async () => {
    const t = { after: (fn: unknown) => void cleanups.push(fn as () => unknown) };
    up = await startUp(t, join(await temporaryDirectory(t), 'd'), ['--nodes', '2']);
  });
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  it('says that it is ready on one line with the URL, and where the kubeconfig is', async () => {
    while (!up.output().stdout.includes('Ctrl-C')) await new Promise((resolve) => setImmediate(resolve));
    const lines = up.output().stdout.split('\n');
    assert.deepEqual(
      lines.filter((line) => line.startsWith('ready ')),
      [`ready ${up.url}`],
    );
    assert.match(up.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.match(up.output().stdout, new RegExp(`export KUBECONFIG=${up.kubeconfig}`));
  });

  it('has the classes, the driver and the CRDs from the start', async () => {
    const classes = (await up.get('storageclasses')).items;
    assert.deepEqual(
      classes.map((each: { metadata: { name: string }; volumeBindingMode: string; provisioner: string }) => [
        each.metadata.name,
        each.volumeBindingMode,
        each.provisioner,
      ]),
      [
        ['hostpath', 'Immediate', 'hostpath.csi.berth'],
        ['hostpath-delayed', 'WaitForFirstConsumer', 'hostpath.csi.berth'],
      ],
    );
    const driver = await up.get('csidriver', 'hostpath.csi.berth');
    assert.deepEqual(driver.spec.volumeLifecycleModes, ['Persistent', 'Ephemeral']);
    assert.match(await up.kubectl('get', 'crds', '-o', 'name'), /csinodeinfos\.csi\.storage\.k8s\.io/);
    const infos = (await up.get('csinodeinfos')).items;
    assert.equal(infos.length, 2);
  });

  it('[MNT-5] a pod moves to the other node, and its bytes with it', async () => {
    await up.apply(claimAndPod('moving', { node: 'node-1' }));
    const { data = '' } = await up.published('moving');
    await writeFile(join(data, 'word'), 'carried');
    await up.kubectl('delete', 'pod', 'moving');
    await up.apply(JSON.stringify(podOf('moved', { claim: 'moving', node: 'node-2' })));
    const there = (await up.published('moved')).data ?? '';
    assert.notEqual(there, data);
    assert.equal(await readFile(join(there, 'word'), 'utf8'), 'carried');
    const attachments = (await up.get('volumeattachments')).items;
    assert.deepEqual(
      attachments.map((each: { spec: { nodeName: string } }) => each.spec.nodeName),
      ['node-2'],
    );
    await up.kubectl('delete', 'pod/moved', 'pvc/moving');
    await nothingLeft(up);
  });

  it('[ATT-10] a single-node volume is not attached to a second node, and the pod says why', async () => {
    await up.apply(claimAndPod('single', { node: 'node-1' }));
    await up.published('single');
    await up.apply(JSON.stringify(podOf('second', { claim: 'single', node: 'node-2' })));
    await up.kubectl('wait', 'pod/second', '--for=jsonpath={.spec.nodeName}=node-2', '--timeout=45s');
    for (let reason = ''; reason !== 'FailedAttachVolume'; ) {
      reason = await up.kubectl(
        'get',
        'events',
        '--field-selector=involvedObject.name=second,reason=FailedAttachVolume',
        '-o',
        'jsonpath={.items[*].reason}',
      );
    }
    assert.equal((await up.get('volumeattachments')).items.length, 1);
    await up.kubectl('delete', 'pod', 'single');
    await up.published('second');
    await up.kubectl('delete', 'pod/second', 'pvc/single');
    await nothingLeft(up);
  });

  it('[TOP-8] a claim of a delayed class waits for its pod, and is then made where the pod runs', async () => {
    await up.apply(JSON.stringify(claimOf('late', { class: 'hostpath-delayed' })));
    for (let reasons = ''; !reasons.includes('WaitForFirstConsumer'); ) {
      reasons = await up.kubectl(
        'get',
        'events',
        '--field-selector=involvedObject.name=late',
        '-o',
        'jsonpath={.items[*].reason}',
      );
    }
    assert.equal((await up.get('pvc', 'late')).status.phase, 'Pending');
    await up.apply(JSON.stringify(podOf('late', { claim: 'late', node: 'node-2' })));
    await up.published('late');
    const claim = await up.get('pvc', 'late');
    assert.equal(claim.metadata.annotations['volume.kubernetes.io/selected-node'], 'node-2');
    await up.kubectl('delete', 'pod/late', 'pvc/late');
    await nothingLeft(up);
  });

  it('[REG-9] a node that is deleted takes its CSINode with it', async () => {
    const before = await up.get('csinode', 'node-2');
    await up.kubectl('delete', 'node', 'node-2');
    await up.kubectl('wait', 'csinode/node-2', '--for=delete', '--timeout=45s');
    assert.equal(before.metadata.ownerReferences[0].kind, 'Node');
  });
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`[MNT-4] restarted after ${signal} on the same directory, it carries on`, { skip }, async (t) => {
    const dataDir = join(await temporaryDirectory(t), 'd');
    const first = await startUp(t, dataDir);
    await first.apply(claimAndPod('kept'));
    await first.apply(JSON.stringify(claimOf('waiting', { class: 'hostpath-delayed' })));
    const { data = '' } = await first.published('kept');
    await writeFile(join(data, 'word'), 'still here');
    const code = await first.stop(signal);
    if (signal === 'SIGTERM') {
      assert.equal(code, 0);
      assert.deepEqual(mountsBelow(dataDir), [], 'a clean end leaves no mount');
    }
    const second = await startUp(t, dataDir);
    assert.equal((await second.published('kept')).data, data);
    assert.equal(await readFile(join(data, 'word'), 'utf8'), 'still here');
    await second.apply(JSON.stringify(podOf('waiting', { claim: 'waiting' })));
    await second.published('waiting');
    await second.kubectl('delete', 'pod/kept', 'pod/waiting', 'pvc/kept', 'pvc/waiting');
    await nothingLeft(second);
    assert.equal(await second.stop(), 0);
  });
}

test('[MNT-4] a node that runs by itself is killed with a volume mounted, and takes it over when it is back', {
  skip,
}, async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const up = await startUp(t, dataDir, ['--without', 'node-2']);
  const first = await startNode(t, dataDir, 'node-2');
  await up.apply(claimAndPod('here', { node: 'node-2' }));
  await up.apply(claimAndPod('gone', { node: 'node-2' }));
  const { data = '' } = await up.published('here');
  await up.published('gone');
  await writeFile(join(data, 'word'), 'survives');
  await end(first, 'SIGKILL');
  await up.kubectl('delete', 'pod', 'gone', '--wait=false');
  // Nobody unmounts while the node is away, and nobody forgets that it is to be done.
  assert.equal(mountsBelow(dataDir).length, 4);
  await startNode(t, dataDir, 'node-2');
  await up.kubectl('wait', 'pod/gone', '--for=delete', '--timeout=45s');
  assert.equal(await readFile(join(data, 'word'), 'utf8'), 'survives');
  assert.equal((await up.published('here')).data, data);
  await up.kubectl('delete', 'pod/here', 'pvc/here', 'pvc/gone');
  await nothingLeft(up);
  assert.equal(await up.stop(), 0);
});

test('a reader that leaves after the first line (`| head -1`) ends it, and nothing stays', {
  skip: lacking('root'),
}, async () => {
  const child = spawn(process.execPath, [BERTH, 'up', '--ephemeral'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  child.stdout.destroy();
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  const directory = / starts in (\S+)$/.exec(String(line))?.[1] ?? '';
  assert.notEqual(directory, '');
  assert.equal(existsSync(directory), false);
  assert.deepEqual(mountsBelow(directory), []);
});

/** `berth node` with the identity that `berth up` left for it. */
async function startNode(t: TestContext, dataDir: string, name: string): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      BERTH,
      'node',
      `--hostname-override=${name}`,
      `--root-dir=${join(dataDir, 'n', name)}`,
      `--kubeconfig=${join(dataDir, 'kubeconfigs', `${name}.kubeconfig`)}`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  t.after(() => end(child, 'SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('ready ')) break;
  assert.equal(child.exitCode, null);
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

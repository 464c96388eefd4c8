// Snapshots in `berth up`, with real mounts and hostpath: what was written is what comes back, byte by byte; and the two
// components as processes of their own, each in the place of the one that was left out.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import {
  BERTH,
  claimAndPod,
  claimOf,
  podOf,
  startUp,
  temporaryDirectory,
  type UpProcess,
} from './up-process.ts';

const skip = lacking('root', 'kubectl');
const READY = '--for=jsonpath={.status.readyToUse}=true';
const digest = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex');

const snapshotOf = (name: string, source: object, className?: string) =>
  JSON.stringify({
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name },
    spec: { source, ...(className && { volumeSnapshotClassName: className }) },
  });

async function taken(up: UpProcess, name: string, manifest: string): Promise<void> {
  await up.apply(manifest);
  await up.kubectl('wait', `volumesnapshot/${name}`, READY, '--timeout=45s');
}

/** A claim from a snapshot, with a pod that uses it. */
async function restored(up: UpProcess, name: string, snapshot: string): Promise<string> {
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshot };
  const claim = claimOf(name) as { spec: object };
  await up.apply(JSON.stringify({ ...claim, spec: { ...claim.spec, dataSource } }));
  await up.apply(JSON.stringify(podOf(name, { claim: name })));
  return (await up.published(name)).data ?? '';
}

const storedSnapshots = (up: UpProcess) => readdirSync(join(up.dataDir, 'd/hostpath/state/snapshots'));

test('[SIDE-2] what is written is snapshotted, restored, kept and deleted', { skip }, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  await up.apply(claimAndPod('source'));
  const { data = '' } = await up.published('source');
  await writeFile(join(data, 'bytes'), randomBytes(3 << 20));
  const wanted = await digest(join(data, 'bytes'));
  await taken(up, 'first', snapshotOf('first', { persistentVolumeClaimName: 'source' }));
  await writeFile(join(data, 'bytes'), 'something else by now');
  const copy = await restored(up, 'copy', 'first');
  assert.equal(await digest(join(copy, 'bytes')), wanted);
  // The copy is a volume of its own.
  await writeFile(join(copy, 'bytes'), 'changed in the copy');
  const again = await restored(up, 'again', 'first');
  assert.equal(await digest(join(again, 'bytes')), wanted);

  const { status, spec } = await up.get('volumesnapshot', 'first');
  assert.equal(spec.volumeSnapshotClassName, 'hostpath');
  const content = await up.get('volumesnapshotcontent', status.boundVolumeSnapshotContentName);
  assert.deepEqual(storedSnapshots(up), [content.status.snapshotHandle]);
  const table = await up.kubectl('get', 'volumesnapshots');
  assert.match(table, /^first +true +source +\S+ +hostpath +snapcontent-/m);

  // Kept: the object goes, the snapshot stays, and an administrator brings it back.
  await up.kubectl(
    'patch',
    'volumesnapshotcontent',
    content.metadata.name,
    '--type=merge',
    '-p',
    '{"spec":{"deletionPolicy":"Retain"}}',
  );
  await up.kubectl('delete', 'volumesnapshot/first', '--timeout=45s');
  assert.deepEqual(storedSnapshots(up), [content.status.snapshotHandle]);
  await up.apply(
    JSON.stringify({
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotContent',
      metadata: { name: 'brought-back' },
      spec: {
        driver: 'hostpath.csi.berth',
        deletionPolicy: 'Delete',
        source: { snapshotHandle: content.status.snapshotHandle },
        volumeSnapshotRef: { name: 'back', namespace: 'default' },
      },
    }),
  );
  await taken(up, 'back', snapshotOf('back', { volumeSnapshotContentName: 'brought-back' }));
  const third = await restored(up, 'third', 'back');
  assert.equal(await digest(join(third, 'bytes')), wanted);
  await up.kubectl('delete', 'volumesnapshotcontent', content.metadata.name, '--timeout=45s');
  assert.deepEqual(storedSnapshots(up), [content.status.snapshotHandle]);
  await up.kubectl('delete', 'volumesnapshot/back', '--timeout=45s');
  await up.kubectl('wait', 'volumesnapshotcontent', '--all', '--for=delete', '--timeout=45s');
  assert.deepEqual(storedSnapshots(up), []);

  const pods = ['source', 'copy', 'again', 'third'];
  await up.kubectl('delete', ...pods.map((name) => `pod/${name}`), '--timeout=45s');
  await up.kubectl('delete', ...pods.map((name) => `pvc/${name}`), '--timeout=45s');
  assert.equal(await up.stop(), 0);
});

test('[GRP-1] [GRP-2] volumes are snapshotted together, one is restored, and all go with the group', {
  skip,
}, async (t) => {
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  const names = ['data', 'log'];
  for (const name of names) {
    await up.apply(claimAndPod(name));
    const paths = await up.published(name);
    await writeFile(join(paths.data ?? '', 'word'), `in ${name}`);
  }
  await up.kubectl('label', ...names.map((name) => `pvc/${name}`), 'app=db');
  await up.apply(
    JSON.stringify({
      apiVersion: 'groupsnapshot.storage.k8s.io/v1',
      kind: 'VolumeGroupSnapshot',
      metadata: { name: 'all' },
      spec: { source: { selector: { matchLabels: { app: 'db' } } } },
    }),
  );
  await up.kubectl('wait', 'volumegroupsnapshot/all', READY, '--timeout=45s');
  assert.equal(storedSnapshots(up).length, 2);
  const group = await up.get('volumegroupsnapshot', 'all');
  assert.equal(group.spec.volumeGroupSnapshotClassName, 'hostpath');
  const members: { metadata: { name: string }; spec: { source: { persistentVolumeClaimName: string } } }[] = (
    await up.get('volumesnapshot')
  ).items;
  const log = members.find(({ spec }) => spec.source.persistentVolumeClaimName === 'log');
  const copy = await restored(up, 'copy', log?.metadata.name ?? '');
  assert.equal(await readFile(join(copy, 'word'), 'utf8'), 'in log');
  await up.kubectl('delete', 'volumegroupsnapshot/all', '--timeout=45s');
  assert.deepEqual(storedSnapshots(up), []);
  for (const kind of ['volumesnapshot', 'volumesnapshotcontent', 'volumegroupsnapshotcontent']) {
    assert.deepEqual((await up.get(kind)).items, []);
  }
  const pods = [...names, 'copy'];
  await up.kubectl('delete', ...pods.map((name) => `pod/${name}`), '--timeout=45s');
  await up.kubectl('delete', ...pods.map((name) => `pvc/${name}`), '--timeout=45s');
  assert.equal(await up.stop(), 0);
});

test('[SIDE-2] [SIDE-5] each component stands in as a process of its own, and is killed with -9', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const up = await startUp(t, join(directory, 'd'), ['--without=snapshotter,snapshot-controller']);
  const lease = [
    '--leader-election',
    '--leader-election-lease-duration=1s',
    '--leader-election-renew-deadline=900ms',
  ];
  const flags = [
    ...lease,
    '--leader-election-retry-period=50ms',
    '--retry-interval-start=20ms',
    '--leader-election-namespace=kube-system',
  ];
  const start = () => ({
    controller: startPart(t, up, 'snapshot-controller', [...flags, '--http-endpoint=127.0.0.1:0']),
    snapshotter: startPart(t, up, 'snapshotter', [
      ...flags,
      `--csi-address=${join(up.dataDir, 'd/hostpath/csi.sock')}`,
    ]),
  });
  let parts = start();
  await up.apply(claimAndPod('source'));
  const { data = '' } = await up.published('source');
  await writeFile(join(data, 'word'), 'hello');
  const names = ['a', 'b', 'c', 'd'];
  for (const [index, name] of names.entries()) {
    await up.apply(snapshotOf(name, { persistentVolumeClaimName: 'source' }));
    if (index % 2 === 1) await up.kubectl('delete', `volumesnapshot/${name}`, '--wait=false');
    await Promise.all(Object.values(parts).map((part) => part.kill()));
    parts = start();
  }
  for (const name of ['a', 'c']) await up.kubectl('wait', `volumesnapshot/${name}`, READY, '--timeout=45s');
  for (const name of ['b', 'd']) {
    await up.kubectl('wait', `volumesnapshot/${name}`, '--for=delete', '--timeout=45s').catch(() => {});
    assert.equal(await up.kubectl('get', 'volumesnapshot', name, '--ignore-not-found', '-o', 'name'), '');
  }
  await until(() => storedSnapshots(up).length === 2);
  const copy = await restored(up, 'copy', 'a');
  assert.equal(await readFile(join(copy, 'word'), 'utf8'), 'hello');
  await up.kubectl('delete', 'volumesnapshot/a', 'volumesnapshot/c', '--timeout=45s');
  await up.kubectl('wait', 'volumesnapshotcontent', '--all', '--for=delete', '--timeout=45s');
  assert.deepEqual(storedSnapshots(up), []);
  const leases = (await up.get('leases', '-A')).items.map(
    ({ metadata }: { metadata: { name: string } }) => metadata.name,
  );
  assert.ok(leases.includes('snapshot-controller-leader'), String(leases));
  assert.ok(leases.includes('external-snapshotter-leader-hostpath-csi-berth'), String(leases));
  await Promise.all(Object.values(parts).map((part) => part.kill()));
  assert.equal(await up.stop(), 0);
});

async function until(holds: () => boolean): Promise<void> {
  const untilMs = Date.now() + 30_000;
  while (!holds()) {
    assert.ok(Date.now() < untilMs, 'it did not come about');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A part that was left out, as a process with that part's kubeconfig. */
function startPart(t: TestContext, up: UpProcess, part: string, args: string[]): { kill(): Promise<void> } {
  const kubeconfig = join(up.dataDir, 'kubeconfigs', `${part}.kubeconfig`);
  const child = spawn(process.execPath, [BERTH, part, `--kubeconfig=${kubeconfig}`, ...args], {
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  t.after(kill);
  return { kill };
}

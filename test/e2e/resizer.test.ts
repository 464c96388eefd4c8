// Claims that grow, in `berth up` as a process with real volumes: by the resizer inside, by one beside it, and with a
// driver that only expands what nobody uses.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext, test } from 'node:test';
import { lacking } from '../capabilities.ts';
import {
  BERTH,
  claimAndPod,
  claimOf,
  mountsBelow,
  podOf,
  run,
  startUp,
  temporaryDirectory,
  type UpProcess,
} from './up-process.ts';

const skip = lacking('root', 'kubectl');

const request = (up: UpProcess, claim: string, storage: string): Promise<string> =>
  up.kubectl(
    'patch',
    'pvc',
    claim,
    '--patch',
    JSON.stringify({ spec: { resources: { requests: { storage } } } }),
  );

async function grown(up: UpProcess, claim: string, storage: string): Promise<void> {
  const wanted = `--for=jsonpath={.status.capacity.storage}=${storage}`;
  await up.kubectl('wait', 'pvc', claim, wanted, '--timeout=45s');
  const { spec, status } = await up.get('pvc', claim);
  assert.deepEqual([status.conditions ?? [], status.allocatedResourceStatuses], [[], undefined]);
  assert.equal((await up.get('pv', spec.volumeName)).spec.capacity.storage, storage);
}

const classOf = (name: string, parameters: Record<string, string>): string =>
  JSON.stringify({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'hostpath.csi.berth',
    allowVolumeExpansion: true,
    parameters,
  });

async function reasonsOf(up: UpProcess, claim: string): Promise<string[]> {
  const { items } = await up.get('events', '--field-selector', `involvedObject.name=${claim}`);
  return items.map(({ reason }: { reason: string }) => reason);
}

async function cleared(up: UpProcess, ...names: string[]): Promise<void> {
  await up.kubectl('delete', ...names, '--ignore-not-found', '--timeout=45s');
  await up.kubectl('wait', 'pv', '--all', '--for=delete', '--timeout=45s');
  assert.deepEqual(mountsBelow(up.dataDir), []);
}

describe('in one process', { skip }, () => {
  const cleanups: (() => unknown)[] = [];
  let up: UpProcess;
  before(async () => {
    const t = { after: (fn: unknown) => void cleanups.push(fn as () => unknown) };
    up = await startUp(t, join(await temporaryDirectory(t), 'd'));
  });
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  it('[SIDE-1] a directory grows without its node; less than it has is refused, and so is a class that does not allow it', async () => {
    await up.apply(claimAndPod('directory'));
    await up.published('directory');
    await request(up, 'directory', '32Mi');
    await grown(up, 'directory', '32Mi');
    assert.ok((await reasonsOf(up, 'directory')).includes('VolumeResizeSuccessful'));
    await assert.rejects(request(up, 'directory', '16Mi'), /can not be less than status.capacity/);
    await up.kubectl('patch', 'storageclass', 'hostpath', '--patch', '{"allowVolumeExpansion":false}');
    await assert.rejects(request(up, 'directory', '64Mi'), /must support resize/);
    await up.kubectl('patch', 'storageclass', 'hostpath', '--patch', '{"allowVolumeExpansion":true}');
    await cleared(up, 'pod/directory', 'pvc/directory');
  });

  it('[SIDE-1] a block device grows under the pod that has it', { skip: lacking('loop') }, async () => {
    await up.apply(classOf('blocks', { backing: 'image' }));
    const claim = claimOf('block', { class: 'blocks' }) as { spec: object };
    await up.apply(JSON.stringify({ ...claim, spec: { ...claim.spec, volumeMode: 'Block' } }));
    await up.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'block' },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            { name: 'main', image: 'busybox', volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] },
          ],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'block' } }],
        },
      }),
    );
    const { data = '' } = await up.published('block');
    const device = await open(data, 'r');
    const sizeOf = async () => (await run('blockdev', ['--getsize64', data])).stdout.trim();
    try {
      assert.equal(await sizeOf(), `${16 << 20}`);
      await request(up, 'block', '48Mi');
      await grown(up, 'block', '48Mi');
      assert.equal(await sizeOf(), `${48 << 20}`);
    } finally {
      await device.close();
    }
    await cleared(up, 'pod/block', 'pvc/block', 'storageclass/blocks');
  });

  it('[SIDE-1] a filesystem that may not grow while it is mounted grows for the next pod', {
    skip: lacking('loop', 'mkfs.ext4'),
  }, async () => {
    await up.apply(classOf('ext4', { backing: 'image', 'csi.storage.k8s.io/fstype': 'ext4' }));
    await up.apply(claimAndPod('restarted', { class: 'ext4' }));
    await up.published('restarted');
    await request(up, 'restarted', '64Mi');
    const told = '--for=jsonpath={.status.allocatedResources.storage}=64Mi';
    await up.kubectl('wait', 'pvc', 'restarted', told, '--timeout=45s');
    await up.kubectl('delete', 'pod/restarted', '--timeout=45s');
    await up.apply(JSON.stringify(podOf('restarted', { claim: 'restarted' })));
    const { data = '' } = await up.published('restarted');
    await grown(up, 'restarted', '64Mi');
    const { blocks, bsize } = await statfs(data);
    assert.ok(blocks * bsize > 48 << 20);
    await cleared(up, 'pod/restarted', 'pvc/restarted', 'storageclass/ext4');
  });

  it('[SIDE-1] a volume gets the attributes of the class that its claim names', async () => {
    await up.apply(
      JSON.stringify({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name: 'gold' },
        driverName: 'hostpath.csi.berth',
        parameters: { iops: '9000' },
      }),
    );
    await up.apply(JSON.stringify(claimOf('attributed')));
    await up.kubectl('wait', 'pvc', 'attributed', '--for=jsonpath={.status.phase}=Bound', '--timeout=45s');
    await up.kubectl(
      'patch',
      'pvc',
      'attributed',
      '--patch',
      '{"spec":{"volumeAttributesClassName":"gold"}}',
    );
    const wanted = '--for=jsonpath={.status.currentVolumeAttributesClassName}=gold';
    await up.kubectl('wait', 'pvc', 'attributed', wanted, '--timeout=45s');
    const { spec } = await up.get('pvc', 'attributed');
    assert.equal((await up.get('pv', spec.volumeName)).spec.volumeAttributesClassName, 'gold');
    await cleared(up, 'pvc/attributed', 'volumeattributesclass/gold');
  });
});

/** A process of ours, ended after the test. */
function start(t: TestContext, argv: readonly string[]): void {
  const child = spawn(process.execPath, [BERTH, ...argv], { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
}

test('[SIDE-1] without the resizer inside, one beside it does the same with the rights of its role', {
  skip,
}, async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'd');
  const up = await startUp(t, dataDir, ['--without=resizer']);
  await up.apply(JSON.stringify(claimOf('beside')));
  await up.kubectl('wait', 'pvc', 'beside', '--for=jsonpath={.status.phase}=Bound', '--timeout=45s');
  await request(up, 'beside', '32Mi');
  start(t, [
    'resizer',
    `--csi-address=${join(dataDir, 'd/hostpath/csi.sock')}`,
    `--kubeconfig=${join(dataDir, 'kubeconfigs/resizer.kubeconfig')}`,
    '--leader-election',
    '--leader-election-namespace=kube-system',
  ]);
  await grown(up, 'beside', '32Mi');
  await cleared(up, 'pvc/beside');
  assert.equal(await up.stop(), 0);
});

test('[SIDE-1] a driver that expands only what nobody uses is asked once the pod is gone', {
  skip,
}, async (t) => {
  const directory = await temporaryDirectory(t);
  const socket = join(directory, 's.sock');
  start(t, [
    'driver',
    'hostpath',
    '--driver-name=offline.csi.test',
    `--endpoint=unix://${socket}`,
    '--node-id=one',
    `--state-dir=${join(directory, 's')}`,
    '--without=online-expansion',
  ]);
  while (!existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 10));
  const up = await startUp(t, join(directory, 'd'), ['--without=hostpath', `--driver=unix://${socket}`]);
  await up.apply(claimAndPod('offline', { class: 'offline.csi.test' }));
  await up.published('offline');
  await request(up, 'offline', '32Mi');
  const told = '--for=jsonpath={.status.conditions[?(@.type=="ControllerResizeError")].status}=True';
  await up.kubectl('wait', 'pvc', 'offline', told, '--timeout=45s');
  assert.equal((await up.get('pvc', 'offline')).status.capacity.storage, '16Mi');
  await up.kubectl('delete', 'pod/offline', '--timeout=45s');
  await grown(up, 'offline', '32Mi');
  await up.kubectl('delete', 'pvc/offline', '--timeout=45s');
  assert.equal(await up.stop(), 0);
});

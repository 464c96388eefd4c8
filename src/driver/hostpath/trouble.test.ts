import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { linuxMounter, openLinuxMounter } from '../../runtime/mount/linux-mounter.ts';
import { commandSystemCalls } from '../../runtime/mount/mount-command.ts';
import { MountError } from '../../runtime/mount/mount-error.ts';
import { linuxFilesystemTools, runFilesystemProgram } from '../filesystem/filesystem-tools.ts';
import {
  cleanUp,
  codeOf,
  needsRoot,
  release,
  startHostpath,
  use,
  volumeRequest,
} from './testing/hostpath-fixture.ts';

describe('hostpath on a machine in trouble', { skip: needsRoot }, () => {
  it('a full disk is told as such, and leaves nothing half-made', async (t) => {
    const mounter = await openLinuxMounter();
    const disk = await mkdtemp(join(tmpdir(), 'berth-disk-'));
    await mounter.mount({ source: 'tmpfs', target: disk, fsType: 'tmpfs', options: ['size=4m'] });
    try {
      const small = await startHostpath(t, { stateDir: join(disk, 'state') });
      const { volume } = await small.controller.createVolume(volumeRequest());
      const volumeId = volume?.volumeId ?? '';
      const target = small.path('pods/t');
      await use(small, { volumeId, staging: small.path('s'), target });
      execFileSync('sh', ['-c', 'head -c 2500000 /dev/urandom > "$0"/data', target]);
      assert.equal(
        await codeOf(small.controller.createSnapshot({ name: 's', sourceVolumeId: volumeId })),
        'RESOURCE_EXHAUSTED',
      );
      const clone = volumeRequest({
        name: 'c',
        volumeContentSource: { type: { case: 'volume', value: { volumeId } } },
      });
      assert.equal(await codeOf(small.controller.createVolume(clone)), 'RESOURCE_EXHAUSTED');
      assert.deepEqual(await small.contents(), { volumes: [volumeId], snapshots: [] });
      assert.equal((await small.controller.listVolumes({})).entries.length, 1);
      await release(small, { volumeId, staging: small.path('s'), target });
      await small.controller.deleteVolume({ volumeId });
    } finally {
      await mounter.unmount(disk, { lazy: true });
      await rm(disk, { recursive: true });
    }
  });

  it('a missing mkfs is named, with the package to install', async (t) => {
    const driver = await startHostpath(t, {
      backing: 'image',
      tools: {
        ...linuxFilesystemTools,
        format: () => runFilesystemProgram('ext4', 'format', ['mkfs.of-nobody']),
      },
    });
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await assert.rejects(use(driver, place), {
      code: 'FAILED_PRECONDITION',
      description: /mkfs.of-nobody is not installed; install the package e2fsprogs/,
    });
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('data that is no filesystem is never formatted', async (t) => {
    const driver = await startHostpath(t, { backing: 'image' });
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const image = join(driver.stateDir, 'volumes', volumeId);
    const handle = await open(image, 'r+');
    await handle.write('precious', 5_000_000);
    await handle.write('precious', 1_000_000);
    await handle.close();
    const before = createHash('sha256')
      .update(await readFile(image))
      .digest('hex');
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await assert.rejects(use(driver, place), { code: 'FAILED_PRECONDITION', description: /not formatted/ });
    assert.equal(
      createHash('sha256')
        .update(await readFile(image))
        .digest('hex'),
      before,
    );
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('a dead mount at the target, or at the staging path, is cleaned and replaced', async (t) => {
    const driver = await startHostpath(t);
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await use(driver, place);
    await writeFile(join(place.target, 'file'), 'kept');
    for (const path of [place.target, place.staging]) await mountDeadFilesystem(path);
    await assert.rejects(stat(place.target), { code: 'ENOTCONN' });
    const { volumeCondition } = await driver.node.nodeGetVolumeStats({ volumeId, volumePath: place.target });
    assert.match(volumeCondition?.message ?? '', /corrupted/);
    await use(driver, place);
    assert.equal(await readFile(join(place.target, 'file'), 'utf8'), 'kept');
    for (const path of [place.target, place.staging]) await mountDeadFilesystem(path);
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('a loop device that somebody left is replaced; one that is in use is not touched', async (t) => {
    const driver = await startHostpath(t, { backing: 'image' });
    const mounter = await openLinuxMounter();
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const image = join(driver.stateDir, 'volumes', volumeId);
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    const { device } = await mounter.loop.attach(image, {});
    const user = await open(device, 'r');
    assert.equal(await codeOf(use(driver, place)), 'ABORTED');
    await user.close();
    await use(driver, place);
    assert.equal((await mounter.loop.find(image)).length, 1);
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('works by the programs of the system where there is no native binding', async (t) => {
    const driver = await startHostpath(t, { backing: 'image', mounter: linuxMounter(commandSystemCalls()) });
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await use(driver, place);
    await writeFile(join(place.target, 'file'), 'x');
    const { snapshot } = await driver.controller.createSnapshot({ name: 's', sourceVolumeId: volumeId });
    await driver.controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? '' });
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('after a reboot the same calls mount everything again', async (t) => {
    const driver = await startHostpath(t, { backing: 'image' });
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await use(driver, place);
    await writeFile(join(place.target, 'file'), 'kept');
    // Simulates a reboot: the mount table is empty.
    await cleanUp(driver.root);
    await use(driver, place);
    assert.equal(await readFile(join(place.target, 'file'), 'utf8'), 'kept');
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });

  it('without root it says what is missing', async (t) => {
    const mounter = await openLinuxMounter();
    const denied = () =>
      Promise.reject(new MountError({ operation: 'bind-mount', path: '/x', code: 'EPERM' }));
    const driver = await startHostpath(t, { mounter: { ...mounter, bind: denied } });
    const { volume } = await driver.controller.createVolume(volumeRequest());
    const volumeId = volume?.volumeId ?? '';
    const place = { volumeId, staging: driver.path('s'), target: driver.path('pods/t') };
    await assert.rejects(use(driver, place), {
      code: 'FAILED_PRECONDITION',
      description: /run the driver as root/,
    });
    await release(driver, place);
    await driver.controller.deleteVolume({ volumeId });
  });
});

/** Mounts a FUSE filesystem whose daemon ends at once. */
async function mountDeadFilesystem(path: string): Promise<void> {
  const fuse = await open('/dev/fuse', 'r+');
  const mounter = await openLinuxMounter();
  await mounter.mount({
    source: 'dead',
    target: path,
    fsType: 'fuse',
    options: [`fd=${fuse.fd}`, 'rootmode=40000', 'user_id=0', 'group_id=0'],
  });
  await fuse.close();
}

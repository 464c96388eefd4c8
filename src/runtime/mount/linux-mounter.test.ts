import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { lacking } from '../../../test/capabilities.ts';
import { realClock } from '../time/clock.ts';
import { whileFast } from '../time/while-fast.ts';
import { linuxMounter } from './linux-mounter.ts';
import { commandSystemCalls } from './mount-command.ts';
import { errnoName, isCorruptedMountError } from './mount-error.ts';
import type { Mounter } from './mounter.ts';
import { bindSystemCalls } from './system-calls.ts';

const skip = lacking('root');

for (const [name, open] of [
  ['system calls', async () => linuxMounter(await bindSystemCalls())],
  [
    'system calls made right here',
    async () => linuxMounter(await bindSystemCalls({ whileFast: whileFast(realClock) })),
  ],
  // As on kernels without openat2.
  ['system calls alone', async () => linuxMounter({ ...(await bindSystemCalls()), peek: () => undefined })],
  ['mount(8)', async () => linuxMounter(commandSystemCalls())],
] as const) {
  describe(`linux mounter by ${name}`, { skip }, () => {
    let mounter: Mounter;
    let root: string;
    let source: string;
    let target: string;

    beforeEach(async () => {
      mounter = await open();
      root = await mkdtemp(join(tmpdir(), 'berth-mount '));
      source = join(root, 'source');
      target = join(root, 'target');
      await mkdir(source);
      await mkdir(target);
      await writeFile(join(source, 'file'), 'content');
    });

    afterEach(async () => {
      const left = (await mounter.list()).filter((entry) => entry.mountPoint.startsWith(root));
      for (const entry of left.reverse()) await mounter.unmount(entry.mountPoint, { lazy: true });
      await rm(root, { recursive: true });
      assert.deepEqual(left, [], 'the test left mounts behind');
    });

    it('binds a directory, sees it as a mount point on the same filesystem, and unmounts it', async () => {
      assert.equal(await mounter.isMountPoint(target), false);
      assert.equal(await mounter.inspect(target), 'plain');
      await mounter.bind(source, target);
      assert.equal(await readFile(join(target, 'file'), 'utf8'), 'content');
      assert.equal(await mounter.isMountPoint(target), true);
      assert.equal(await mounter.inspect(target), 'mounted');
      assert.equal(await mounter.isMountPoint(source), false);
      const [entry, ...more] = await mounter.mountsAt(target);
      assert.equal(more.length, 0);
      assert.ok(entry?.root.endsWith('/source'));
      await mounter.unmount(target);
      assert.equal(await mounter.isMountPoint(target), false);
    });

    it('binds a file', async () => {
      const file = join(root, 'file target');
      await writeFile(file, '');
      await mounter.bind(join(source, 'file'), file);
      assert.equal(await readFile(file, 'utf8'), 'content');
      assert.equal(await mounter.isMountPoint(file), true);
      await mounter.unmount(file);
    });

    it('binds read-only with further options, and remounts', async () => {
      await mounter.bind(source, target, { readOnly: true, options: ['noexec'], propagation: 'private' });
      await assert.rejects(writeFile(join(target, 'new'), ''), { code: 'EROFS' });
      assert.ok((await mounter.mountsAt(target))[0]?.options.includes('noexec'));
      await mounter.remount(target, ['rw']);
      await writeFile(join(target, 'new'), '');
      const options = (await mounter.mountsAt(target))[0]?.options ?? [];
      assert.ok(options.includes('noexec') && options.includes('rw'), String(options));
      await mounter.remount(target, ['ro']);
      await assert.rejects(writeFile(join(target, 'new'), ''), { code: 'EROFS' });
      await mounter.unmount(target);
    });

    it('unmounts a stack, and nothing, and a path that does not exist', async () => {
      await mounter.bind(source, target);
      await mounter.bind(source, target);
      assert.equal((await mounter.mountsAt(target)).length, 2);
      await mounter.unmount(target);
      assert.equal((await mounter.mountsAt(target)).length, 0);
      await mounter.unmount(target);
      await mounter.unmount(join(root, 'absent', 'path'));
      assert.equal(await mounter.inspect(join(root, 'absent')), 'absent');
      assert.equal(await mounter.isMountPoint(join(root, 'absent')), false);
    });

    it('finds a mount through a symbolic link in its path', async () => {
      await mounter.bind(source, target);
      await symlink(root, join(root, 'link'));
      assert.equal((await mounter.mountsAt(join(root, 'link', 'target'))).length, 1);
      assert.equal(await mounter.isMountPoint(join(root, 'link', 'target')), true);
      await mounter.unmount(join(root, 'link', 'target'));
    });

    it('treats a symlink as itself, whatever its target', async () => {
      await mounter.bind(source, target);
      await symlink(target, join(root, 'link'));
      assert.equal(await mounter.inspect(join(root, 'link')), 'plain');
      assert.equal(await mounter.isMountPoint(join(root, 'link')), false);
      await mounter.unmount(target);
    });

    it('reports failures by error code', async () => {
      await assert.rejects(mounter.bind(join(root, 'absent'), target), { code: 'ENOENT' });
      const options = ['no-such-option=1'];
      await assert.rejects(mounter.mount({ source: 'tmpfs', target, fsType: 'tmpfs', options }), {
        code: 'EINVAL',
      });
    });

    it('reports a busy mount, and detaches it lazily', async () => {
      await mounter.mount({ source: 'tmpfs', target, fsType: 'tmpfs', options: ['size=1m', 'mode=700'] });
      await mounter.mount({ source: 'tmpfs', target: await made(join(target, 'below')), fsType: 'tmpfs' });
      await assert.rejects(mounter.unmount(target), { code: 'EBUSY' });
      await mounter.unmount(target, { lazy: true });
      assert.deepEqual(await mounter.mountsAt(target), []);
    });

    it('reports usage and sizes', async () => {
      await mounter.mount({ source: 'tmpfs', target, fsType: 'tmpfs', options: ['size=1m'] });
      const usage = await mounter.usage(target);
      assert.equal(usage.totalBytes, 1n << 20n);
      assert.equal(usage.availableBytes, 1n << 20n);
      await mounter.unmount(target);
      await truncate(join(source, 'file'), 4096);
      assert.equal(await mounter.sizeOf(join(source, 'file')), 4096n);
      await assert.rejects(mounter.sizeOf(source), { code: 'ENOTBLK' });
    });

    it('attaches, grows, finds and detaches a loop device', async () => {
      const image = join(root, 'image');
      await writeFile(image, '');
      await truncate(image, 1 << 20);
      assert.deepEqual(await mounter.loop.find(image), []);
      const { device, release } = await mounter.loop.attach(image, {});
      await release();
      assert.deepEqual(await mounter.loop.find(image), [device]);
      assert.equal(await mounter.sizeOf(device), 1n << 20n);
      await truncate(image, 2 << 20);
      await mounter.loop.refreshSize(device);
      assert.equal(await mounter.sizeOf(device), 2n << 20n);
      await mounter.loop.detach(device);
      await mounter.loop.detach(device);
      assert.deepEqual(await mounter.loop.find(image), []);
    });
  });
}

describe('loop devices that clear themselves', { skip }, () => {
  it('go with the descriptor, or with the last mount', async () => {
    const mounter = linuxMounter(await bindSystemCalls());
    const root = await mkdtemp(join(tmpdir(), 'berth-loop-'));
    after(() => rm(root, { recursive: true }));
    const image = join(root, 'image');
    await writeFile(image, '');
    await truncate(image, 8 << 20);
    const unused = await mounter.loop.attach(image, { autoClear: true });
    assert.deepEqual(await mounter.loop.find(image), [unused.device]);
    await unused.release();
    await gone(mounter, image);

    execFileSync('mkfs.ext4', ['-q', image]);
    const target = await made(join(root, 'target'));
    const used = await mounter.loop.attach(image, { autoClear: true });
    await mounter.mount({ source: used.device, target, fsType: 'ext4' });
    await used.release();
    assert.deepEqual(await mounter.loop.find(image), [used.device]);
    await mounter.unmount(target);
    await gone(mounter, image);
  });
});

describe('mount errors', () => {
  it('know corrupted mounts by code', () => {
    for (const code of ['ENOTCONN', 'ESTALE', 'EIO', 'EHOSTDOWN'])
      assert.ok(isCorruptedMountError({ code }), code);
    assert.ok(isCorruptedMountError({ code: 'Unknown system error -116', errno: -116 }));
    for (const code of ['ENOENT', 'EBUSY', 'EINVAL']) assert.ok(!isCorruptedMountError({ code }), code);
    assert.equal(errnoName(16), 'EBUSY');
    assert.equal(errnoName(116), 'ESTALE');
    assert.equal(errnoName(19), 'ENODEV');
  });
});

async function made(path: string): Promise<string> {
  await mkdir(path, { recursive: true });
  return path;
}

/** The kernel removes an auto-clear device asynchronously. */
async function gone(mounter: Mounter, image: string): Promise<void> {
  while ((await mounter.loop.find(image)).length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

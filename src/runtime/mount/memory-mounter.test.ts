import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryMounter } from './memory-mounter.ts';

describe('memory mounter', () => {
  it('keeps a mount table like the real one', async () => {
    const mounter = memoryMounter();
    await mounter.mount({ source: '/dev/sda', target: '/stage', fsType: 'ext4', options: ['noatime'] });
    await mounter.bind('/stage', '/publish', { readOnly: true });
    assert.deepEqual(
      (await mounter.list()).map(({ mountPoint, source, fsType, options }) => [
        mountPoint,
        source,
        fsType,
        options,
      ]),
      [
        ['/stage', '/dev/sda', 'ext4', ['rw', 'noatime']],
        ['/publish', '/dev/sda', 'ext4', ['ro']],
      ],
    );
    await mounter.remount('/publish', ['rw']);
    assert.deepEqual((await mounter.mountsAt('/publish'))[0]?.options, ['rw']);
    await mounter.unmount('/publish');
    await mounter.unmount('/publish');
    assert.equal(await mounter.inspect('/publish'), 'plain');
    assert.equal(await mounter.inspect('/stage'), 'mounted');
  });

  it('fails by name, before or after the effect', async () => {
    const faults = [{ code: 'EIO' }, { code: 'EINTR', after: true }];
    const mounter = memoryMounter({
      fault: ({ operation }) => (operation === 'bind' ? faults.shift() : undefined),
    });
    await assert.rejects(mounter.bind('/a', '/b'), { code: 'EIO' });
    assert.equal(await mounter.isMountPoint('/b'), false);
    await assert.rejects(mounter.bind('/a', '/b'), { code: 'EINTR' });
    assert.equal(await mounter.isMountPoint('/b'), true);
  });

  it('plays a corrupted mount until it is unmounted, and a reboot', async () => {
    const mounter = memoryMounter();
    await mounter.bind('/a', '/b');
    mounter.corrupt('/b');
    assert.equal(await mounter.inspect('/b'), 'corrupted');
    await assert.rejects(mounter.usage('/b'), { code: 'EIO' });
    await mounter.unmount('/b', { lazy: true });
    assert.equal(await mounter.inspect('/b'), 'plain');
    await mounter.bind('/a', '/b');
    const { device } = await mounter.loop.attach('/image', {});
    assert.deepEqual(await mounter.loop.find('/image'), [device]);
    mounter.reboot();
    assert.deepEqual(await mounter.list(), []);
    assert.deepEqual(await mounter.loop.find('/image'), []);
  });
});

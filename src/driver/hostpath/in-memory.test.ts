import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../runtime/log/log.ts';
import { memoryMounter } from '../../runtime/mount/memory-mounter.ts';
import { seededRandom } from '../../runtime/random.ts';
import { VirtualClock } from '../../runtime/time/virtual-clock.ts';
import { driverServices } from '../driver-services.ts';
import { openStateStore } from '../state/state-store.ts';
import { createHostpath } from './create-hostpath.ts';
import { processLocks } from './state/host-locks.ts';
import { memoryFiles, memoryFilesystemTools } from './state/memory-files.ts';
import { capability, clientsOf, release, use, volumeRequest } from './testing/hostpath-fixture.ts';

async function startInMemory(seed: number) {
  const mounter = memoryMounter();
  const files = memoryFiles();
  const hostpath = await createHostpath({
    stateDir: '/state',
    clock: new VirtualClock(),
    random: seededRandom(seed),
    log: silentLog,
    mounter,
    files,
    tools: memoryFilesystemTools(),
    store: openStateStore(':memory:'),
    locks: processLocks(),
  });
  const driver = hostpath.driver({ controller: true, node: { nodeId: 'node-1' } });
  return { mounter, files, hostpath, ...clientsOf(driverServices(driver, { log: silentLog })) };
}

describe('hostpath in memory, as simulations use it', () => {
  for (const backing of ['directory', 'image']) {
    it(`goes through the life of a volume without touching the machine, as ${backing}`, async () => {
      const driver = await startInMemory(1);
      const { controller, mounter, files, hostpath } = driver;
      const { volume } = await controller.createVolume(volumeRequest({ parameters: { backing } }));
      const place = { volumeId: volume?.volumeId ?? '', staging: '/staging', target: '/target' };
      await use(driver, place);
      assert.deepEqual(
        mounter.mounts.map(({ mountPoint }) => mountPoint),
        ['/staging', '/target'],
      );
      const { snapshot } = await controller.createSnapshot({ name: 's', sourceVolumeId: place.volumeId });
      assert.equal(mounter.frozen.size, 0);
      await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? '' });
      await release(driver, place);
      await controller.deleteVolume({ volumeId: place.volumeId });
      assert.deepEqual(mounter.mounts, []);
      assert.equal(mounter.loops.size, 0);
      assert.deepEqual([...files.paths.keys()], ['/staging']);
      hostpath.close();
    });
  }

  it('gives the same identifiers for the same seed', async () => {
    const ids = async () => {
      const { controller, hostpath } = await startInMemory(7);
      const { volume } = await controller.createVolume(volumeRequest({ volumeCapabilities: [capability()] }));
      hostpath.close();
      return volume?.volumeId;
    };
    assert.equal(await ids(), await ids());
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePublishVolumeRequest, NodeStageVolumeRequest } from '../../csi/generated/csi/v1/csi_pb.ts';
import { inWorld } from '../testing/node-world.ts';

const DRIVER = 'scripted.csi.test';
const claimVolume = (name: string, claimName = name, readOnly = false) => ({
  name,
  persistentVolumeClaim: { claimName, readOnly },
});

test('[MNT-1] waits for attach, stages once for two pods, publishes at a path of pod and volume, passes the publish context on', (t) =>
  inWorld(t, {}, async (world) => {
    const driver = world.scripted();
    await world.startNode();
    await world.register('n1', driver);
    await world.driverObject(DRIVER);
    await world.volume({ name: 'data', driver: DRIVER, csi: { volumeAttributes: { made: 'by hand' } } });
    const pods = [
      await world.pod('a', [claimVolume('data')]),
      await world.pod('b', [claimVolume('vol', 'data')]),
    ];
    await world.untilInUse('n1', [`kubernetes.io/csi/${DRIVER}^handle-data`]);
    assert.deepEqual(
      driver.calls.filter(({ method }) => method.includes('Volume')),
      [],
      'nothing before it is attached',
    );
    await world.attach('pv-data', { driver: DRIVER, handle: 'handle-data', context: { device: '/dev/x' } });
    const running = await Promise.all(pods.map((pod) => world.untilRunning(pod)));
    const staged = driver.callsOf<NodeStageVolumeRequest>('NodeStageVolume');
    assert.equal(staged.length, 1);
    assert.deepEqual({ ...staged[0]?.publishContext }, { device: '/dev/x' });
    const published = driver.callsOf<NodePublishVolumeRequest>('NodePublishVolume');
    assert.deepEqual(
      published.map(({ targetPath }) => targetPath.replace(world.root('n1'), '')).sort(),
      running.map((pod) => `/pods/${pod.metadata.uid}/volumes/kubernetes.io~csi/pv-data/mount`).sort(),
    );
    for (const call of published) {
      assert.deepEqual({ ...call.publishContext }, { device: '/dev/x' });
      assert.deepEqual({ ...call.volumeContext }, { made: 'by hand' });
      assert.equal(call.stagingTargetPath, staged[0]?.stagingTargetPath);
    }
    assert.equal(driver.mostAtOnce.get('handle-data'), 1, 'one call at a time for a volume');
    await Promise.all(pods.map((pod) => world.deletePod(pod)));
    await Promise.all(pods.map((pod) => world.untilGone(pod)));
    await world.untilInUse('n1', []);
    assert.equal(driver.callsOf('NodeUnpublishVolume').length, 2);
    assert.equal(driver.callsOf('NodeUnstageVolume').length, 1);
  }));

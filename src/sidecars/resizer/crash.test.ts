// The resizer crashes before and after each of its calls, to the API server and to the driver, and another one takes
// over: at the end claim, volume and driver agree, and the driver was never asked for two sizes at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerExpandVolumeRequest } from '../../csi/generated/csi/v1/csi_pb.ts';
import { Crash } from '../testing/crash.ts';
import { attributesClass, isResizedTo, type ResizerWorld, resizerWorld } from './testing/resizer-world.ts';

const GiB = 1n << 30n;

interface Story {
  name: string;
  /** Number of calls in the whole operation. */
  calls: number;
  nodeExpansionRequired?: boolean;
  /** The user's request. */
  ask(world: ResizerWorld): Promise<unknown>;
  /** Resolves once the request is met; checks that all objects agree. */
  reached(world: ResizerWorld): Promise<void>;
}

const stories: Story[] = [
  {
    // Claim, driver, volume, claim.
    name: 'growing on the controller',
    calls: 4,
    nodeExpansionRequired: false,
    ask: (world) => world.request('data', '2Gi'),
    async reached(world) {
      await world.claim('data', isResizedTo('2Gi'));
      assert.equal((await world.volume('data')).spec.capacity?.storage, '2Gi');
      assert.equal(world.driver.volumes.get('vol-data')?.capacityBytes, 2n * GiB);
    },
  },
  {
    // Claim, driver, volume, claim.
    name: 'growing up to the node',
    calls: 4,
    ask: (world) => world.request('data', '2Gi'),
    async reached(world) {
      await world.claim(
        'data',
        ({ status }) => status?.allocatedResourceStatuses?.storage === 'NodeResizePending',
      );
      const volume = await world.volume('data');
      assert.equal(volume.spec.capacity?.storage, '2Gi');
      assert.equal(volume.metadata.annotations?.['volume.alpha.kubernetes.io/pre-resize-capacity'], '1Gi');
    },
  },
  {
    // Claim, driver, volume, claim.
    name: 'modifying',
    calls: 4,
    async ask(world) {
      await attributesClass(world, 'gold', { iops: '9000' });
      await world.wantClass('data', 'gold');
    },
    async reached(world) {
      await world.claim(
        'data',
        ({ status }) =>
          status?.currentVolumeAttributesClassName === 'gold' && status.modifyVolumeStatus === undefined,
      );
      assert.equal((await world.volume('data')).spec.volumeAttributesClassName, 'gold');
      assert.deepEqual(world.driver.volumes.get('vol-data')?.mutableParameters, { iops: '9000' });
    },
  },
];

const worldOf = ({ nodeExpansionRequired = true }: Story) => ({
  driver: { controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] as never, nodeExpansionRequired },
});

for (const story of stories) {
  for (let at = 0; at < story.calls; at++) {
    for (const when of ['before', 'after'] as const) {
      test(`[SIDE-1] a crash ${when} call ${at + 1} of ${story.name} is repaired by the next resizer`, async (t) => {
        const world = await resizerWorld(t, worldOf(story));
        await world.bound('data');
        await story.ask(world);
        const crash = new Crash(at, when);
        // Never stopped: its reconciler waits for a response that never comes.
        await world.start(({ kube, csi }) => ({ kube: crash.kube(kube), csi: crash.csi(csi) }), {
          abandoned: true,
        });
        await crash.happened.promise;
        await world.start();
        await story.reached(world);
        const sizes = world.driver
          .callsOf<ControllerExpandVolumeRequest>('ControllerExpandVolume')
          .map(({ capacityRange }) => capacityRange?.requiredBytes);
        assert.ok(new Set(sizes).size <= 1, `asked for ${sizes}`);
      });
    }
  }

  test(`[SIDE-1] these are all the calls of ${story.name}`, async (t) => {
    const world = await resizerWorld(t, worldOf(story));
    await world.bound('data');
    const never = new Crash(-1, 'before');
    await world.start(({ kube, csi }) => ({ kube: never.kube(kube), csi: never.csi(csi) }));
    await story.ask(world);
    await story.reached(world);
    assert.equal(never.calls, story.calls);
  });
}

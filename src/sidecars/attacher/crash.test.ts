// The attacher crashes before and after each of its calls, to the API server and to the driver, and another one takes
// over: at the end the volume is where the attachment says, and nothing is left behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csiNodes, persistentVolumes, volumeAttachments } from '../../api/kinds.ts';
import { Crash } from '../testing/crash.ts';
import {
  attacherWorld,
  attachment,
  existing,
  FINALIZER,
  ourNode,
  pv,
  soon,
} from './testing/attacher-world.ts';

/** Attach: record, protect, publish, status. Detach: unpublish, release; then the volume's finalizer. */
const CALLS = { attach: 4, detach: 3 };

for (const phase of ['attach', 'detach'] as const) {
  for (let at = 0; at < CALLS[phase]; at++) {
    for (const when of ['before', 'after'] as const) {
      test(`a crash ${when} call ${at + 1} of ${phase}ing is repaired by the next attacher`, async (t) => {
        const world = await attacherWorld(t);
        existing(world.driver, 'vol-pv1');
        await world.make(csiNodes, ourNode());
        await world.make(persistentVolumes, pv('pv1'));
        await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
        if (phase === 'detach') {
          const peaceful = await world.start();
          await world.attached('va');
          await peaceful.stop();
          await world.admin.delete(volumeAttachments, { name: 'va' });
        }
        const crash = new Crash(at, when);
        // Never stopped: its reconciler waits for ever for the answer it will not see.
        await world.start(({ kube, csi }) => ({ kube: crash.kube(kube), csi: crash.csi(csi) }), {
          abandoned: true,
        });
        await crash.happened.promise;

        await world.start();
        if (phase === 'attach') {
          const attached = await world.attached('va');
          assert.ok(attached.metadata.finalizers?.includes(FINALIZER));
          assert.deepEqual(
            [...(world.driver.volumes.get('vol-pv1')?.publishedOn.keys() ?? [])],
            ['id-node-a'],
          );
          const volume = await world.admin.get(persistentVolumes, { name: 'pv1' });
          assert.ok(volume.metadata.finalizers?.includes(FINALIZER));
          await world.admin.delete(volumeAttachments, { name: 'va' });
        }
        await world.gone('va');
        await world.volumes.waitFor('pv1', (each) => !each?.metadata.finalizers?.includes(FINALIZER), soon());
        assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
      });
    }
  }
}

test('these are all the calls there are', async (t) => {
  const world = await attacherWorld(t);
  existing(world.driver, 'vol-pv1');
  await world.make(csiNodes, ourNode());
  await world.make(persistentVolumes, pv('pv1'));
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
  const never = new Crash(-1, 'before');
  await world.start(({ kube, csi }) => ({ kube: never.kube(kube), csi: never.csi(csi) }));
  await world.attached('va');
  assert.equal(never.calls, CALLS.attach);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  await world.volumes.waitFor('pv1', (each) => !each?.metadata.finalizers?.includes(FINALIZER), soon());
  assert.equal(never.calls, CALLS.attach + CALLS.detach);
});

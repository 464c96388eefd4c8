// What happens between two calls of the controller: each test puts one thing there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes, volumeAttachments } from '../../api/kinds.ts';
import { uniqueVolumeName } from '../../api/volumes.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { attachDetachWorld, DRIVER } from './testing/attach-detach-world.ts';

const VOLUME = uniqueVolumeName(DRIVER, 'data');

test('[ATT-10] a volume that the node begins to use at the last moment is not detached, and is listed again', async (t) => {
  let mountNow = async () => {};
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...kube,
      patch: async (...call) => {
        await mountNow();
        return kube.patch(...call);
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  const status = { volumesInUse: [VOLUME] };
  const patch = () =>
    w.kube.patch(nodes, { name: 'n1' }, { status }, { type: 'merge', subresource: 'status' });
  mountNow = async () => {
    mountNow = async () => {};
    await patch();
  };
  await w.removePod('p');
  await w.settle();
  assert.equal(w.attachment('data', 'n1')?.metadata.deletionTimestamp, undefined);
  assert(w.isAttached('data', 'n1'));
  assert.deepEqual(
    (await w.readNode('n1')).status?.volumesAttached?.map(({ name }) => name),
    [VOLUME],
  );
  await w.nodeStatus('n1', { volumesInUse: [] });
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('[ATT-10] a use that only a write’s response shows, never the watch, delays the detach exactly until it ends', async (t) => {
  const lag = lagging(nodes);
  const w = await attachDetachWorld(t, { faults: lag.faults });
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  lag.hold();
  await w.nodeStatus('n1', { volumesInUse: [VOLUME] });
  await w.removePod('p');
  await w.clock.advance(10_000);
  assert(w.isAttached('data', 'n1'));
  assert.deepEqual(
    (await w.readNode('n1')).status?.volumesAttached?.map(({ name }) => name),
    [VOLUME],
  );
  await w.nodeStatus('n1', { volumesInUse: [] });
  lag.expire();
  await w.clock.advance(10_000);
  assert.deepEqual(w.attachments.list(), []);
});

for (const [what, forced, back] of [
  [
    'comes back',
    { conditions: [{ type: 'Ready', status: 'Unknown' }] },
    (kube: KubeClient) =>
      kube.patch(
        nodes,
        { name: 'n1' },
        { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
        { type: 'merge', subresource: 'status' },
      ),
  ],
  [
    'is in service again',
    undefined,
    (kube: KubeClient) => kube.patch(nodes, { name: 'n1' }, { spec: { taints: [] } }, { type: 'merge' }),
  ],
] as const) {
  test(`[ATT-10] a node that ${what} at the last moment before a forced detach keeps its volume until it has unmounted it`, async (t) => {
    let backNow = async () => {};
    const w = await attachDetachWorld(t, {
      faults: (kube) => ({
        ...kube,
        patch: async (...call) => {
          await backNow();
          return kube.patch(...call);
        },
      }),
    });
    const { metrics } = await w.startController();
    await w.node('n1');
    await w.volume('data');
    await w.pod('p', 'n1', ['data']);
    await w.settle();
    await w.nodeStatus('n1', { volumesInUse: [VOLUME], ...forced });
    await w.removePod('p');
    let cameBack = 0;
    backNow = async () => {
      backNow = async () => {};
      cameBack++;
      await back(w.kube);
    };
    if (forced === undefined) {
      const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
      await w.make(w.kube.patch(nodes, { name: 'n1' }, { spec: { taints } }, { type: 'merge' }));
    }
    await w.clock.advance(6 * 60_000 + 10_000);
    assert.equal(cameBack, 1, 'a forced detach was begun');
    assert(w.isAttached('data', 'n1'));
    await w.nodeStatus('n1', { volumesInUse: [] });
    await w.clock.advance(10_000);
    assert.deepEqual(w.attachments.list(), []);
    assert.doesNotMatch(await metrics.text(), /forced_detaches\{.*\} 1/);
  });
}

test('[ATT-10] a volume is removed from volumesAttached before the detach, so that the node does not start to mount it', async (t) => {
  const listed: (string[] | undefined)[] = [];
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...kube,
      delete: async (...call) => {
        const { status } = await kube.get(nodes, { name: 'n1' });
        listed.push(status?.volumesAttached?.map(({ name }) => name));
        return kube.delete(...call);
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.volume('stays');
  await w.pod('p', 'n1', ['data']);
  await w.pod('q', 'n1', ['stays']);
  await w.settle();
  await w.removePod('p');
  await w.settle();
  assert.deepEqual(listed, [[uniqueVolumeName(DRIVER, 'stays')]]);
});

test('[ATT-10] an attachment that was made although no answer came, and that cannot be seen yet, keeps the volume from other nodes', async (t) => {
  const lag = lagging(volumeAttachments);
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...lag.faults(kube),
      create: async (...call) => {
        const made = await kube.create(...call);
        if (lag.isHeld && made.kind === 'VolumeAttachment') {
          throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
        }
        return made;
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  await w.settle();
  lag.hold();
  await w.pod('p', 'n1', ['data']);
  await w.clock.advance(100);
  assert(w.isAttached('data', 'n1'));
  await w.removePod('p');
  await w.pod('q', 'n2', ['data']);
  await w.clock.advance(10_000);
  assert.equal(w.attachment('data', 'n2'), undefined);
  lag.release();
  await w.clock.advance(10_000);
  assert(w.isAttached('data', 'n2'));
  assert.equal(w.attacher.mostNodes, 1);
});

/** Counts the reads of objects of a kind. */
function countingReads(kind: { plural: string }) {
  const counted = { reads: 0 };
  const faults = (kube: KubeClient): KubeClient => ({
    ...kube,
    get: (...call) => {
      if (call[0].plural === kind.plural) counted.reads++;
      return kube.get(...call);
    },
  });
  return { counted, faults };
}

test('an attachment that is made unseen is asked for less and less often while the watch is silent', async (t) => {
  const lag = lagging(volumeAttachments);
  const { counted, faults } = countingReads(volumeAttachments);
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...faults(lag.faults(kube)),
      create: async (...call) => {
        const made = await kube.create(...call);
        if (made.kind !== 'VolumeAttachment') return made;
        throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.settle();
  lag.hold();
  await w.pod('p', 'n1', ['data']);
  await w.clock.advance(100);
  await w.removePod('p');
  await w.settle();
  counted.reads = 0;
  await w.clock.advance(60_000);
  assert(counted.reads > 0 && counted.reads < 15, `${counted.reads} reads`);
  lag.release();
  await w.clock.advance(1000);
  assert.deepEqual(w.attachments.list(), []);
});

test('an attachment whose creation never arrived does not keep the volume from other nodes', async (t) => {
  let isDown = false;
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...kube,
      create: async (...call) => {
        if (isDown) throw new KubeError({ reason: 'Unreachable', code: 0, message: 'nothing arrived' });
        return kube.create(...call);
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  await w.settle();
  isDown = true;
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  isDown = false;
  await w.removePod('p');
  await w.pod('q', 'n2', ['data']);
  await w.clock.advance(200_000);
  assert(w.isAttached('data', 'n2'));
});

test('[ATT-10] a creation that is rejected keeps the volume from other nodes while an earlier one may have taken effect', async (t) => {
  const lag = lagging(volumeAttachments);
  let creates = 0;
  const w = await attachDetachWorld(t, {
    faults: (kube) => ({
      ...lag.faults(kube),
      create: async (...call) => {
        const [, object] = call;
        if (!lag.isHeld || !JSON.stringify(object).includes('"nodeName":"n1"')) return kube.create(...call);
        creates++;
        if (creates > 1)
          throw new KubeError({ reason: 'TooManyRequests', code: 429, message: 'too many requests' });
        await kube.create(...call);
        throw new KubeError({ reason: 'Unreachable', code: 0, message: 'the answer was lost' });
      },
    }),
  });
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  lag.hold();
  await w.pod('p', 'n1', ['data']);
  await w.pod('q', 'n2', ['data']);
  await w.clock.advance(5_000);
  assert(creates > 1, 'the creation was repeated');
  assert.equal(w.attachment('data', 'n2'), undefined);
  lag.release();
  await w.clock.advance(60_000);
  assert(w.isAttached('data', 'n1'));
  assert.equal(w.attachment('data', 'n2'), undefined);
});

test('[ATT-10] an attachment that somebody deletes while it is pending is made again for one node only', async (t) => {
  const w = await attachDetachWorld(t);
  const first = await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  w.attacher.attach('silent');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await first.stop();
  // It finds the attachment, and does not know it from its own creation.
  await w.startController();
  await w.pod('q', 'n2', ['data']);
  await w.settle();
  assert.equal(w.attachments.list().length, 1);
  let most = 0;
  const count = () => {
    most = Math.max(most, w.attachments.list().length);
  };
  w.attachments.subscribe({ added: count });
  await w.make(w.kube.delete(volumeAttachments, { name: w.attachments.list()[0]?.metadata.name ?? '' }));
  await w.clock.advance(5_000);
  assert.equal(most, 1);
});

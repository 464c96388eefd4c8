import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  csiDrivers,
  namespaces,
  nodes,
  type PodVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../api/kinds.ts';
import { attachmentName, seedAttachmentName, uniqueVolumeName } from '../../api/volumes.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { onlyEmbedded } from '../testing/test-api.ts';
import { DRIVER, READY, attachDetachWorld as world } from './testing/attach-detach-world.ts';

const SIX_MINUTES = 6 * 60_000;

test('[ATT-10] a volume is attached when a pod that uses it is scheduled, and detached when it is gone', async (t) => {
  const w = await world(t);
  const { metrics } = await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  assert(w.isAttached('data', 'n1'));
  const name = uniqueVolumeName(DRIVER, 'data');
  assert.deepEqual((await w.readNode('n1')).status?.volumesAttached, [
    { name, devicePath: attachmentName({ driver: DRIVER, volumeHandle: 'data', nodeName: 'n1' }) },
  ]);
  assert.deepEqual(await w.eventsOn('p'), [
    'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "data"',
  ]);
  assert.match(await metrics.text(), /attachdetach_controller_total_volumes\{[^}]*desired[^}]*\} 1/);
  await w.removePod('p');
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
  assert.deepEqual((await w.readNode('n1')).status?.volumesAttached ?? [], []);
});

test('[ATT-10] a volume stays while another pod on the node uses it, or the node has it mounted', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.pod('q', 'n1', ['data']);
  await w.settle();
  await w.nodeStatus('n1', { volumesInUse: [uniqueVolumeName(DRIVER, 'data')] });
  await w.removePod('p');
  await w.clock.advance(2 * SIX_MINUTES);
  assert(w.isAttached('data', 'n1'));
  await w.removePod('q');
  await w.clock.advance(2 * SIX_MINUTES);
  assert(w.isAttached('data', 'n1'), 'a node that is fine is waited for, however long it takes');
  await w.nodeStatus('n1', { volumesInUse: [] });
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('[ATT-10] a pod that has ended no longer keeps its volume', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  const status = { phase: 'Succeeded' };
  await w.make(
    w.kube.patch(
      pods,
      { name: 'p', namespace: 'default' },
      { status },
      { type: 'merge', subresource: 'status' },
    ),
  );
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('[ATT-10] a volume for one node is refused to a second one, with an event that names who has it', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await w.pod('q', 'n2', ['data']);
  await w.settle();
  assert.equal(w.attachment('data', 'n2'), undefined);
  assert.deepEqual(await w.eventsOn('q'), [
    'FailedAttachVolume: Multi-Attach error for volume "data" Volume is already used by pod(s) p',
  ]);
  w.attacher.detach('silent');
  await w.removePod('p');
  await w.settle();
  assert.equal(w.attachment('data', 'n2'), undefined, 'not before the first node has let go');
  w.attacher.detach('ok');
  await w.settle();
  assert(w.isAttached('data', 'n2'));
  assert.equal(w.attacher.mostNodes, 1);
});

test('[ATT-10] two nodes that want a single-node volume at the same instant: one gets it', async (t) => {
  const w = await world(t);
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.pod('q', 'n2', ['data']);
  // Both are there when the controller begins, so that it looks at both before it has seen what it made for either.
  await w.startController();
  await w.settle();
  assert.equal(w.attachments.list().length, 1);
  assert.equal(w.attacher.mostNodes, 1);
});

test('[ATT-10] an attempt to attach that may have succeeded keeps the volume from other nodes', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data');
  w.attacher.attach({ error: 'timed out' });
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  assert.deepEqual(await w.eventsOn('p'), [
    'FailedAttachVolume: AttachVolume.Attach failed for volume "data" : timed out',
  ]);
  w.attacher.detach('silent');
  await w.removePod('p');
  await w.pod('q', 'n2', ['data']);
  await w.settle();
  // Deleted and `attached: false`, but its attacher has not let it go.
  assert.notEqual(w.attachment('data', 'n1')?.metadata.deletionTimestamp, undefined);
  assert.equal(w.attachment('data', 'n2'), undefined);
  w.attacher.attach('ok');
  w.attacher.detach('ok');
  await w.settle();
  assert(w.isAttached('data', 'n2'));
});

test('a volume for many nodes goes to each of them', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('data', { modes: ['ReadWriteMany'] });
  await w.pod('p', 'n1', ['data']);
  await w.pod('q', 'n2', ['data']);
  await w.settle();
  assert(w.isAttached('data', 'n1') && w.isAttached('data', 'n2'));
  await w.removePod('p');
  await w.settle();
  assert(!w.isAttached('data', 'n1') && w.isAttached('data', 'n2'));
});

test('[ATT-10] a restart goes on where the last run ended: nothing is attached twice, nothing is left behind', async (t) => {
  const w = await world(t);
  const first = await w.startController();
  await w.node('n1');
  for (const name of ['kept', 'left', 'asked']) await w.volume(name);
  await w.pod('keeps', 'n1', ['kept']);
  await w.pod('leaves', 'n1', ['left']);
  await w.settle();
  w.attacher.attach('silent');
  await w.pod('asks', 'n1', ['asked']);
  await w.settle();
  await first.stop();
  const before = ['kept', 'asked'].map((name) => w.attachment(name, 'n1')?.metadata.uid);
  await w.removePod('leaves');
  // Somebody wrote nonsense meanwhile; what other plugins attached is not ours to judge.
  const others = { name: 'kubernetes.io/nfs/x', devicePath: '' };
  await w.nodeStatus('n1', {
    volumesAttached: [others, { name: uniqueVolumeName(DRIVER, 'never'), devicePath: 'x' }],
  });
  await w.startController();
  w.attacher.attach('ok');
  await w.settle();
  assert.deepEqual(
    ['kept', 'asked'].map((name) => w.attachment(name, 'n1')?.metadata.uid),
    before,
  );
  assert.equal(w.attachment('left', 'n1'), undefined);
  assert(w.isAttached('asked', 'n1'));
  assert.deepEqual(
    (await w.readNode('n1')).status?.volumesAttached?.map(({ name }) => name),
    [uniqueVolumeName(DRIVER, 'asked'), uniqueVolumeName(DRIVER, 'kept'), others.name],
  );
});

test('[ATT-10] a volume that is being detached is attached anew once that has ended', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  const old = w.attachment('data', 'n1')?.metadata.uid;
  w.attacher.detach({ error: 'busy' });
  await w.removePod('p');
  await w.settle();
  await w.pod('q', 'n1', ['data']);
  await w.settle();
  assert.equal(w.attachment('data', 'n1')?.metadata.uid, old);
  assert.deepEqual((await w.readNode('n1')).status?.volumesAttached ?? [], []);
  w.attacher.detach('ok');
  await w.settle();
  assert(w.isAttached('data', 'n1'));
  assert.notEqual(w.attachment('data', 'n1')?.metadata.uid, old);
});

test('an attach that succeeds after failures is reported too', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  w.attacher.attach({ error: 'no room' });
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  w.attacher.attach('ok');
  await w.settle();
  assert.deepEqual(await w.eventsOn('p'), [
    'FailedAttachVolume: AttachVolume.Attach failed for volume "data" : no room',
    'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "data"',
  ]);
});

for (const [what, strike] of [
  [
    'is not ready',
    (w: Awaited<ReturnType<typeof world>>) =>
      w.nodeStatus('n1', { conditions: [{ type: 'Ready', status: 'Unknown' }] }),
  ],
  ['is gone', (w: Awaited<ReturnType<typeof world>>) => w.make(w.kube.delete(nodes, { name: 'n1' }))],
] as const) {
  test(`[ATT-10] a volume is taken from a node that ${what} after six minutes, not before`, async (t) => {
    const w = await world(t);
    const { metrics } = await w.startController();
    await w.node('n1');
    await w.volume('data');
    await w.pod('p', 'n1', ['data']);
    await w.settle();
    await w.nodeStatus('n1', { volumesInUse: [uniqueVolumeName(DRIVER, 'data')] });
    await strike(w);
    await w.clock.advance(SIX_MINUTES);
    assert(w.isAttached('data', 'n1'), 'a pod still uses it');
    await w.removePod('p');
    await w.clock.advance(SIX_MINUTES - 5000);
    assert(w.isAttached('data', 'n1'));
    await w.clock.advance(6000);
    assert.deepEqual(w.attachments.list(), []);
    assert.match(await metrics.text(), /attachdetach_controller_forced_detaches\{reason="timeout"\} 1/);
  });
}

test('[ATT-10] a volume that could not be taken from a silent node is taken at the next try, not after six more minutes', async (t) => {
  const refusals = { left: 2 };
  const faults = (kube: KubeClient): KubeClient => ({
    ...kube,
    async delete(...call) {
      if (call[0].plural === volumeAttachments.plural && refusals.left-- > 0)
        throw new KubeError({ reason: 'InternalError', code: 500, message: 'no' });
      return kube.delete(...call);
    },
  });
  const w = await world(t, { faults });
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await w.nodeStatus('n1', {
    volumesInUse: [uniqueVolumeName(DRIVER, 'data')],
    conditions: [{ type: 'Ready', status: 'Unknown' }],
  });
  await w.removePod('p');
  await w.clock.advance(SIX_MINUTES + 5000);
  assert.equal(refusals.left < 0, true);
  assert.deepEqual(w.attachments.list(), []);
});

test('a node that comes back in time keeps its volume until it has unmounted it', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await w.nodeStatus('n1', {
    volumesInUse: [uniqueVolumeName(DRIVER, 'data')],
    conditions: [{ type: 'Ready', status: 'False' }],
  });
  await w.removePod('p');
  await w.clock.advance(SIX_MINUTES - 5000);
  await w.nodeStatus('n1', READY ?? {});
  await w.clock.advance(60_000);
  await w.nodeStatus('n1', { conditions: [{ type: 'Ready', status: 'False' }] });
  await w.clock.advance(SIX_MINUTES - 5000);
  assert(w.isAttached('data', 'n1'), 'the six minutes begin anew');
  await w.clock.advance(10_000);
  assert.deepEqual(w.attachments.list(), []);
});

test('[ATT-10] a node that is out of service gives its volumes up at once', async (t) => {
  const w = await world(t);
  const { metrics } = await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await w.nodeStatus('n1', {
    volumesInUse: [uniqueVolumeName(DRIVER, 'data')],
    conditions: [{ type: 'Ready', status: 'Unknown' }],
  });
  await w.removePod('p');
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  await w.make(w.kube.patch(nodes, { name: 'n1' }, { spec: { taints } }, { type: 'merge' }));
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
  assert.match(await metrics.text(), /forced_detaches\{reason="out-of-service"\} 1/);
});

test('[ATT-9] a driver that needs no attachment gets none, and what exists goes when its pods are gone', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('before');
  await w.volume('after');
  await w.pod('p', 'n1', ['before']);
  await w.settle();
  assert(w.isAttached('before', 'n1'), 'without a CSIDriver object volumes are attached');
  await w.driver({ attachRequired: false });
  await w.pod('q', 'n1', ['after']);
  await w.settle();
  assert.equal(w.attachment('after', 'n1'), undefined);
  assert(w.isAttached('before', 'n1'), 'nothing is taken from a running pod');
  await w.removePod('p');
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
  await w.make(w.kube.delete(csiDrivers, { name: DRIVER }));
  await w.driver({ attachRequired: true });
  await w.settle();
  assert(w.isAttached('after', 'n1'), 'the object as it is now decides');
});

const inline = (volumeHandle?: string): PodVolume => ({
  name: 'scratch',
  csi: {
    driver: DRIVER,
    ...(volumeHandle && { volumeHandle }),
    volumeAttributes: { a: 'b' },
    controllerPublishSecretRef: { name: 'key' },
  },
});

test('[INL-4] a persistent inline volume is attached with its whole source, and detached after the pod is gone', {
  skip: onlyEmbedded('Kubernetes has no persistent inline volumes'),
}, async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.make(w.kube.create(namespaces, { metadata: { name: 'team' } }));
  await w.driver({ volumeLifecycleModes: ['Persistent'] });
  await w.pod('p', 'n1', [inline('disk-1')], 'team');
  await w.settle();
  const [attachment] = w.attachments.list();
  assert.match(attachment?.metadata.name ?? '', /^csi-/);
  assert.deepEqual(attachment?.spec, {
    attacher: DRIVER,
    nodeName: 'n1',
    source: {
      inlineVolumeSource: {
        volumeSource: {
          csi: {
            driver: DRIVER,
            volumeHandle: 'disk-1',
            volumeAttributes: { a: 'b' },
            controllerPublishSecretRef: { name: 'key' },
          },
        },
        namespace: 'team',
      },
    },
  });
  assert.equal(attachment?.status?.attached, true);
  const pod = await w.make(w.kube.get(pods, { name: 'p', namespace: 'team' }));
  assert.deepEqual(JSON.parse(attachment?.metadata.annotations?.['csi.berth/inline-pod'] ?? ''), {
    name: 'p',
    uid: pod.metadata.uid,
  });
  await w.removePod('p', 'team');
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('an ephemeral inline volume is never attached, whether or not it has a handle', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.driver({ volumeLifecycleModes: ['Ephemeral'] });
  await w.pod('p', 'n1', [inline()]);
  await w.pod('q', 'n1', [inline('ignored')]);
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test("[ATT-1] an attachment with the old design's name serves its pod, and the next one has the current name", async (t) => {
  const w = await world(t);
  await w.node('n1');
  await w.volume('data');
  const old = seedAttachmentName('data', 'n1');
  const spec = { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'data' } };
  await w.make(w.kube.create(volumeAttachments, { metadata: { name: old }, spec }));
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await w.startController();
  await w.settle();
  const names = () => w.attachments.list().map(({ metadata }) => metadata.name);
  assert.deepEqual(names(), [old]);
  assert.deepEqual((await w.readNode('n1')).status?.volumesAttached, [
    { name: uniqueVolumeName(DRIVER, 'data'), devicePath: old },
  ]);
  await w.removePod('p');
  await w.settle();
  assert.deepEqual(names(), []);
  await w.pod('q', 'n1', ['data']);
  await w.settle();
  assert.deepEqual(names(), [attachmentName({ driver: DRIVER, volumeHandle: 'data', nodeName: 'n1' })]);
});

test('two volumes with one handle: none is detached while either is used on the node, nor attached elsewhere', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.node('n2');
  await w.volume('a', { handle: 'shared' });
  await w.volume('b', { handle: 'shared' });
  await w.pod('p', 'n1', ['a']);
  await w.pod('q', 'n1', ['b']);
  await w.settle();
  assert(w.isAttached('shared', 'n1'));
  assert.equal(w.attachments.list().length, 1, 'they are one volume, so there is one attachment');
  await w.removePod('p');
  await w.pod('r', 'n2', ['a']);
  await w.settle();
  assert(w.isAttached('shared', 'n1'));
  assert.equal(w.attachment('shared', 'n2'), undefined);
  await w.removePod('q');
  await w.settle();
  assert.deepEqual(
    w.attachments.list().map(({ spec }) => [spec.nodeName, spec.source.persistentVolumeName]),
    [['n2', 'a']],
  );
});

test('a claim and volume deleted under a running pod take nothing from it', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  for (const [resource, name] of [
    [persistentVolumeClaims, { name: 'data', namespace: 'default' }],
    [persistentVolumes, { name: 'data' }],
  ] as const) {
    await w.make(w.kube.patch(resource, name, { metadata: { finalizers: null } }, { type: 'merge' }));
    await w.make(w.kube.delete(resource, name));
  }
  await w.settle();
  assert(w.isAttached('data', 'n1'));
  await w.removePod('p');
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('an attachment that no pod needs is deleted, even if its volume is unknown', async (t) => {
  const w = await world(t);
  await w.node('n1', { ...READY, volumesInUse: [uniqueVolumeName(DRIVER, 'whatever')] });
  await w.make(
    w.kube.create(volumeAttachments, {
      metadata: { name: 'stray' },
      spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'unknown' } },
    }),
  );
  await w.startController();
  await w.settle();
  assert.equal(w.attachments.list().length, 1, 'the node uses something of this driver: it may be this');
  await w.nodeStatus('n1', { volumesInUse: [] });
  await w.settle();
  assert.deepEqual(w.attachments.list(), []);
});

test('an attacher that is down is waited for, and reported after two minutes', async (t) => {
  const w = await world(t);
  await w.startController();
  await w.node('n1');
  await w.volume('data');
  w.attacher.attach('silent');
  await w.pod('p', 'n1', ['data']);
  await w.clock.advance(121_000);
  const [event] = await w.eventsOn('p');
  assert.match(event ?? '', /FailedAttachVolume: .*no answer from its attacher within 120s/);
  w.attacher.attach('ok');
  await w.settle();
  assert(w.isAttached('data', 'n1'));
});

test('nothing is written after shutdown', async (t) => {
  const w = await world(t);
  const controller = await w.startController();
  await w.node('n1');
  await w.volume('data');
  await w.volume('more');
  await w.pod('p', 'n1', ['data']);
  await w.settle();
  await controller.stop();
  await w.removePod('p');
  await w.pod('q', 'n1', ['more']);
  await w.clock.advance(SIX_MINUTES);
  assert.deepEqual(
    w.attachments.list().map(({ spec }) => spec.source.persistentVolumeName),
    ['data'],
  );
});

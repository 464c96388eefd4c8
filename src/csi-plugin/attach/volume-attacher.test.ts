import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { type VolumeAttachment, volumeAttachments } from '../../api/kinds.ts';
import { testServer } from '../../apiserver/testing/test-server.ts';
import { type DriverName, parseDriverName, parseVolumeHandle } from '../../csi/names/driver-name.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { silentLog } from '../../runtime/log/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { realClock } from '../../runtime/time/clock.ts';
import type { AttachableVolume } from './attachable-volume.ts';
import { type Answer, scriptedAttacher } from './testing/scripted-attacher.ts';
import { AttachError, createVolumeAttacher, type VolumeAttacher } from './volume-attacher.ts';

const NAME = `csi-${createHash('sha256').update('hdriver.examplenode-1').digest('hex')}`;
const SEED_NAME = `pv-${createHash('sha256').update('datanode-1').digest('hex')}`;
const data: AttachableVolume = {
  kind: 'persistent-volume',
  driver: parseDriverName('driver.example'),
  volumeHandle: parseVolumeHandle('h'),
  pvName: 'data',
};

async function start(t: TestContext, attach: Answer = 'ok', timeoutMs?: number) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const informers = createInformers({ kube, clock: realClock, random: seededRandom(1), log: silentLog });
  const attachments = informers.of(volumeAttachments);
  const stop = new AbortController();
  t.after(() => stop.abort());
  informers.start(stop.signal);
  await informers.synced();
  const attacher = scriptedAttacher(kube, attachments);
  attacher.attach(attach);
  const plugin = createVolumeAttacher({
    kube,
    attachments,
    clock: realClock,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  return { kube, attachments, attacher, plugin, signal: stop.signal };
}

const attachData = (plugin: VolumeAttacher, signal: AbortSignal) => plugin.attach(data, 'node-1', signal);
const read = (kube: KubeClient) => kube.get(volumeAttachments, { name: NAME });

function failsWith(failure: AttachError['failure'], message?: RegExp) {
  return (error: unknown) => {
    assert(error instanceof AttachError, String(error));
    assert.equal(error.failure, failure);
    if (message) assert.match(error.message, message);
    return true;
  };
}

test('[ATT-1] attach makes the attachment under the name that a kubelet computes, and ends when it is attached', async (t) => {
  const { kube, plugin, signal } = await start(t);
  assert.deepEqual(await attachData(plugin, signal), { device: 'node-1' });
  const { spec } = await read(kube);
  assert.deepEqual(spec, {
    attacher: 'driver.example',
    nodeName: 'node-1',
    source: { persistentVolumeName: 'data' },
  });
});

test('[ATT-1] an attachment that exists is left as it is and waited for', async (t) => {
  const { kube, attacher, plugin, signal } = await start(t, 'silent');
  const made = await kube.create(volumeAttachments, {
    metadata: { name: NAME, labels: { made: 'before' } },
    spec: { attacher: 'driver.example', nodeName: 'node-1', source: { persistentVolumeName: 'data' } },
  });
  const attaching = attachData(plugin, signal);
  attacher.attach('ok');
  await attaching;
  const left = await read(kube);
  assert.equal(left.metadata.uid, made.metadata.uid);
  assert.deepEqual(left.metadata.labels, { made: 'before' });
});

test("[ATT-1] an attachment with the old design's name is used until it is gone, and no second one is created", async (t) => {
  const { kube, attacher, attachments, plugin, signal } = await start(t);
  const spec = { attacher: 'driver.example', nodeName: 'node-1', source: { persistentVolumeName: 'data' } };
  await kube.create(volumeAttachments, { metadata: { name: SEED_NAME }, spec });
  await attachments.waitFor(SEED_NAME, (va) => va !== undefined);
  assert.deepEqual(await attachData(plugin, signal), { device: 'node-1' });
  assert.deepEqual(
    attachments.list().map(({ metadata }) => metadata.name),
    [SEED_NAME],
  );
  attacher.detach('silent');
  await kube.delete(volumeAttachments, { name: SEED_NAME });
  await attachments.waitFor(SEED_NAME, (va) => va?.metadata.deletionTimestamp !== undefined);
  await assert.rejects(attachData(plugin, signal), failsWith('detach-in-progress'));
  attacher.detach('ok');
  await attachments.waitFor(SEED_NAME, (va) => va === undefined);
  await attachData(plugin, signal);
  assert.equal((await read(kube)).status?.attached, true);
});

test("[ATT-1] an attachment with the old design's name for another volume is not used", async (t) => {
  const { kube, attachments, plugin, signal } = await start(t);
  // "dat" + "anode-1" gives the same name as "data" + "node-1".
  const spec = { attacher: 'driver.example', nodeName: 'anode-1', source: { persistentVolumeName: 'dat' } };
  await kube.create(volumeAttachments, { metadata: { name: SEED_NAME }, spec });
  await attachments.waitFor(SEED_NAME, (va) => va !== undefined);
  await attachData(plugin, signal);
  assert.equal((await read(kube)).spec.nodeName, 'node-1');
});

test('[ATT-2] attach ends with the error that the attacher reports, and succeeds once it has recovered', async (t) => {
  const { attacher, attachments, plugin, signal } = await start(t, { error: 'disk is full' });
  await assert.rejects(attachData(plugin, signal), failsWith('attach-error', /disk is full/));
  attacher.attach('ok');
  await attachments.waitFor(NAME, (va) => va?.status?.attached === true);
  assert.deepEqual(await attachData(plugin, signal), { device: 'node-1' });
});

test('[ATT-2] attach times out, and leaves the attachment in place to be waited for again', async (t) => {
  const { kube, attachments, plugin, signal } = await start(t, 'silent', 20);
  await kube.create(volumeAttachments, {
    metadata: { name: NAME },
    spec: { attacher: 'driver.example', nodeName: 'node-1', source: { persistentVolumeName: 'data' } },
  });
  await attachments.waitFor(NAME, (va) => va !== undefined);
  await assert.rejects(attachData(plugin, signal), failsWith('timeout', /no answer .* within 0.02s/));
  assert.equal((await read(kube)).status?.attached, false);
});

test('[ATT-2] attached: true does not count during a detach; a new object is created once the old one is gone', async (t) => {
  const { kube, attacher, attachments, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  const old = await read(kube);
  attacher.detach('silent');
  await kube.delete(volumeAttachments, { name: NAME });
  await attachments.waitFor(NAME, (va) => va?.metadata.deletionTimestamp !== undefined);
  assert.equal((await read(kube)).status?.attached, true);
  await assert.rejects(attachData(plugin, signal), failsWith('detach-in-progress'));
  attacher.detach('ok');
  await attachments.waitFor(NAME, (va) => va === undefined);
  await attachData(plugin, signal);
  assert.notEqual((await read(kube)).metadata.uid, old.metadata.uid);
});

test('[ATT-2] an attachment that is deleted during the wait is created again only when that is asked for', async (t) => {
  const { kube, attacher, attachments, plugin, signal } = await start(t, 'silent');
  const attaching = assert.rejects(attachData(plugin, signal), failsWith('deleted'));
  await attachments.waitFor(NAME, (va) => va !== undefined);
  await kube.delete(volumeAttachments, { name: NAME });
  await attaching;
  assert.equal(attachments.get(NAME), undefined);
  attacher.attach('ok');
  await attachData(plugin, signal);
});

test('[ATT-2] the attachment of another creator that is deleted during the wait fails this attach', async (t) => {
  const { kube, attachments, plugin, signal } = await start(t, 'silent');
  await kube.create(volumeAttachments, {
    metadata: { name: NAME },
    spec: { attacher: 'driver.example', nodeName: 'node-1', source: { persistentVolumeName: 'data' } },
  });
  await attachments.waitFor(NAME, (va) => va !== undefined);
  const attaching = assert.rejects(attachData(plugin, signal), failsWith('deleted'));
  await kube.delete(volumeAttachments, { name: NAME });
  await attaching;
});

test('attach fails with the error that prevented it', async (t) => {
  const { plugin, signal } = await start(t);
  const bad: AttachableVolume = { ...data, driver: 'not a name' as DriverName };
  await assert.rejects(plugin.attach(bad, 'node-1', signal), KubeError);
});

test('attach ends with the reason of its signal', async (t) => {
  const { plugin } = await start(t, 'silent');
  const stop = new AbortController();
  const attaching = attachData(plugin, stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(attaching, /enough/);
});

test('[ATT-3] detach deletes the attachment and ends when it is gone', async (t) => {
  const { kube, attachments, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  await plugin.detach(await read(kube), signal);
  await attachments.waitFor(NAME, (va) => va === undefined);
});

test('[ATT-3] detach of what is gone already is no error', async (t) => {
  const { kube, attachments, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  const old = await read(kube);
  await plugin.detach(old, signal);
  await attachments.waitFor(NAME, (va) => va === undefined);
  await plugin.detach(old, signal);
});

test('[ATT-3] detach ends on attached: false, although a finalizer keeps the object', async (t) => {
  const { kube, attacher, attachments, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  attacher.detach('silent');
  const detaching = plugin.detach(await read(kube), signal);
  await attachments.waitFor(NAME, (va) => va?.metadata.deletionTimestamp !== undefined);
  const held = await read(kube);
  await kube.update(volumeAttachments, { ...held, status: { attached: false } }, { subresource: 'status' });
  await detaching;
  assert.notEqual((await read(kube)).metadata.deletionTimestamp, undefined);
});

test('[ATT-3] detach ends with the error that the attacher reports', async (t) => {
  const { kube, attacher, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  attacher.detach({ error: 'volume is busy' });
  await assert.rejects(plugin.detach(await read(kube), signal), failsWith('detach-error', /volume is busy/));
});

test('[ATT-3] detach times out', async (t) => {
  const { kube, attacher, attachments, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  attacher.detach('silent');
  await kube.delete(volumeAttachments, { name: NAME });
  const hasty = createVolumeAttacher({ kube, attachments, clock: realClock, timeoutMs: 20 });
  await assert.rejects(hasty.detach(await read(kube), signal), failsWith('timeout'));
  assert.notEqual(attachments.get(NAME), undefined);
});

test('detach never deletes a successor of the same name', async (t) => {
  const { kube, plugin, signal } = await start(t);
  await attachData(plugin, signal);
  const now = await read(kube);
  const earlier: VolumeAttachment = { ...now, metadata: { ...now.metadata, uid: 'another' } };
  await assert.rejects(plugin.detach(earlier, signal), KubeError);
  assert.equal((await read(kube)).metadata.deletionTimestamp, undefined);
});

test('[INL-4] [ATT-1] an inline volume is copied whole, with its namespace, under the name that a kubelet computes', async (t) => {
  const { kube, attachments, plugin, signal } = await start(t);
  const csi = {
    driver: parseDriverName('driver.example'),
    volumeHandle: parseVolumeHandle('h'),
    readOnly: true,
    fsType: 'ext4',
    volumeAttributes: { a: 'b' },
    controllerPublishSecretRef: { name: 's' },
    nodePublishSecretRef: { name: 't' },
  };
  const volume: AttachableVolume = {
    kind: 'inline',
    driver: parseDriverName('driver.example'),
    volumeHandle: parseVolumeHandle('h'),
    namespace: 'team',
    csi,
  };
  await plugin.attach(volume, 'node-1', signal);
  const [made] = attachments.list();
  assert.equal(made?.metadata.name, NAME);
  const stored = await kube.get(volumeAttachments, { name: made?.metadata.name ?? '' });
  assert.deepEqual(stored.spec.source, { inlineVolumeSource: { volumeSource: { csi }, namespace: 'team' } });
});

/** The plugin's cache lags behind; the attacher's does not. */
async function startBehind(t: TestContext) {
  const { kube, attachments: upToDate, attacher, signal } = await start(t);
  const lag = lagging(volumeAttachments);
  t.after(() => lag.release());
  const common = { clock: realClock, random: seededRandom(1), log: silentLog };
  const informers = createInformers({ ...common, kube: lag.faults(kube) });
  const attachments = informers.of(volumeAttachments);
  informers.start(signal);
  await informers.synced();
  const world = { creates: 0, afterCreate: async () => {} };
  const counted: KubeClient = {
    ...kube,
    async create(...call) {
      world.creates += 1;
      const made = await kube.create(...call);
      await world.afterCreate();
      return made;
    },
  };
  const plugin = createVolumeAttacher({ kube: counted, attachments, clock: realClock, timeoutMs: 20_000 });
  return { kube, upToDate, attachments, attacher, lag, world, plugin, signal };
}

test('[ATT-1] an attachment that the cache does not have yet is waited for, and not made again', async (t) => {
  const { upToDate, lag, world, plugin, signal } = await startBehind(t);
  lag.hold();
  const attaching = attachData(plugin, signal);
  await upToDate.waitFor(NAME, (attachment) => attachment?.status?.attached === true, signal);
  lag.release();
  assert.deepEqual(await attaching, { device: 'node-1' });
  assert.equal(world.creates, 1);
});

test('[ATT-1] an attachment that was deleted before the wait for it starts is noticed', async (t) => {
  const { kube, attachments, world, plugin, signal } = await startBehind(t);
  world.afterCreate = async () => {
    world.afterCreate = async () => {};
    const finalizers = { metadata: { finalizers: null } };
    await attachments.waitFor(NAME, (attachment) => attachment !== undefined, signal);
    await kube.delete(volumeAttachments, { name: NAME });
    await kube.patch(volumeAttachments, { name: NAME }, finalizers, { type: 'merge' }).catch(() => {});
    await attachments.waitFor(NAME, (attachment) => attachment === undefined, signal);
  };
  await assert.rejects(attachData(plugin, signal), failsWith('deleted'));
  assert.deepEqual(await attachData(plugin, signal), { device: 'node-1' });
  assert.equal(world.creates, 2);
});

test('[ATT-1] the status of an earlier attachment of the same name is not used for this one', async (t) => {
  const { kube, upToDate, attacher, lag, plugin, signal } = await startBehind(t);
  attacher.attach('silent');
  lag.hold();
  await kube.create(volumeAttachments, {
    metadata: { name: NAME },
    spec: { attacher: 'driver.example', nodeName: 'node-1', source: { persistentVolumeName: 'data' } },
  });
  const status = { attached: true, attachmentMetadata: { device: 'earlier' } };
  await kube.patch(volumeAttachments, { name: NAME }, { status }, { type: 'merge', subresource: 'status' });
  await kube.delete(volumeAttachments, { name: NAME });
  await upToDate.waitFor(NAME, (attachment) => attachment === undefined, signal);
  attacher.attach('ok');
  const attaching = attachData(plugin, signal);
  await upToDate.waitFor(NAME, (attachment) => attachment?.status?.attached === true, signal);
  lag.release();
  assert.deepEqual(await attaching, { device: 'node-1' });
});

test('[ATT-2] an attachment that the cache shows late and that is then deleted fails the attach', async (t) => {
  const { kube, upToDate, attachments, attacher, lag, world, plugin, signal } = await startBehind(t);
  attacher.attach('silent');
  lag.hold();
  const attaching = assert.rejects(attachData(plugin, signal), failsWith('deleted'));
  await upToDate.waitFor(NAME, (attachment) => attachment !== undefined, signal);
  lag.release();
  await attachments.waitFor(NAME, (attachment) => attachment !== undefined, signal);
  await kube.delete(volumeAttachments, { name: NAME });
  await attaching;
  assert.equal(world.creates, 1);
});

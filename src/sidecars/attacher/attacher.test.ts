// The attacher through a whole API server and a scripted driver: what becomes of the objects, and what the driver saw.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  type Event,
  namespaces,
  nodes,
  persistentVolumes,
  secrets,
  type VolumeAttachment,
  volumeAttachments,
} from '../../api/kinds.ts';
import { ANN_RETRY } from '../../api/well-known.ts';
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '../../csi/index.ts';
import { VolumeCapability_AccessMode_Mode as Mode } from '../../csi/index.ts';
import { lagging } from '../../runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import {
  type AttacherWorld,
  attacherWorld,
  attachment,
  DRIVER,
  existing,
  FINALIZER,
  ourNode,
  pv,
  secret,
  soon,
} from './testing/attacher-world.ts';

const publishCalls = (world: AttacherWorld) =>
  world.driver.callsOf<ControllerPublishVolumeRequest>('ControllerPublishVolume');
const unpublishCalls = (world: AttacherWorld) =>
  world.driver.callsOf<ControllerUnpublishVolumeRequest>('ControllerUnpublishVolume');

/** A volume, a node and an attachment `va` of the one to the other. */
async function oneAttachment(world: AttacherWorld, csi: object = {}, spec: object = {}): Promise<void> {
  existing(world.driver, 'vol-pv1');
  await world.make(csiNodes, ourNode());
  await world.make(persistentVolumes, pv('pv1', csi, { spec }));
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
}

const attachError = (world: AttacherWorld, name = 'va') =>
  world.attachments.waitFor(name, (each) => each?.status?.attachError !== undefined, soon());
const detachError = (world: AttacherWorld, name = 'va') =>
  world.attachments.waitFor(name, (each) => each?.status?.detachError !== undefined, soon());

test('[ATT-5] [ATT-6] [ATT-7] [ATT-8] a volume is attached and detached, and nothing is left behind', async (t) => {
  const world = await attacherWorld(t);
  let finalizersAtCall: (string[] | undefined)[] = [];
  await oneAttachment(world, { volumeAttributes: { tier: 'gold' }, readOnly: true, fsType: 'xfs' });
  world.driver.script('ControllerPublishVolume', {
    until: Promise.resolve().then(async () => {
      await world.driver.until(() => publishCalls(world).length > 0);
      const va = await world.admin.get(volumeAttachments, { name: 'va' });
      const volume = await world.admin.get(persistentVolumes, { name: 'pv1' });
      finalizersAtCall = [va.metadata.finalizers, volume.metadata.finalizers];
      assert.notEqual(va.status?.attached, true);
    }),
  });
  await world.start();
  const attached = await world.attached('va');
  assert.deepEqual(finalizersAtCall, [[FINALIZER], ['kubernetes.io/pv-protection', FINALIZER]]);
  assert.deepEqual(attached.status, { attached: true, attachmentMetadata: { device: '/dev/vol-pv1' } });
  const [call] = publishCalls(world);
  assert.equal(publishCalls(world).length, 1);
  assert.equal(call?.volumeId, 'vol-pv1');
  assert.equal(call?.nodeId, 'id-node-a');
  assert.equal(call?.readonly, false, 'the driver has no PUBLISH_READONLY');
  assert.deepEqual(call?.volumeContext, { tier: 'gold' });
  assert.equal(call?.volumeCapability?.accessMode?.mode, Mode.SINGLE_NODE_WRITER);
  assert.equal(
    call?.volumeCapability?.accessType.case === 'mount' && call.volumeCapability.accessType.value.fsType,
    'xfs',
  );

  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  assert.deepEqual(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
  const freed = await world.volumes.waitFor(
    'pv1',
    (each) => !each?.metadata.finalizers?.includes(FINALIZER),
    soon(),
  );
  assert.deepEqual(freed?.metadata.finalizers, ['kubernetes.io/pv-protection']);
  assert.equal(unpublishCalls(world).length, 1);
});

test('[ATT-4] it ignores attachments of other attachers, and those already attached or deleted before the start', async (t) => {
  const world = await attacherWorld(t);
  existing(world.driver, 'vol-pv1');
  await world.make(csiNodes, ourNode());
  await world.make(persistentVolumes, pv('pv1'));
  await world.make(
    volumeAttachments,
    attachment('other', { persistentVolumeName: 'pv1' }, { attacher: 'x.csi.test' }),
  );
  await world.make(volumeAttachments, attachment('done', { persistentVolumeName: 'pv1' }));
  await world.admin.patch(
    volumeAttachments,
    { name: 'done' },
    { status: { attached: true } },
    { type: 'merge', subresource: 'status' },
  );
  await world.make(
    volumeAttachments,
    attachment(
      'deleted',
      { persistentVolumeName: 'pv1' },
      { metadata: { finalizers: ['example.com/keep'] } },
    ),
  );
  await world.admin.delete(volumeAttachments, { name: 'deleted' });
  await world.start();
  // The last to be looked at: when it is attached, the others were passed over.
  existing(world.driver, 'vol-pv2');
  await world.make(persistentVolumes, pv('pv2'));
  await world.make(volumeAttachments, attachment('mine', { persistentVolumeName: 'pv2' }));
  await world.attached('mine');
  assert.deepEqual(
    publishCalls(world).map((call) => call.volumeId),
    ['vol-pv2'],
  );
  assert.equal(unpublishCalls(world).length, 0);
  for (const name of ['other', 'done', 'deleted']) {
    const { metadata, status } = await world.admin.get(volumeAttachments, { name });
    assert.ok(!metadata.finalizers?.includes(FINALIZER), name);
    assert.equal(status?.attachError, undefined, name);
  }
});

const nodeInfoDefinition = {
  metadata: {
    name: 'csinodeinfos.csi.storage.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
  },
  spec: {
    group: 'csi.storage.k8s.io',
    scope: 'Cluster',
    names: {
      plural: 'csinodeinfos',
      singular: 'csinodeinfo',
      kind: 'CSINodeInfo',
      listKind: 'CSINodeInfoList',
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const nodeIdSources: Record<string, (world: AttacherWorld) => Promise<unknown>> = {
  CSINode: (world) => world.make(csiNodes, ourNode('node-a', 'the-id')),
  CSINodeInfo: async (world) => {
    await world.make(customResourceDefinitions, nodeInfoDefinition);
    await world.make(csiNodeInfos, {
      apiVersion: 'csi.storage.k8s.io/v1alpha1',
      kind: 'CSINodeInfo',
      metadata: { name: 'node-a' },
      csiDrivers: [{ name: DRIVER, nodeID: 'the-id', topologyKeys: [] }],
    });
  },
  'the annotation of the Node': (world) =>
    world.make(nodes, {
      metadata: {
        name: 'node-a',
        annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ [DRIVER]: 'the-id' }) },
      },
    }),
};
for (const [name, tell] of Object.entries(nodeIdSources)) {
  test(`[ATT-4] the node ID comes from ${name}, also when it comes late`, async (t) => {
    const world = await attacherWorld(t);
    existing(world.driver, 'vol-pv1');
    await world.make(persistentVolumes, pv('pv1'));
    await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
    await world.start();
    const waiting = await attachError(world);
    assert.match(waiting?.status?.attachError?.message ?? '', /node "node-a" does not say its node ID/);
    assert.ok(!waiting?.metadata.finalizers?.includes(FINALIZER), 'what cannot begin holds up no deletion');
    assert.equal(publishCalls(world).length, 0);
    await tell(world);
    const attached = await world.attached('va');
    assert.equal(attached.status?.attachError, undefined);
    assert.deepEqual(
      publishCalls(world).map((call) => call.nodeId),
      ['the-id'],
    );
  });
}

test('[ATT-6] a failure is reported in status and Event, and retried until it succeeds', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  let resolve = () => {};
  const gate = new Promise<void>((done) => {
    resolve = done;
  });
  world.driver.script(
    'ControllerPublishVolume',
    { fail: 'RESOURCE_EXHAUSTED', message: 'node is full' },
    { until: gate },
  );
  await world.start();
  const failed = await attachError(world);
  assert.equal(failed?.status?.attached, false);
  assert.match(
    failed?.status?.attachError?.message ?? '',
    /ControllerPublishVolume .*RESOURCE_EXHAUSTED: node is full/,
  );
  assert.equal(failed?.status?.attachError?.errorCode, 8);
  assert.match(failed?.status?.attachError?.time ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  await world.driver.until(() => publishCalls(world).length === 2);
  resolve();
  const attached = await world.attached('va');
  assert.equal(attached.status?.attachError, undefined);
  const event = await eventAbout(world, 'FailedAttachVolume');
  assert.match(event.message ?? '', /node is full/);
  assert.equal(event.type, 'Warning');
  assert.deepEqual([event.involvedObject.kind, event.involvedObject.name], ['VolumeAttachment', 'va']);
});

async function eventAbout(world: AttacherWorld, reason: string, kind = 'VolumeAttachment') {
  const isIt = (event: Event) => event.reason === reason && event.involvedObject.kind === kind;
  for (;;) {
    const found = world.events.list().find(isIt);
    if (found !== undefined) return found;
    await new Promise<void>((resolve) => {
      const unsubscribe = world.events.subscribe({
        added: (event) => {
          if (!isIt(event)) return;
          queueMicrotask(() => unsubscribe());
          resolve();
        },
      });
    });
  }
}

test('[ATT-7] a failed detach stays attached, is reported, and is retried', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  let resolve = () => {};
  const gate = new Promise<void>((done) => {
    resolve = done;
  });
  world.driver.script(
    'ControllerUnpublishVolume',
    { fail: 'INTERNAL', message: 'still busy' },
    { until: gate },
  );
  await world.admin.delete(volumeAttachments, { name: 'va' });
  const failed = await detachError(world);
  assert.equal(failed?.status?.attached, true);
  assert.match(failed?.status?.detachError?.message ?? '', /INTERNAL: still busy/);
  assert.ok(failed?.metadata.finalizers?.includes(FINALIZER));
  assert.match((await eventAbout(world, 'FailedDetachVolume')).message ?? '', /still busy/);
  resolve();
  await world.gone('va');
});

test('[ATT-7] an attach that may have happened is undone when the attachment is deleted', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  world.driver.always('ControllerPublishVolume', { failAfter: 'DEADLINE_EXCEEDED', message: 'lost' });
  await world.start();
  await attachError(world);
  assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 1);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
});

test('[ATT-7] finalizers of others keep the object, and its status is correct meanwhile', async (t) => {
  const world = await attacherWorld(t);
  existing(world.driver, 'vol-pv1');
  await world.make(csiNodes, ourNode());
  await world.make(persistentVolumes, pv('pv1'));
  await world.make(
    volumeAttachments,
    attachment('va', { persistentVolumeName: 'pv1' }, { metadata: { finalizers: ['example.com/keep'] } }),
  );
  await world.start();
  await world.attached('va');
  await world.admin.delete(volumeAttachments, { name: 'va' });
  const detached = await world.attachments.waitFor('va', (each) => each?.status?.attached === false, soon());
  assert.deepEqual(detached?.metadata.finalizers, ['example.com/keep']);
  assert.deepEqual(detached?.status, { attached: false });
});

test('[ATT-8] the finalizer stays on the volume until the last of its attachments is gone', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world, {}, { accessModes: ['ReadWriteMany'] });
  await world.make(csiNodes, ourNode('node-b'));
  await world.make(
    volumeAttachments,
    attachment('vb', { persistentVolumeName: 'pv1' }, { nodeName: 'node-b' }),
  );
  await world.start();
  await Promise.all([world.attached('va'), world.attached('vb')]);
  assert.equal(world.driver.mostAtOnce.get('vol-pv1'), 1, 'one call at a time for a volume');
  await world.admin.delete(persistentVolumes, { name: 'pv1' });
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  let resolve = () => {};
  world.driver.script('ControllerUnpublishVolume', {
    until: new Promise<void>((done) => {
      resolve = done;
    }),
  });
  await world.admin.delete(volumeAttachments, { name: 'vb' });
  await world.driver.until(() => unpublishCalls(world).length === 2);
  const kept = await world.admin.get(persistentVolumes, { name: 'pv1' });
  assert.ok(kept.metadata.finalizers?.includes(FINALIZER));
  resolve();
  await world.gone('vb');
  await world.volumes.waitFor('pv1', (each) => !each?.metadata.finalizers?.includes(FINALIZER), soon());
});

test('[ATT-9] a driver that does not publish is marked attached without a call', async (t) => {
  const world = await attacherWorld(t, { driver: { controller: ['CREATE_DELETE_VOLUME'] } });
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv-that-is-not-there' }));
  await world.start();
  const attached = await world.attached('va');
  assert.deepEqual(attached.status, { attached: true });
  assert.equal(attached.metadata.finalizers, undefined);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  assert.equal(publishCalls(world).length + unpublishCalls(world).length, 0);
});

test('[ATT-9] a driver without a controller service is marked attached, and old finalizers go', async (t) => {
  const world = await attacherWorld(t, { driver: { plugin: [] } });
  await world.make(
    volumeAttachments,
    attachment('old', { persistentVolumeName: 'pv1' }, { metadata: { finalizers: [FINALIZER] } }),
  );
  await world.make(persistentVolumes, pv('pv1', {}, { metadata: { finalizers: [FINALIZER] } }));
  await world.admin.delete(volumeAttachments, { name: 'old' });
  await world.start();
  await world.gone('old');
  await world.volumes.waitFor('pv1', (each) => !each?.metadata.finalizers?.includes(FINALIZER), soon());
});

test('[ATT-11] a volume that is no longer published is published again, only once two listings agree', async (t) => {
  const world = await attacherWorld(t, {
    driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] },
    attacher: { reconcileSyncMs: 10 },
  });
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  // One listing that is wrong: nothing happens, as the next one disagrees.
  const before = world.driver.callsOf('ListVolumes').length;
  world.driver.script('ListVolumes', { answer: { entries: [] } });
  await world.driver.until(() => world.driver.callsOf('ListVolumes').length >= before + 4);
  assert.equal(publishCalls(world).length, 1);
  world.driver.volumes.get('vol-pv1')?.publishedOn.clear();
  await world.driver.until(() => world.driver.volumes.get('vol-pv1')?.publishedOn.has('id-node-a') === true);
  await world.driver.until(() => publishCalls(world).length === 2);
  // And it is left in peace afterwards.
  const after = world.driver.callsOf('ListVolumes').length;
  await world.driver.until(() => world.driver.callsOf('ListVolumes').length >= after + 4);
  assert.equal(publishCalls(world).length, 2);
  assert.equal(unpublishCalls(world).length, 0);
  assert.equal((await world.admin.get(volumeAttachments, { name: 'va' })).status?.attached, true);
});

test('a retry that somebody asks for does not wait for the backoff', async (t) => {
  const world = await attacherWorld(t, {
    attacher: { retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
  });
  world.driver.script('ControllerPublishVolume', { fail: 'INTERNAL', message: 'the array is away' });
  await oneAttachment(world);
  await world.start();
  await world.attachments.waitFor('va', (each) => each?.status?.attachError !== undefined, soon());
  await world.admin.patch(
    volumeAttachments,
    { name: 'va' },
    { metadata: { annotations: { [ANN_RETRY]: 'now' } } },
    { type: 'merge' },
  );
  await world.attached('va');
});

test('[ATT-11] a repair that fails is tried again with backoff, without waiting for more listings', async (t) => {
  const world = await attacherWorld(t, {
    driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] },
    attacher: { reconcileSyncMs: 10 },
  });
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  world.driver.always('ControllerPublishVolume', { fail: 'INTERNAL', message: 'the array is away' });
  world.driver.volumes.get('vol-pv1')?.publishedOn.clear();
  await world.driver.until(() => publishCalls(world).length >= 2);
  // From here on no listing says anything.
  world.driver.always('ListVolumes', { fail: 'UNAVAILABLE' });
  await world.driver.until(() => publishCalls(world).length >= 4);
  await world.attachments.waitFor(
    'va',
    (each) => each?.status?.attachError?.message?.includes('the array is away') === true,
    soon(),
  );
  world.driver.always('ControllerPublishVolume', undefined);
  const repaired = await world.attachments.waitFor(
    'va',
    (each) => each?.status?.attachError === undefined,
    soon(),
  );
  assert.equal(repaired?.status?.attached, true);
  assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.has('id-node-a'), true);
});

test('[ATT-11] a repair during which the attachment changes still writes what the driver said', async (t) => {
  const world = await attacherWorld(t, {
    driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] },
    attacher: { reconcileSyncMs: 10 },
  });
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  const changed = world.driver
    .until(() => publishCalls(world).length === 2)
    .then(async () => {
      // From here on no listing says anything.
      world.driver.always('ListVolumes', { fail: 'UNAVAILABLE' });
      const metadata = { annotations: { 'example.com/by': 'somebody else' } };
      await world.admin.patch(volumeAttachments, { name: 'va' }, { metadata }, { type: 'merge' });
    });
  const answer = { publishContext: { device: 'another' } };
  world.driver.script('ControllerPublishVolume', { until: changed, answer });
  world.driver.always('ControllerPublishVolume', { answer });
  world.driver.volumes.get('vol-pv1')?.publishedOn.clear();
  await world.attachments.waitFor(
    'va',
    (each) => each?.status?.attachmentMetadata?.device === 'another',
    soon(),
  );
  assert.equal(publishCalls(world).length, 3);
});

test('[ATT-8] an attachment that was made again is attached only when the cache shows it, because its volume is protected by what the cache shows', async (t) => {
  const lag = lagging(volumeAttachments);
  const world = await attacherWorld(t);
  existing(world.driver, 'vol-pv1');
  await world.make(persistentVolumes, pv('pv1'));
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
  const read = Promise.withResolvers<void>();
  await world.start(({ kube }) => ({
    kube: {
      ...lag.faults(kube),
      async get(...call: Parameters<KubeClient['get']>) {
        const found = await kube.get(...call);
        if (call[0].plural === volumeAttachments.plural && lag.isHeld) read.resolve();
        return found;
      },
    } as KubeClient,
  }));
  await attachError(world);
  lag.hold();
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
  await world.make(csiNodes, ourNode());
  await read.promise;
  // What it does next would be done by then.
  await world.make(csiNodes, { ...ourNode(), metadata: { name: 'another' } });
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  assert.equal(publishCalls(world).length, 0);
  lag.release();
  await world.attached('va');
});

test('[ATT-6] an attempt under an old node ID is undone only when no success can be recorded any more', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  const success = Promise.withResolvers<() => Promise<unknown>>();
  const earlier = await world.start(
    ({ kube }) => ({
      kube: {
        ...kube,
        patch(...call: Parameters<KubeClient['patch']>) {
          if (!JSON.stringify(call[2]).includes('"attached":true')) return kube.patch(...call);
          const [resource, name, patch, options] = call;
          success.resolve(() => kube.patch(resource, name, patch, { ...options, signal: soon() }));
          return new Promise(() => {});
        },
      },
    }),
    { abandoned: true },
  );
  const reportSuccess = await success.promise;
  await earlier.stop();
  await world.admin.delete(csiNodes, { name: 'node-a' });
  const { spec, ...rest } = ourNode();
  const drivers = spec.drivers.map((driver) => ({ ...driver, nodeID: 'another-id' }));
  await world.make(csiNodes, { ...rest, spec: { drivers } });
  const undone = Promise.withResolvers<void>();
  world.driver.script('ControllerUnpublishVolume', { until: undone.promise });
  await world.start();
  await world.driver.until(() => unpublishCalls(world).length === 1);
  await assert.rejects(reportSuccess(), { code: 409 });
  undone.resolve();
  const { status } = await world.attached('va');
  assert.equal(status?.attachError, undefined);
  assert.deepEqual(
    publishCalls(world).map(({ nodeId }) => nodeId),
    ['id-node-a', 'another-id'],
  );
});

test('[ATT-11] pagination is followed, and a driver that repeats a page does not loop forever', async (t) => {
  const world = await attacherWorld(t, {
    driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] },
    attacher: { reconcileSyncMs: 10, maxEntries: 7 },
  });
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  world.driver.always('ListVolumes', { answer: { entries: [], nextToken: 'same' } });
  const before = world.driver.callsOf('ListVolumes').length;
  await world.driver.until(() => world.driver.callsOf('ListVolumes').length >= before + 6);
  world.driver.always('ListVolumes', undefined);
  assert.match(world.log.text(), /same page token twice/);
  assert.equal(publishCalls(world).length, 1);
  assert.ok(
    world.driver.callsOf<{ maxEntries: number }>('ListVolumes').every((call) => call.maxEntries === 7),
  );
});

test('[INL-4] [INL-5] [SEC-1] an inline volume is attached with the secret of its pod’s namespace, and detached without its pod', async (t) => {
  const world = await attacherWorld(t);
  existing(world.driver, 'inline-1');
  await world.make(csiNodes, ourNode());
  for (const name of ['team', 'elsewhere']) {
    await world.make(namespaces, { metadata: { name } });
    await world.make(secrets, secret('creds', name, { password: `of-${name}` }));
  }
  const csi = {
    driver: DRIVER,
    volumeHandle: 'inline-1',
    volumeAttributes: { size: 'l' },
    // A reference that tries to leave the namespace does not.
    controllerPublishSecretRef: { name: 'creds', namespace: 'elsewhere' },
  };
  await world.make(
    volumeAttachments,
    attachment(
      'va',
      { inlineVolumeSource: { volumeSource: { csi }, namespace: 'team' } },
      { metadata: { annotations: { 'csi.berth/inline-pod': '{"name":"p","uid":"pod-uid"}' } } },
    ),
  );
  await world.start();
  await world.attached('va');
  const [call] = publishCalls(world);
  assert.deepEqual(
    [call?.volumeId, call?.volumeContext, call?.secrets],
    ['inline-1', { size: 'l' }, { password: 'of-team' }],
  );

  await world.admin.delete(secrets, { name: 'creds', namespace: 'team' });
  await world.admin.delete(volumeAttachments, { name: 'va' });
  const stuck = await detachError(world);
  assert.equal(stuck?.status?.attached, true);
  assert.match(stuck?.status?.detachError?.message ?? '', /secret team\/creds does not exist/);
  assert.equal(unpublishCalls(world).length, 0);
  const told = await eventAbout(world, 'FailedDetachVolume', 'Pod');
  assert.deepEqual(
    [told.metadata.namespace, told.involvedObject.name, told.involvedObject.uid],
    ['team', 'p', 'pod-uid'],
  );
  assert.match(told.message ?? '', /still attached to node node-a: .*secret team\/creds does not exist/);
  await world.make(secrets, secret('creds', 'team', { password: 'again' }));
  await world.gone('va');
  assert.deepEqual(unpublishCalls(world)[0]?.secrets, { password: 'again' });
});

test('[INL-4] today’s spelling of an inline volume is understood too', async (t) => {
  const world = await attacherWorld(t, { attacher: { defaultFstype: 'ext4' } });
  existing(world.driver, 'inline-2');
  await world.make(csiNodes, ourNode());
  const csi = { driver: DRIVER, volumeHandle: 'inline-2' };
  await world.make(
    volumeAttachments,
    attachment('va', { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi } }),
  );
  await world.start();
  await world.attached('va');
  const type = publishCalls(world)[0]?.volumeCapability?.accessType;
  assert.equal(type?.case === 'mount' && type.value.fsType, 'ext4');
});

test('[SEC-1] [SEC-2] [SEC-3] all entries of the secret reach both calls, and no trace of them is left', async (t) => {
  const world = await attacherWorld(t);
  await world.make(secrets, secret('creds', 'default', { user: 'käthe-secret', password: 'hunter2-secret' }));
  await oneAttachment(world, { controllerPublishSecretRef: { name: 'creds', namespace: 'default' } });
  const leak = { fail: 'INTERNAL', message: 'bad login käthe-secret:hunter2-secret' } as const;
  world.driver.script('ControllerPublishVolume', leak);
  await world.start();
  const failed = await attachError(world);
  assert.match(failed?.status?.attachError?.message ?? '', /bad login \[redacted\]:\[redacted\]/);
  await world.attached('va');
  world.driver.script('ControllerUnpublishVolume', leak);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  await eventAbout(world, 'FailedDetachVolume');
  const sent = { user: 'käthe-secret', password: 'hunter2-secret' };
  assert.deepEqual(
    [...publishCalls(world), ...unpublishCalls(world)].map((call) => call.secrets),
    [sent, sent, sent, sent],
  );
  const everything = [
    world.log.text(),
    JSON.stringify(world.events.list()),
    JSON.stringify(world.attachments.list()),
    await world.metrics.text(),
  ].join('\n');
  assert.doesNotMatch(everything, /hunter2-secret|käthe-secret/);
});

const badSecrets: Record<string, { make?: object; ref: object; message: RegExp; secrets?: 'none' }> = {
  'is missing': {
    ref: { name: 'creds', namespace: 'default' },
    message: /secret default\/creds does not exist/,
  },
  'is not UTF-8': {
    make: secret('creds', 'default', { key: Buffer.from([0x68, 0x69, 0xff]) }),
    ref: { name: 'creds', namespace: 'default' },
    message: /secret default\/creds: the value of key "key" is not UTF-8 text/,
  },
  'may not be read': {
    make: secret('creds', 'default', { key: 'v' }),
    ref: { name: 'creds', namespace: 'default' },
    secrets: 'none',
    message: /secret default\/creds may not be read/,
  },
};
for (const [name, given] of Object.entries(badSecrets)) {
  test(`[SEC-2] a secret that ${name} is named in the status, and the driver is not called`, async (t) => {
    const world = await attacherWorld(t, given.secrets ? { secrets: given.secrets } : {});
    if (given.make) await world.make(secrets, given.make);
    await oneAttachment(world, { controllerPublishSecretRef: given.ref });
    await world.start();
    const failed = await attachError(world);
    assert.match(failed?.status?.attachError?.message ?? '', given.message);
    assert.ok(!failed?.metadata.finalizers?.includes(FINALIZER));
    assert.equal(publishCalls(world).length, 0);
    await world.admin.delete(volumeAttachments, { name: 'va' });
    await world.gone('va');
    assert.equal(unpublishCalls(world).length, 0);
  });
}

const badVolumes: Record<string, { csi?: object; spec?: object; message: RegExp }> = {
  'of another driver': { csi: { driver: 'y.csi.test' }, message: /the volume is of driver "y\.csi\.test"/ },
  'with access modes CSI cannot express': {
    spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] },
    message: /no access mode that is both ReadOnlyMany and ReadWriteOnce/,
  },
};
for (const [name, { csi, spec, message }] of Object.entries(badVolumes)) {
  test(`a volume ${name} is refused with a clear error, and nothing holds up the deletion`, async (t) => {
    const world = await attacherWorld(t);
    await oneAttachment(world, csi, spec);
    await world.start();
    assert.match((await attachError(world))?.status?.attachError?.message ?? '', message);
    await world.admin.delete(volumeAttachments, { name: 'va' });
    await world.gone('va');
    assert.equal(publishCalls(world).length, 0);
  });
}

test('an attachment waits for its volume, and refuses one that is being deleted', async (t) => {
  const world = await attacherWorld(t);
  existing(world.driver, 'vol-pv1');
  await world.make(csiNodes, ourNode());
  await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
  await world.make(persistentVolumes, pv('going', {}, { metadata: { finalizers: ['example.com/keep'] } }));
  await world.admin.delete(persistentVolumes, { name: 'going' });
  await world.make(volumeAttachments, attachment('vb', { persistentVolumeName: 'going' }));
  await world.start();
  assert.match(
    (await attachError(world, 'vb'))?.status?.attachError?.message ?? '',
    /"going" is being deleted/,
  );
  assert.match(
    (await attachError(world))?.status?.attachError?.message ?? '',
    /PersistentVolume "pv1" does not exist/,
  );
  await world.make(persistentVolumes, pv('pv1'));
  await world.attached('va');
});

/** As over HTTP, where of the answer to a brief write only the metadata is read. */
const brief = (kube: KubeClient): KubeClient => ({
  ...kube,
  async patch(resource, name, patch, options) {
    const answer = await kube.patch(resource, name, patch, options);
    return options.known === undefined
      ? answer
      : { ...(options.known as typeof answer), metadata: answer.metadata };
  },
});

/** An attacher that has not seen yet what becomes of `pv1`, whose reclaim policy is Delete, from now on. */
async function laggingAttacher(t: TestContext, finalizers: string[]): Promise<AttacherWorld> {
  const world = await attacherWorld(t);
  const lag = lagging(persistentVolumes);
  t.after(() => lag.release());
  await world.make(csiNodes, ourNode());
  for (const name of ['pv0', 'pv1']) {
    existing(world.driver, `vol-${name}`);
    const spec = { persistentVolumeReclaimPolicy: 'Delete' };
    await world.make(persistentVolumes, pv(name, {}, { spec, metadata: { finalizers } }));
  }
  // Another attacher's: it keeps the finalizer where it is.
  const other = attachment('other', { persistentVolumeName: 'pv1' }, { attacher: 'another.csi.test' });
  await world.make(volumeAttachments, other);
  await world.make(volumeAttachments, attachment('first', { persistentVolumeName: 'pv0' }));
  await world.start(({ kube }) => ({ kube: brief(lag.faults(kube)) }));
  await world.attached('first');
  lag.hold();
  return world;
}

for (const [what, finalizers] of Object.entries({
  'its cache does not show it yet': [],
  'its cache shows a finalizer that was taken off before': [FINALIZER],
})) {
  test(`[PROV-4] a volume that is about to be deleted is not attached, though ${what}`, async (t) => {
    const world = await laggingAttacher(t, finalizers);
    const change = (patch: object, subresource?: 'status') =>
      world.admin.patch(persistentVolumes, { name: 'pv1' }, patch, {
        type: 'merge',
        ...(subresource && { subresource }),
      });
    await change({ metadata: { finalizers: null } });
    await change({ status: { phase: 'Released' } }, 'status');
    await world.make(volumeAttachments, attachment('va', { persistentVolumeName: 'pv1' }));
    const { status, metadata } = (await attachError(world)) ?? {};
    assert.match(status?.attachError?.message ?? '', /"pv1" is gone .* about to be deleted/);
    assert.equal(metadata?.finalizers, undefined);
    await world.admin.delete(volumeAttachments, { name: 'va' });
    await world.gone('va');
    assert.deepEqual(
      publishCalls(world).map(({ volumeId }) => volumeId),
      ['vol-pv0'],
    );
  });
}

test('[ATT-7] detach works when node and volume are gone, from the node ID and handle that were recorded', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  await world.start();
  await world.attached('va');
  await world.admin.delete(csiNodes, { name: 'node-a' });
  // Somebody takes the finalizers away by hand, and another volume gets the name.
  await world.admin.patch(
    persistentVolumes,
    { name: 'pv1' },
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await world.admin.delete(persistentVolumes, { name: 'pv1' });
  existing(world.driver, 'vol-other', ['id-node-a']);
  await world.make(persistentVolumes, pv('pv1', { volumeHandle: 'vol-other' }));
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  assert.deepEqual(
    unpublishCalls(world).map(({ volumeId, nodeId }) => [volumeId, nodeId]),
    [['vol-pv1', 'id-node-a']],
  );
  assert.equal(world.driver.volumes.get('vol-other')?.publishedOn.size, 1);
});

test('a node that comes back with another ID: what may be attached to the old one is detached first', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  world.driver.always('ControllerPublishVolume', { failAfter: 'UNAVAILABLE', message: 'gone' });
  await world.start();
  await attachError(world);
  await world.admin.delete(csiNodes, { name: 'node-a' });
  await world.make(csiNodes, ourNode('node-a', 'new-id'));
  world.driver.always('ControllerPublishVolume', undefined);
  await world.attached('va');
  const published = [...(world.driver.volumes.get('vol-pv1')?.publishedOn.keys() ?? [])];
  assert.ok(published.length === 1, `published on ${published.join(' and ')}`);
});

test('a publish result that the API server rejects is reported, and undone on deletion', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  world.driver.always('ControllerPublishVolume', {
    answer: { publishContext: { huge: 'x'.repeat(300 * 1024) } },
  });
  await world.start();
  const failed = await attachError(world);
  assert.equal(failed?.status?.attached, false);
  assert.match(failed?.status?.attachError?.message ?? '', /attachmentMetadata/);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
});

test('[ATT-6] an attachment that was changed during the call is attached after another look at it', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  world.driver.script('ControllerPublishVolume', {
    until: Promise.resolve().then(async () => {
      await world.driver.until(() => publishCalls(world).length > 0);
      const metadata = { annotations: { 'example.com/by': 'somebody else' } };
      await world.admin.patch(volumeAttachments, { name: 'va' }, { metadata }, { type: 'merge' });
    }),
  });
  const versions: (string | undefined)[] = [];
  await world.start(({ kube }) => ({
    kube: {
      ...kube,
      async patch(...args: Parameters<typeof kube.patch>) {
        const [resource, , patch, { subresource }] = args;
        const isStatus = resource.plural === volumeAttachments.plural && subresource === 'status';
        if (isStatus) versions.push((patch as VolumeAttachment).metadata.resourceVersion);
        return kube.patch(...args);
      },
    },
  }));
  const { status } = await world.attached('va');
  assert.equal(status?.attachError, undefined);
  assert.equal(publishCalls(world).length, 2);
  assert.equal(new Set(versions).size, 2, 'each write is for the version that it was decided on');
});

test('a conflict, and a write whose response is lost, end in the same state', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  let failures = 0;
  await world.start(({ kube }) => ({
    kube: {
      ...kube,
      async patch(...args: Parameters<typeof kube.patch>) {
        const answer = await kube.patch(...args);
        if (failures++ < 3) {
          throw new KubeError({
            reason: 'Unreachable',
            code: 0,
            message: 'the connection broke after the request',
          });
        }
        return answer;
      },
    },
  }));
  await world.attached('va');
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.gone('va');
  await world.volumes.waitFor('pv1', (each) => !each?.metadata.finalizers?.includes(FINALIZER), soon());
  assert.equal(world.driver.volumes.get('vol-pv1')?.publishedOn.size, 0);
});

test('after a stop in the middle of a call nothing more is written, and the next process continues', async (t) => {
  const world = await attacherWorld(t);
  await oneAttachment(world);
  let resolve = () => {};
  world.driver.script('ControllerPublishVolume', {
    until: new Promise<void>((done) => {
      resolve = done;
    }),
  });
  const first = await world.start();
  await world.driver.until(() => publishCalls(world).length === 1);
  await first.stop();
  const version = (await world.admin.get(volumeAttachments, { name: 'va' })).metadata.resourceVersion;
  resolve();
  await world.driver.until(() => world.driver.volumes.get('vol-pv1')?.publishedOn.size === 1);
  assert.equal((await world.admin.get(volumeAttachments, { name: 'va' })).metadata.resourceVersion, version);
  await world.start();
  await world.attached('va');
});

test('a slow volume does not delay others', async (t) => {
  const world = await attacherWorld(t, { attacher: { workerThreads: 2 } });
  await oneAttachment(world);
  let resolve = () => {};
  world.driver.script('ControllerPublishVolume', {
    until: new Promise<void>((done) => {
      resolve = done;
    }),
  });
  await world.start();
  await world.driver.until(() => publishCalls(world).length === 1);
  for (let i = 2; i < 6; i++) {
    existing(world.driver, `vol-pv${i}`);
    await world.make(persistentVolumes, pv(`pv${i}`));
    await world.make(volumeAttachments, attachment(`va${i}`, { persistentVolumeName: `pv${i}` }));
  }
  await Promise.all([2, 3, 4, 5].map((i) => world.attached(`va${i}`)));
  resolve();
  await world.attached('va');
});

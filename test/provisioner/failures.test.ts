import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  leases,
  nodes,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
  storageClasses,
  volumeAttachments,
} from '../../src/api/kinds.ts';
import {
  ANN_PROVISIONING_INTENTS,
  ANN_RETRY,
  ANN_SELECTED_NODE,
  ANN_STORAGE_PROVISIONER,
  attacherFinalizer,
  FINALIZER_PROVISIONING,
} from '../../src/api/well-known.ts';
import type { CreateVolumeRequest, DeleteVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import type { Behaviour } from '../../src/csi/testing/scripted-driver.ts';
import { lagging } from '../../src/runtime/informer/testing/lagging.ts';
import type { KubeClient } from '../../src/runtime/kube/kube.ts';
import type { Clock } from '../../src/runtime/ports.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { ledgerName } from '../../src/sidecars/provisioner/intents/intent-ledger.ts';
import type { GrpcCode } from '../../src/wire/grpc/grpc-code.ts';
import { DRIVER, provisionerWorld, secretParameters, TOPOLOGY, token, type World } from './world.ts';

const hasIntent = (claim: PersistentVolumeClaim | undefined) =>
  claim?.metadata.finalizers?.includes(FINALIZER_PROVISIONING) ?? false;
const intentGone = (claim: PersistentVolumeClaim | undefined) =>
  claim !== undefined && !claim.metadata.finalizers?.includes(FINALIZER_PROVISIONING);
const within = () => AbortSignal.timeout(20_000);
const read = (world: World, name: string) =>
  world.admin.get(persistentVolumeClaims, { name, namespace: 'default' });

test('[PROV-6] a failure is an event on the claim and is tried again', async (t) => {
  const world = await provisionerWorld(t);
  world.driver.script('CreateVolume', { fail: 'INTERNAL', message: 'out of luck' }, { fail: 'UNAVAILABLE' });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'out of luck');
  await world.bound('data');
  assert.equal(world.driver.callsOf('CreateVolume').length, 3);
  assert.equal(world.driver.volumes.size, 1);
});

test('[PROV-6] the pauses between attempts double, whatever else wakes the claim', async (t) => {
  const world = await provisionerWorld(t, {
    provisioner: { retryIntervalStartMs: 60, retryIntervalMaxMs: 10_000 },
  });
  world.driver.always('CreateVolume', { fail: 'INTERNAL' });
  const times: number[] = [];
  await world.start(({ csi }) => ({
    csi: {
      call(method, ...rest) {
        if (method.name === 'CreateVolume') times.push(performance.now());
        return csi.call(method, ...rest);
      },
    },
  }));
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 4);
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const [index, pause] of pauses.entries()) assert(pause >= 60 * 2 ** index - 5, `${pauses}`);
});

test('[PROV-6] a retry that somebody asks for does not wait for the backoff', async (t) => {
  const world = await provisionerWorld(t, {
    provisioner: { retryIntervalStartMs: 600_000, retryIntervalMaxMs: 600_000 },
  });
  world.driver.script('CreateVolume', { fail: 'INTERNAL', message: 'out of luck' });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.event('ProvisioningFailed', 'out of luck');
  await world.admin.patch(
    persistentVolumeClaims,
    { name: 'data', namespace: 'default' },
    { metadata: { annotations: { [ANN_RETRY]: 'now' } } },
    { type: 'merge' },
  );
  await world.bound('data');
});

test('[PROV-6] a driver without capacity at the selected node returns the claim to the scheduler', async (t) => {
  const world = await provisionerWorld(t, { driver: { plugin: [...TOPOLOGY.plugin] } });
  world.driver.script('CreateVolume', { fail: 'RESOURCE_EXHAUSTED' });
  await world.makeNode('n1', { zone: 'a' });
  await world.makeNode('n2', { zone: 'b' });
  await world.start();
  await world.makeClass({ volumeBindingMode: 'WaitForFirstConsumer' });
  await world.makeClaim('data', {}, { annotations: { [ANN_SELECTED_NODE]: 'n1' } });
  const sent = await world.claims.waitFor(
    'default/data',
    (claim) => intentGone(claim) && claim?.metadata.annotations?.[ANN_SELECTED_NODE] === undefined,
    within(),
  );
  assert.equal(world.driver.callsOf('CreateVolume').length, 1);
  const again = { ...sent?.metadata.annotations, [ANN_SELECTED_NODE]: 'n2' };
  const name = { name: 'data', namespace: 'default' };
  await world.admin.patch(
    persistentVolumeClaims,
    name,
    { metadata: { annotations: again } },
    { type: 'merge' },
  );
  const { volume } = await world.bound('data');
  assert.deepEqual(volume.spec.nodeAffinity?.required?.nodeSelectorTerms, [
    { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] },
  ]);
});

test('[PROV-5] after an uncertain call for a deleted claim the outcome is found out, and the volume deleted', async (t) => {
  const codes: GrpcCode[] = ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'ABORTED', 'CANCELLED'];
  for (const code of codes) {
    const world = await provisionerWorld(t);
    world.driver.script('CreateVolume', { failAfter: code });
    world.driver.always('CreateVolume', { fail: 'UNAVAILABLE' });
    await world.start();
    await world.makeClass();
    await world.makeClaim('data');
    await world.claims.waitFor('default/data', hasIntent, within());
    await world.noIntents();
    await world.remove('data');
    await world.event('ProvisioningCleanupFailed');
    assert((await read(world, 'data')).metadata.deletionTimestamp, 'the claim waits for certainty');
    world.driver.always('CreateVolume', undefined);
    await world.claimGone('data');
    assert.equal(world.driver.volumes.size, 0, code);
  }
});

test('[PROV-5] a claim that disappears during its first call is cleaned up from the ledger alone', async (t) => {
  const endings: { name: string; answer: Behaviour }[] = [
    { name: 'the volume is made', answer: {} },
    { name: 'it is made, and nobody knows', answer: { failAfter: 'DEADLINE_EXCEEDED' } },
    { name: 'it is not made', answer: { fail: 'INVALID_ARGUMENT' } },
  ];
  for (const { name, answer } of endings) {
    const world = await provisionerWorld(t);
    const held = Promise.withResolvers<void>();
    world.driver.script('CreateVolume', { until: held.promise, ...answer });
    await world.start();
    await world.makeClass();
    await world.makeClaim('data');
    await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
    await world.remove('data');
    await world.claimGone('data');
    // One of that name is another claim.
    await world.makeClaim('data');
    held.resolve();
    const { claim } = await world.bound('data');
    await world.noIntents();
    assert.deepEqual([...world.driver.volumes.keys()], [`vol-pvc-${claim.metadata.uid}`], name);
  }
});

test('[PROV-5] a claim that is gone when the next process starts is cleaned up from the ledger alone', async (t) => {
  const world = await provisionerWorld(t, { driver: { plugin: [...TOPOLOGY.plugin] } });
  const held = new Promise<void>(() => {});
  world.driver.script('CreateVolume', { until: held });
  await world.makeNode('n1', { zone: 'a' });
  const first = await world.start();
  await world.makeSecret('default', 'creds-blue', { user: 'me' });
  const name = token("pvc.annotations['team']");
  await world.makeClass({ parameters: secretParameters('provisioner', `creds-${name}`, 'default') });
  const annotations = { team: 'blue', [ANN_SELECTED_NODE]: 'n1', other: 'not needed' };
  const { metadata } = await world.makeClaim('data', { volumeMode: 'Block' }, { annotations });
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  first.kill();
  await world.remove('data');
  await world.claimGone('data');
  assert.deepEqual(world.intents()[0]?.annotations, { team: 'blue', [ANN_SELECTED_NODE]: 'n1' });
  await world.admin.delete(storageClasses, { name: 'fast' });
  await world.start();
  await world.event('ProvisioningCleanupFailed', 'create it again');
  await world.event('ProvisioningCleanupFailed', `entry from Lease kube-system/${ledgerName(DRIVER)}`);
  await world.makeClass({ parameters: secretParameters('provisioner', `creds-${name}`, 'default') });
  await world.noIntents();
  const [before, after, ...more] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.equal(before?.name, `pvc-${metadata.uid}`);
  assert.deepEqual(after, before, 'the same is asked for, word for word');
  assert.equal(more.length, 0);
  assert.equal(world.driver.callsOf('DeleteVolume').length, 1);
  assert.equal(world.driver.volumes.size, 0);
});

test('[PROV-5] an unreadable ledger is left unchanged, and intents are kept on the claims', async (t) => {
  const world = await provisionerWorld(t);
  const annotations = { [ANN_PROVISIONING_INTENTS]: '{"intents":' };
  const name = { name: ledgerName(DRIVER), namespace: 'kube-system' };
  await world.make(leases, { metadata: { ...name, annotations }, spec: {} });
  const held = Promise.withResolvers<void>();
  world.driver.script('CreateVolume', { until: held.promise });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  assert(hasIntent(await read(world, 'data')));
  held.resolve();
  await world.bound('data');
  assert.deepEqual((await world.admin.get(leases, name)).metadata.annotations, annotations);
});

test('[PROV-5] a final error resolves a first call, and a rejection resolves an uncertain one', async (t) => {
  const table: { name: string; answers: GrpcCode[] }[] = [
    { name: 'a first call', answers: ['INTERNAL'] },
    { name: 'refused after a time-out', answers: ['DEADLINE_EXCEEDED', 'INVALID_ARGUMENT'] },
  ];
  for (const { name, answers } of table) {
    const world = await provisionerWorld(t, {
      provisioner: { retryIntervalMaxMs: 60_000, retryIntervalStartMs: 20 },
    });
    world.driver.script('CreateVolume', ...answers.map((fail) => ({ fail })));
    await world.start();
    await world.makeClass();
    await world.makeClaim('data');
    await world.driver.until(() => world.driver.callsOf('CreateVolume').length === answers.length);
    await world.claims.waitFor('default/data', intentGone, within());
    world.driver.always('CreateVolume', { fail: 'UNAVAILABLE' });
    const calls = world.driver.callsOf('CreateVolume').length;
    await world.remove('data');
    await world.claimGone('data');
    assert(world.driver.callsOf('CreateVolume').length <= calls + 1, name);
  }
});

test('[PROV-5] after a time-out a transient error proves nothing: the outcome is still pursued', async (t) => {
  const world = await provisionerWorld(t, {
    provisioner: { retryIntervalStartMs: 5, retryIntervalMaxMs: 20 },
  });
  world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' }, { fail: 'INTERNAL' });
  world.driver.always('CreateVolume', { fail: 'INTERNAL' });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length >= 3);
  assert(hasIntent(await read(world, 'data')));
  await world.remove('data');
  world.driver.always('CreateVolume', undefined);
  await world.claimGone('data');
  assert.equal(world.driver.volumes.size, 0);
});

test('[PROV-5] class and secret deleted together with the claim do not lose the volume', async (t) => {
  const world = await provisionerWorld(t);
  world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' });
  world.driver.always('CreateVolume', { fail: 'UNAVAILABLE' });
  await world.start();
  await world.makeSecret('default', 'creds', { user: 'me' });
  await world.makeClass({ parameters: secretParameters('provisioner', 'creds', 'default') });
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.volumes.size === 1);
  await Promise.all([
    world.remove('data'),
    world.admin.delete(storageClasses, { name: 'fast' }),
    world.admin.delete(secrets, { name: 'creds', namespace: 'default' }),
  ]);
  world.driver.always('CreateVolume', undefined);
  await world.claimGone('data');
  await world.noIntents();
  assert.equal(world.driver.volumes.size, 0);
  const requests = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  for (const request of requests) assert.deepEqual(request.secrets, { user: 'me' });
});

test('[PROV-5] a claim whose class is gone after a crash is kept, with an event that says what to do', async (t) => {
  const world = await provisionerWorld(t);
  world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' });
  world.driver.always('CreateVolume', { fail: 'UNAVAILABLE' });
  const first = await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.claims.waitFor('default/data', hasIntent, within());
  await first.stop();
  await world.remove('data');
  await world.admin.delete(storageClasses, { name: 'fast' });
  world.driver.always('CreateVolume', undefined);
  await world.start();
  await world.event('ProvisioningCleanupFailed', 'create it again');
  assert.equal(world.driver.volumes.size, 1);
  await world.makeClass();
  await world.claimGone('data');
  assert.equal(world.driver.volumes.size, 0);
});

test('[PROV-5] a claim whose intent was removed by hand is still cleaned up by the process that made the call', async (t) => {
  const world = await provisionerWorld(t);
  const held = Promise.withResolvers<void>();
  const uncertain = { failAfter: 'DEADLINE_EXCEEDED' } as const;
  world.driver.script('CreateVolume', uncertain, { until: held.promise, ...uncertain });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 2);
  await world.noIntents();
  assert(hasIntent(await read(world, 'data')));
  const name = { name: 'data', namespace: 'default' };
  await world.admin.patch(
    persistentVolumeClaims,
    name,
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await world.remove('data');
  await world.claimGone('data');
  held.resolve();
  await world.driver.until(() => world.driver.callsOf('DeleteVolume').length === 1);
  await world.driver.until(() => world.driver.volumes.size === 0);
});

for (const isSeen of [true, false]) {
  const how = isSeen ? '' : ', even when the watch shows neither';
  test(`[PROV-2] a volume that is deleted before its claim is bound is made again${how}`, async (t) => {
    const annotations = { [ANN_STORAGE_PROVISIONER]: DRIVER };
    // A minute passes in a moment.
    let jumpedMs = 0;
    const clock: Clock = {
      ...realClock,
      monotonicMs: () => realClock.monotonicMs() + jumpedMs,
      setTimeout(callback, delayMs) {
        if (delayMs < 59_000 || delayMs > 61_000) return realClock.setTimeout(callback, delayMs);
        const later = (): void => {
          jumpedMs += delayMs;
          callback();
        };
        return realClock.setTimeout(later, 300);
      },
    };
    const world = await provisionerWorld(t, { withoutBinder: true, clock });
    const lag = lagging(persistentVolumes);
    t.after(() => lag.release());
    await world.start(({ kube }) => ({ kube: lag.faults(kube) }));
    await world.makeClass({ reclaimPolicy: 'Retain' });
    if (!isSeen) lag.hold();
    const name = `pvc-${(await world.makeClaim('data', {}, { annotations })).metadata.uid}`;
    const first = await world.volumes.waitFor(name, (volume) => volume !== undefined, within());
    await world.event('ProvisioningSucceeded');
    await world.admin.delete(persistentVolumes, { name });
    await world.volumes.waitFor(name, (volume) => volume?.metadata.uid !== first?.metadata.uid, within());
    if (!isSeen) lag.expire();
    await world.volumes.waitFor(name, (volume) => volume !== undefined, within());
  });
}

test('[PROV-5] a volume that is deleted with its claim is not made again, though the cache still shows the claim', async (t) => {
  const world = await provisionerWorld(t, { withoutBinder: true });
  const lag = lagging(persistentVolumeClaims);
  t.after(() => lag.release());
  const asked = Promise.withResolvers<void>();
  await world.start(({ kube }) => ({
    kube: {
      ...lag.faults(kube),
      async get(...call: Parameters<KubeClient['get']>) {
        const found = kube.get(...call);
        if (lag.isHeld && call[0].plural === persistentVolumeClaims.plural) asked.resolve();
        return found;
      },
    } as KubeClient,
  }));
  await world.makeClass({ reclaimPolicy: 'Retain' });
  const annotations = { [ANN_STORAGE_PROVISIONER]: DRIVER };
  const name = `pvc-${(await world.makeClaim('data', {}, { annotations })).metadata.uid}`;
  await world.volumes.waitFor(name, (volume) => volume !== undefined, within());
  await world.event('ProvisioningSucceeded');
  lag.hold();
  const data = { name: 'data', namespace: 'default' };
  await world.admin.patch(
    persistentVolumeClaims,
    data,
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await world.admin.delete(persistentVolumeClaims, data);
  await world.admin.delete(persistentVolumes, { name });
  await Promise.race([
    asked.promise,
    world.driver.until(() => world.driver.callsOf('CreateVolume').length > 1),
  ]);
  // It comes after that claim, and by then the other would have been asked for, too.
  await world.makeClaim('other', {}, { annotations });
  lag.release();
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length > 1);
  const names = world.driver.callsOf<CreateVolumeRequest>('CreateVolume').map((call) => call.name);
  assert.deepEqual(
    names.filter((each) => each === name),
    [name],
  );
});

test('[PROV-4] Retain leaves the volume and its storage', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass({ reclaimPolicy: 'Retain' });
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  await world.remove('data');
  const { name } = volume.metadata;
  await world.volumes.waitFor(name, (each) => each?.status?.phase === 'Released', within());
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  assert.equal(world.driver.volumes.size, 1);
});

test('[PROV-4] an attached volume is not deleted until it is detached', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  const { name } = volume.metadata;
  await world.make(volumeAttachments, {
    metadata: { name: 'va' },
    spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: name } },
  });
  await world.remove('data');
  await world.event('VolumeFailedDelete', 'still attached to node n1');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.volumeGone(name);
  assert.equal(world.driver.volumes.size, 0);
});

test('[PROV-4] an attachment that no cache shows keeps a volume from being deleted: the server is asked', async (t) => {
  const world = await provisionerWorld(t);
  const lags = [lagging(persistentVolumes), lagging(volumeAttachments)];
  const catchUp = () => lags.forEach((lag) => void lag.release());
  t.after(catchUp);
  let attach = async () => {};
  await world.start(({ kube }) => ({
    kube: {
      ...lags.reduce((client, lag) => lag.faults(client), kube),
      async get(...call) {
        await attach();
        return kube.get(...call);
      },
    },
  }));
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  const { name, finalizers = [] } = volume.metadata;
  const setFinalizers = (list: string[]) =>
    world.admin.patch(persistentVolumes, { name }, { metadata: { finalizers: list } }, { type: 'merge' });
  attach = async () => {
    attach = async () => {};
    for (const lag of lags) lag.hold();
    await world.make(volumeAttachments, {
      metadata: { name: 'va' },
      spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: name } },
    });
    await setFinalizers([...finalizers, attacherFinalizer(DRIVER)]);
  };
  await world.remove('data');
  await world.event('VolumeFailedDelete', 'still attached to node n1');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await setFinalizers(finalizers);
  catchUp();
  await world.volumeGone(name);
  assert.equal(world.driver.volumes.size, 0);
});

test('[PROV-4] a volume that is no longer Released by the time it would be deleted is left alone', async (t) => {
  const world = await provisionerWorld(t, { withoutBinder: true, provisioner: { workerThreads: 1 } });
  const lag = lagging(persistentVolumes);
  t.after(() => lag.release());
  const setPhase = (name: string, phase: string) =>
    world.admin.patch(
      persistentVolumes,
      { name },
      { status: { phase } },
      { type: 'merge', subresource: 'status' },
    );
  let rescue = async () => {};
  await world.start(({ kube }) => ({
    kube: {
      ...lag.faults(kube),
      async get(...call) {
        await rescue();
        return kube.get(...call);
      },
    },
  }));
  await world.makeClass();
  for (const name of ['rescued', 'next']) {
    await world.make(persistentVolumes, {
      metadata: { name, annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { name: 'data', namespace: 'default', uid: 'gone' },
        csi: { driver: DRIVER, volumeHandle: `vol-${name}` },
      },
    });
  }
  const rescued = Promise.withResolvers<void>();
  rescue = async () => {
    rescue = async () => {};
    lag.hold();
    await setPhase('rescued', 'Available');
    rescued.resolve();
  };
  await setPhase('rescued', 'Released');
  await rescued.promise;
  lag.release();
  // The only worker deletes this one when it is done with the other.
  await setPhase('next', 'Released');
  await world.volumeGone('next');
  assert.deepEqual(
    world.driver.callsOf<DeleteVolumeRequest>('DeleteVolume').map(({ volumeId }) => volumeId),
    ['vol-next'],
  );
});

test('[PROV-4] a volume that a pod has inline, by its handle, is not deleted until it is detached', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  const { name } = volume.metadata;
  const csi = { driver: DRIVER, volumeHandle: volume.spec.csi?.volumeHandle };
  await world.make(volumeAttachments, {
    metadata: { name: 'va' },
    spec: {
      attacher: DRIVER,
      nodeName: 'n1',
      source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi } },
    },
  });
  await world.remove('data');
  await world.event('VolumeFailedDelete', 'still attached to node n1');
  assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
  await world.admin.delete(volumeAttachments, { name: 'va' });
  await world.volumeGone(name);
  assert.equal(world.driver.volumes.size, 0);
});

const onStatus = { type: 'merge', subresource: 'status' } as const;
const outOfService = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };
const endsOfUse: { when: string; end(world: World): Promise<unknown> }[] = [
  {
    when: 'it has unstaged it',
    end: ({ admin }) => admin.patch(nodes, { name: 'n1' }, { status: { volumesInUse: [] } }, onStatus),
  },
  { when: 'it is gone', end: ({ admin }) => admin.delete(nodes, { name: 'n1' }) },
  {
    when: 'it is out of service',
    end: ({ admin }) =>
      admin.patch(nodes, { name: 'n1' }, { spec: { taints: [outOfService] } }, { type: 'merge' }),
  },
];
for (const { when, end } of endsOfUse) {
  test(`[NOD-6] a volume of a driver that attaches nothing stays while a node has it staged, until ${when}`, async (t) => {
    const world = await provisionerWorld(t, { driver: { controller: ['CREATE_DELETE_VOLUME'] } });
    await world.make(nodes, { metadata: { name: 'n1' }, spec: {} });
    await world.start();
    await world.makeClass();
    await world.makeClaim('data');
    const { volume } = await world.bound('data');
    const volumesInUse = [`kubernetes.io/csi/${DRIVER}^${volume.spec.csi?.volumeHandle}`];
    await world.admin.patch(nodes, { name: 'n1' }, { status: { volumesInUse } }, onStatus);
    await world.remove('data');
    await world.event('VolumeFailedDelete', 'still staged on node n1');
    assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
    await end(world);
    await world.volumeGone(volume.metadata.name);
    assert.equal(world.driver.volumes.size, 0);
  });
}

test('[PROV-4] a volume that keeps the finalizer of an attacher, as the official one leaves it, is deleted once detached', async (t) => {
  const world = await provisionerWorld(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  const { name } = volume.metadata;
  const finalizers = [...(volume.metadata.finalizers ?? []), attacherFinalizer(DRIVER)];
  await world.admin.patch(persistentVolumes, { name }, { metadata: { finalizers } }, { type: 'merge' });
  await world.remove('data');
  // Its storage is gone, and only the attacher keeps the object.
  await world.volumes.waitFor(name, (each) => each?.metadata.deletionTimestamp !== undefined, within());
  assert.equal(world.driver.volumes.size, 0);
  const patch = { metadata: { finalizers: null } };
  await world.admin.patch(persistentVolumes, { name }, patch, { type: 'merge' });
  await world.volumeGone(name);
});

for (const [which, hasUid] of [
  ['', true],
  [', also where its reference has no UID', false],
] as const) {
  test(`[PROV-4] a volume marked Released by hand is not deleted under its claim${which}`, async (t) => {
    const world = await provisionerWorld(t, { withoutBinder: true });
    await world.makeClass();
    const claim = await world.makeClaim('data', { volumeName: 'pv-1' });
    await world.make(persistentVolumes, {
      metadata: { name: 'pv-1', annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER } },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'fast',
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { name: 'data', namespace: 'default', ...(hasUid && { uid: claim.metadata.uid }) },
        csi: { driver: DRIVER, volumeHandle: 'precious' },
      },
    });
    await world.start();
    const status = { status: { phase: 'Released' } };
    await world.admin.patch(persistentVolumes, { name: 'pv-1' }, status, {
      type: 'merge',
      subresource: 'status',
    });
    await world.event('VolumeFailedDelete', 'its claim default/data exists');
    assert.equal(world.driver.callsOf('DeleteVolume').length, 0);
    await world.remove('data');
    await world.volumeGone('pv-1');
  });
}

test('[PROV-4] a DeleteVolume that fails is an event on the volume and is tried again', async (t) => {
  const world = await provisionerWorld(t);
  world.driver.script(
    'DeleteVolume',
    { fail: 'FAILED_PRECONDITION', message: 'busy' },
    { failAfter: 'UNAVAILABLE' },
  );
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  const { volume } = await world.bound('data');
  await world.remove('data');
  await world.event('VolumeFailedDelete', 'busy');
  await world.volumeGone(volume.metadata.name);
  assert.equal(world.driver.callsOf('DeleteVolume').length, 3);
});

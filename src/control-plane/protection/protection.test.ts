import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { persistentVolumeClaims, persistentVolumes, pods, volumeAttributesClasses } from '../../api/kinds.ts';
import { createBinder } from '../binder/binder.ts';
import { claim, pod, volume } from '../testing/objects.ts';
import { type Row, type Started, startControllers } from '../testing/start-controllers.ts';
import { onlyEmbedded } from '../testing/test-api.ts';
import { createClaimProtection } from './claim-protection.ts';
import { createClassProtection } from './class-protection.ts';
import { createVolumeProtection } from './volume-protection.ts';

const rows = [
  { account: 'pvc-protection-controller', create: createClaimProtection },
  { account: 'pv-protection-controller', create: createVolumeProtection },
];
const binder = { account: 'persistent-volume-binder', create: createBinder };
const start = (t: TestContext): Promise<Started> => startControllers(t, [...rows, binder]);

const data = { name: 'data', namespace: 'default' };
const now = { gracePeriodSeconds: 0 };
const claimGone = ({ settled }: Started) =>
  settled(persistentVolumeClaims, 'default/data', (object) => object === undefined);

test('an unused claim is deleted at once', async (t) => {
  const started = await start(t);
  await started.kube.create(persistentVolumeClaims, claim('data'));
  await started.kube.delete(persistentVolumeClaims, data);
  await claimGone(started);
});

test('[PROV-4] a claim is deleted after the last pod that uses it, and not before', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(persistentVolumeClaims, claim('data'));
  for (const name of ['a', 'b']) await kube.create(pods, pod(name, { nodeName: 'n' }));
  // Not scheduled yet, so no node has started it.
  await kube.create(pods, pod('unscheduled'));
  await kube.delete(persistentVolumeClaims, data);
  await kube.delete(pods, { name: 'a', namespace: 'default' }, now);
  await started.settled(pods, 'default/a', (object) => object === undefined);
  // Another claim, deleted later, is gone: so the controller has processed this one.
  await kube.create(persistentVolumeClaims, claim('other'));
  await kube.delete(persistentVolumeClaims, { name: 'other', namespace: 'default' });
  await started.settled(persistentVolumeClaims, 'default/other', (object) => object === undefined);
  assert.ok((await kube.get(persistentVolumeClaims, data)).metadata.deletionTimestamp);
  await kube.delete(pods, { name: 'b', namespace: 'default' }, now);
  await claimGone(started);
});

test('a claim with the name of an ephemeral one is not kept by the pod that it was not made for', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(persistentVolumeClaims, claim('data'));
  const template = { spec: claim('x').spec };
  const volumes = [{ name: 'data', ephemeral: { volumeClaimTemplate: template } }];
  await kube.create(persistentVolumeClaims, claim('p-data'));
  await kube.create(pods, pod('p', { nodeName: 'n', volumes }));
  await kube.delete(persistentVolumeClaims, { name: 'p-data', namespace: 'default' });
  await started.settled(persistentVolumeClaims, 'default/p-data', (object) => object === undefined);
});

test('a pod in foreground deletion does not keep the ephemeral claim that it waits for', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const volumes = [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: claim('x').spec } } }];
  const waiting = pod('p', { nodeName: 'n', volumes });
  waiting.metadata.finalizers = ['foregroundDeletion'];
  const { metadata } = await kube.create(pods, waiting);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: metadata.uid, controller: true };
  const own = claim('p-data');
  own.metadata.ownerReferences = [{ ...owner, blockOwnerDeletion: true }];
  await kube.create(persistentVolumeClaims, own);
  await kube.delete(persistentVolumeClaims, { name: 'p-data', namespace: 'default' });
  await kube.delete(pods, { name: 'p', namespace: 'default' }, { gracePeriodSeconds: 0 });
  await started.settled(persistentVolumeClaims, 'default/p-data', (object) => object === undefined);
});

test('a claim and a volume that came without the finalizer get it', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(persistentVolumeClaims, claim('data', { storageClassName: 'other' }));
  await kube.create(persistentVolumes, volume('v'));
  const bare = { metadata: { finalizers: null } };
  await kube.patch(persistentVolumeClaims, data, bare, { type: 'merge' });
  await kube.patch(persistentVolumes, { name: 'v' }, bare, { type: 'merge' });
  await started.settled(persistentVolumeClaims, 'default/data', (object) =>
    Boolean(object?.metadata.finalizers?.includes('kubernetes.io/pvc-protection')),
  );
  await started.settled(persistentVolumes, 'v', (object) =>
    Boolean(object?.metadata.finalizers?.includes('kubernetes.io/pv-protection')),
  );
});

test('[PROV-4] a volume is not deleted while its claim exists', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(persistentVolumes, volume('v'));
  await kube.create(persistentVolumeClaims, claim('data'));
  await started.settled(
    persistentVolumeClaims,
    'default/data',
    (object) => object?.status?.phase === 'Bound',
  );
  await kube.delete(persistentVolumes, { name: 'v' });
  await kube.create(persistentVolumes, volume('free', { storageClassName: 'other' }));
  await kube.delete(persistentVolumes, { name: 'free' });
  await started.settled(persistentVolumes, 'free', (object) => object === undefined);
  assert.equal((await kube.get(persistentVolumes, { name: 'v' })).status?.phase, 'Bound');
  await kube.delete(persistentVolumeClaims, data);
  await started.settled(persistentVolumes, 'v', (object) => object === undefined);
});

const classRow: Row = {
  account: 'volumeattributesclass-protection-controller',
  create: createClassProtection,
};
const gold = { name: 'gold' };
const attributesClass = (name: string) => ({
  metadata: { name },
  driverName: 'd',
  parameters: { iops: '1' },
});
const classGone = ({ settled }: Started, name: string) =>
  settled(volumeAttributesClasses, name, (object) => object === undefined);
/** The controller has one queue: when a class that is deleted later is gone, `gold` has been looked at. */
async function classIsKept(started: Started): Promise<void> {
  const { kube } = started;
  await kube.create(volumeAttributesClasses, attributesClass('other'));
  await kube.delete(volumeAttributesClasses, { name: 'other' });
  await classGone(started, 'other');
  const { deletionTimestamp, finalizers } = (await kube.get(volumeAttributesClasses, gold)).metadata;
  assert.ok(deletionTimestamp);
  assert.deepEqual(finalizers, ['kubernetes.io/vac-protection']);
}

test('[PROV-4] a VolumeAttributesClass is deleted after the last claim and volume that name it', async (t) => {
  const started = await startControllers(t, [classRow]);
  const { kube } = started;
  await kube.create(volumeAttributesClasses, attributesClass('gold'));
  await kube.create(persistentVolumeClaims, claim('data', { volumeAttributesClassName: 'gold' }));
  await kube.create(persistentVolumes, volume('v', { volumeAttributesClassName: 'gold' }));
  await kube.delete(volumeAttributesClasses, gold);
  await classIsKept(started);
  const bare = { metadata: { finalizers: null } };
  await kube.patch(persistentVolumeClaims, data, bare, { type: 'merge' });
  await kube.delete(persistentVolumeClaims, data);
  await classIsKept(started);
  await kube.patch(persistentVolumes, { name: 'v' }, bare, { type: 'merge' });
  await kube.delete(persistentVolumes, { name: 'v' });
  await classGone(started, 'gold');
});

for (const status of [
  { currentVolumeAttributesClassName: 'gold' },
  { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold', status: 'InProgress' } },
]) {
  test(`a claim whose status names a class keeps it: ${Object.keys(status)}`, async (t) => {
    const started = await startControllers(t, [classRow]);
    const { kube } = started;
    await kube.create(volumeAttributesClasses, attributesClass('gold'));
    await kube.create(persistentVolumeClaims, claim('data'));
    const write = (next: object) =>
      kube.patch(persistentVolumeClaims, data, { status: next }, { type: 'merge', subresource: 'status' });
    await write(status);
    await kube.delete(volumeAttributesClasses, gold);
    await classIsKept(started);
    await write(Object.fromEntries(Object.keys(status).map((field) => [field, null])));
    await classGone(started, 'gold');
  });
}

test('a VolumeAttributesClass without the finalizer gets it', async (t) => {
  const started = await startControllers(t, [classRow]);
  const { kube } = started;
  await kube.create(volumeAttributesClasses, attributesClass('gold'));
  await kube.patch(volumeAttributesClasses, gold, { metadata: { finalizers: null } }, { type: 'merge' });
  await started.settled(volumeAttributesClasses, 'gold', (object) =>
    Boolean(object?.metadata.finalizers?.includes('kubernetes.io/vac-protection')),
  );
  await kube.delete(volumeAttributesClasses, gold);
  await classGone(started, 'gold');
});

test('a claim that the cache does not show yet keeps its VolumeAttributesClass', async (t) => {
  const started = await startControllers(t, []);
  const { kube, server } = started;
  await kube.create(volumeAttributesClasses, attributesClass('gold'));
  await kube.create(persistentVolumeClaims, claim('data', { volumeAttributesClassName: 'gold' }));
  await kube.delete(volumeAttributesClasses, gold);
  const blind: Row = {
    ...classRow,
    create: (ports) => {
      const of: typeof ports.informers.of = (resource, options) =>
        ports.informers.of(
          resource,
          resource.plural === 'persistentvolumeclaims' ? { ...options, labelSelector: 'no=such' } : options,
        );
      return createClassProtection({ ...ports, informers: { ...ports.informers, of } });
    },
  };
  await classIsKept(await startControllers(t, [blind], { server }));
});

test('a pod that the cache does not show yet keeps its claim', async (t) => {
  const started = await startControllers(t, []);
  const { kube, server } = started;
  await kube.create(persistentVolumeClaims, claim('data'));
  await kube.create(pods, pod('p', { nodeName: 'n' }));
  await kube.delete(persistentVolumeClaims, data);
  // Its cache of pods stays empty; the server's answers are right.
  const blind = {
    account: 'pvc-protection-controller',
    create: (ports: Parameters<typeof createClaimProtection>[0]) => {
      const of: typeof ports.informers.of = (resource, options) =>
        resource.plural === 'pods'
          ? ports.informers.of(resource, { ...options, labelSelector: 'no=such' })
          : ports.informers.of(resource, options);
      return createClaimProtection({ ...ports, informers: { ...ports.informers, of } });
    },
  };
  const second = await startControllers(t, [blind], { server });
  await kube.create(persistentVolumeClaims, claim('other'));
  await kube.delete(persistentVolumeClaims, { name: 'other', namespace: 'default' });
  await second.settled(persistentVolumeClaims, 'default/other', (object) => object === undefined);
  await kube.get(persistentVolumeClaims, data);
});

test('[PROV-4] with its gate, a claim is unused also after a pod that no watch ever showed', {
  skip: onlyEmbedded('kube-apiserver lets the controller write it with that gate only'),
}, async (t) => {
  const blind: Row = {
    account: 'pvc-protection-controller',
    create: (ports) => {
      const of: typeof ports.informers.of = (resource, options) =>
        resource.plural === 'pods'
          ? ports.informers.of(resource, { ...options, labelSelector: 'no=such' })
          : ports.informers.of(resource, options);
      const gates = { PersistentVolumeClaimUnusedSinceTime: true };
      return createClaimProtection({ ...ports, gates, informers: { ...ports.informers, of } });
    },
  };
  const { kube, settled } = await startControllers(t, [blind, binder]);
  const says = (name: string, status: string) =>
    settled(persistentVolumeClaims, `default/${name}`, (object) =>
      Boolean(object?.status?.conditions?.some((each) => each.type === 'Unused' && each.status === status)),
    );
  const bound = async (name: string) => {
    await kube.create(persistentVolumes, volume(`v-${name}`));
    await kube.create(persistentVolumeClaims, claim(name));
  };
  await kube.create(pods, pod('user'));
  await bound('data');
  await says('data', 'False');
  // The claim's own change is looked at before this one.
  await bound('other');
  await says('other', 'True');
  await kube.delete(pods, { name: 'user', namespace: 'default' }, now);
  await says('data', 'True');
});

test('with its gate, a bound claim says since when no pod uses it', {
  skip: onlyEmbedded('kube-apiserver lets the controller write it with that gate only'),
}, async (t) => {
  const gated: Row = {
    account: 'pvc-protection-controller',
    create: (ports) =>
      createClaimProtection({ ...ports, gates: { PersistentVolumeClaimUnusedSinceTime: true } }),
  };
  const started = await startControllers(t, [gated, binder]);
  const { kube, settled } = started;
  const unused = async (status: string, reason: string) => {
    const object = await settled(persistentVolumeClaims, 'default/data', (now) =>
      Boolean(
        now?.status?.conditions?.some(
          (each) => each.type === 'Unused' && each.status === status && each.reason === reason,
        ),
      ),
    );
    return object?.status?.conditions ?? [];
  };
  await kube.create(persistentVolumes, volume('v'));
  await kube.create(persistentVolumeClaims, claim('data'));
  const [first] = await unused('True', 'NoPodsUsingPVC');
  assert.match(first?.lastTransitionTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const other = { type: 'Resizing', status: 'True' };
  await kube.patch(
    persistentVolumeClaims,
    data,
    { status: { conditions: [other] } },
    { type: 'strategic', subresource: 'status' },
  );
  // Not scheduled: it refers to the claim all the same.
  await kube.create(pods, pod('user'));
  const conditions = await unused('False', 'PodUsingPVC');
  assert.ok(
    conditions.some(({ type }) => type === 'Resizing'),
    'the conditions of others stay',
  );
  await kube.patch(
    pods,
    { name: 'user', namespace: 'default' },
    { status: { phase: 'Succeeded' } },
    { type: 'merge', subresource: 'status' },
  );
  await unused('True', 'NoPodsUsingPVC');
  await kube.create(pods, pod('again'));
  await unused('False', 'PodUsingPVC');
  await kube.delete(pods, { name: 'again', namespace: 'default' }, now);
  await unused('True', 'NoPodsUsingPVC');
});

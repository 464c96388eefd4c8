import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  events,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { claim, volume } from '../testing/objects.ts';
import { type Started, startControllers } from '../testing/start-controllers.ts';
import { createBinder } from './binder.ts';

const row = { account: 'persistent-volume-binder', create: createBinder };

async function start(t: TestContext) {
  const started = await startControllers(t, [row]);
  const { kube, settled } = started;
  return {
    ...started,
    make: (...drafts: Draft<PersistentVolume>[]) =>
      Promise.all(drafts.map((draft) => kube.create(persistentVolumes, draft))),
    ask: (...drafts: Draft<PersistentVolumeClaim>[]) =>
      Promise.all(drafts.map((draft) => kube.create(persistentVolumeClaims, draft))),
    volumeIs: (name: string, phase: string) =>
      settled(persistentVolumes, name, (object) => object?.status?.phase === phase),
    claimIs: (name: string, phase: string) =>
      settled(persistentVolumeClaims, `default/${name}`, (object) => object?.status?.phase === phase),
    /** For its provisioner. */
    isMarked: (name: string) =>
      settled(
        persistentVolumeClaims,
        `default/${name}`,
        (object) => object?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] !== undefined,
      ),
  };
}

/** Resolves with the message of the first such event. */
async function event({ informers }: Started, reason: string): Promise<string> {
  const all = informers.of(events);
  await all.synced();
  return new Promise((resolve) => {
    all.subscribe({ added: (each) => each.reason === reason && resolve(each.message ?? '') });
  });
}

const inZone = (zone: string): Partial<PersistentVolume['spec']> => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] }],
    },
  },
});
const delayed = {
  metadata: { name: 'manual' },
  provisioner: 'driver.example',
  volumeBindingMode: 'WaitForFirstConsumer',
};
/** Nobody is asked to provision, so a claim looks the same however late the binder sees its node. */
const delayedByHand = { ...delayed, provisioner: 'kubernetes.io/no-provisioner' };

test('a claim gets the smallest volume that fits, and both sides say so', async (t) => {
  const { kube, make, ask, volumeIs, claimIs } = await start(t);
  await make(volume('big', { capacity: { storage: '9Gi' } }), volume('fit'));
  await volumeIs('big', 'Available');
  await volumeIs('fit', 'Available');
  await ask(claim('data'));
  const data = await claimIs('data', 'Bound');
  assert.equal(data?.spec.volumeName, 'fit');
  assert.deepEqual(data?.status?.capacity, { storage: '2Gi' });
  const fit = await kube.get(persistentVolumes, { name: 'fit' });
  assert.equal(fit.spec.claimRef?.uid, data?.metadata.uid);
  assert.equal(fit.status?.phase, 'Bound');
});

test('a ReadWriteOnce claim does not take a shared volume, however well its size fits', async (t) => {
  const { make, ask, volumeIs, claimIs } = await start(t);
  const accessModes = ['ReadWriteOnce', 'ReadWriteMany'];
  await make(volume('shared', { accessModes }), volume('plain', { capacity: { storage: '9Gi' } }));
  await volumeIs('shared', 'Available');
  await volumeIs('plain', 'Available');
  await ask(claim('data'));
  assert.equal((await claimIs('data', 'Bound'))?.spec.volumeName, 'plain');
});

test('[PROV-1] a claim of a class is marked for its provisioner under both names', async (t) => {
  const { kube, ask, isMarked } = await start(t);
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: 'driver.example' });
  await ask(claim('data', { storageClassName: 'fast' }));
  const marked = await isMarked('data');
  assert.deepEqual(marked?.metadata.annotations, {
    'volume.kubernetes.io/storage-provisioner': 'driver.example',
    'volume.beta.kubernetes.io/storage-provisioner': 'driver.example',
  });
});

test('[PROV-2] a volume provisioned for a claim is bound to it, even if its node affinity excludes the selected node', async (t) => {
  const { kube, make, ask, isMarked, claimIs, volumeIs } = await start(t);
  await kube.create(storageClasses, delayed);
  await kube.create(nodes, { metadata: { name: 'n', labels: { zone: 'a' } } });
  const [data] = await ask(claim('data', {}, { annotations: { 'volume.kubernetes.io/selected-node': 'n' } }));
  await isMarked('data');
  const claimRef = { name: 'data', namespace: 'default', uid: data?.metadata.uid ?? '' };
  await make(volume('pvc-1', { claimRef, ...inZone('b') }));
  assert.equal((await claimIs('data', 'Bound'))?.spec.volumeName, 'pvc-1');
  await volumeIs('pvc-1', 'Bound');
});

test('[PROV-4] a volume whose claim is deleted is released and keeps its data', async (t) => {
  const { kube, make, ask, claimIs, volumeIs } = await start(t);
  await make(volume('v'));
  await ask(claim('data'));
  await claimIs('data', 'Bound');
  const data = { name: 'data', namespace: 'default' };
  await kube.patch(persistentVolumeClaims, data, { metadata: { finalizers: null } }, { type: 'merge' });
  await kube.delete(persistentVolumeClaims, data);
  await volumeIs('v', 'Released');
  // A claim of the same name with another UID must not get the data.
  await ask(claim('data'));
  await make(volume('w', { capacity: { storage: '9Gi' } }));
  assert.equal((await claimIs('data', 'Bound'))?.spec.volumeName, 'w');
  assert.equal((await kube.get(persistentVolumes, { name: 'v' })).status?.phase, 'Released');
});

test('a delayed claim waits for its node, and then takes a volume that the node reaches', async (t) => {
  const started = await start(t);
  const { kube, make, ask, claimIs, volumeIs } = started;
  await kube.create(storageClasses, delayedByHand);
  await kube.create(nodes, { metadata: { name: 'n', labels: { zone: 'b' } } });
  await make(volume('in-a', inZone('a')), volume('in-b', { capacity: { storage: '5Gi' }, ...inZone('b') }));
  await volumeIs('in-a', 'Available');
  await volumeIs('in-b', 'Available');
  await ask(claim('data'));
  assert.match(await event(started, 'WaitForFirstConsumer'), /first consumer/);
  const annotations = { 'volume.kubernetes.io/selected-node': 'n' };
  await kube.patch(
    persistentVolumeClaims,
    { name: 'data', namespace: 'default' },
    { metadata: { annotations } },
    { type: 'merge' },
  );
  assert.equal((await claimIs('data', 'Bound'))?.spec.volumeName, 'in-b');
});

test('late node labels are still used for the decision', async (t) => {
  const { kube, make, ask, claimIs } = await start(t);
  await kube.create(storageClasses, delayedByHand);
  await make(volume('in-b', inZone('b')));
  await ask(claim('data', {}, { annotations: { 'volume.kubernetes.io/selected-node': 'n' } }));
  await kube.create(nodes, { metadata: { name: 'n' } });
  await kube.patch(nodes, { name: 'n' }, { metadata: { labels: { zone: 'b' } } }, { type: 'merge' });
  await claimIs('data', 'Bound');
});

test('a reservation by claimRef or volumeName holds, and no other claim gets the volume', async (t) => {
  const { make, ask, claimIs } = await start(t);
  await make(
    volume('small', { capacity: { storage: '1Gi' } }),
    volume('kept', { claimRef: { name: 'late', namespace: 'default' } }),
    volume('named', { capacity: { storage: '9Gi' } }),
  );
  await ask(claim('exact', { volumeName: 'named' }));
  assert.equal((await claimIs('exact', 'Bound'))?.spec.volumeName, 'named');
  await ask(claim('first'));
  assert.equal((await claimIs('first', 'Bound'))?.spec.volumeName, 'small');
  await ask(claim('late'));
  assert.equal((await claimIs('late', 'Bound'))?.spec.volumeName, 'kept');
});

test('of two claims for one volume one waits, with a reason, until there is another', async (t) => {
  const started = await start(t);
  const { make, ask, claimIs } = started;
  await make(volume('v', { storageClassName: '' }));
  await ask(claim('a', { storageClassName: '' }), claim('b', { storageClassName: '' }));
  assert.match(await event(started, 'FailedBinding'), /no persistent volumes available/);
  await make(volume('w', { storageClassName: '' }));
  const [a, b] = [await claimIs('a', 'Bound'), await claimIs('b', 'Bound')];
  assert.deepEqual([a?.spec.volumeName, b?.spec.volumeName].sort(), ['v', 'w']);
});

test('a hundred claims are bound concurrently without conflicts', async (t) => {
  const { kube, make, ask, claimIs, log } = await start(t);
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  await ask(...numbers.map((index) => claim(`c${index}`)));
  await make(...numbers.map((index) => volume(`v${index}`)));
  for (const index of numbers) await claimIs(`c${index}`, 'Bound');
  const { items } = await kube.list(persistentVolumeClaims);
  assert.equal(new Set(items.map(({ spec }) => spec.volumeName)).size, 100);
  assert.deepEqual(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

test('a binding takes four writes', async (t) => {
  let writes = 0;
  const counting = {
    ...row,
    create: (ports: Parameters<typeof createBinder>[0]) => {
      const update: typeof ports.kube.update = (...given) => {
        writes++;
        return ports.kube.update(...given);
      };
      return createBinder({ ...ports, kube: { ...ports.kube, update } });
    },
  };
  const { kube, settled } = await startControllers(t, [counting]);
  await kube.create(persistentVolumes, volume('v'));
  await settled(persistentVolumes, 'v', (object) => object?.status?.phase === 'Available');
  assert.equal(writes, 1);
  await kube.create(persistentVolumeClaims, claim('data'));
  await settled(persistentVolumeClaims, 'default/data', (object) => object?.status?.phase === 'Bound');
  // Another claim is created and bound: by then everything that the first one caused is done.
  await kube.create(persistentVolumes, volume('w'));
  await kube.create(persistentVolumeClaims, claim('other'));
  await settled(persistentVolumeClaims, 'default/other', (object) => object?.status?.phase === 'Bound');
  assert.equal(writes, 10);
});

test('a claim that is older than the default class gets it once it exists', async (t) => {
  const { kube, ask, isMarked } = await start(t);
  const draft = claim('data');
  delete draft.spec.storageClassName;
  await ask(draft);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  await kube.create(storageClasses, {
    metadata: { name: 'usual', annotations },
    provisioner: 'driver.example',
  });
  const asked = await isMarked('data');
  assert.equal(asked?.spec.storageClassName, 'usual');
});

test('a missing class is reported, and used once it exists', async (t) => {
  const started = await start(t);
  await started.ask(claim('data'));
  assert.equal(await event(started, 'ProvisioningFailed'), 'storageclass.storage.k8s.io "manual" not found');
  await started.kube.create(storageClasses, { metadata: { name: 'manual' }, provisioner: 'd' });
  assert.match(await event(started, 'ExternalProvisioning'), /external provisioner 'd'/);
});

test('a claim whose volume is gone becomes Lost, and nothing else', async (t) => {
  const started = await start(t);
  const { kube, make, ask, claimIs } = started;
  await make(volume('v'));
  await ask(claim('data'));
  await claimIs('data', 'Bound');
  await kube.patch(persistentVolumes, { name: 'v' }, { metadata: { finalizers: null } }, { type: 'merge' });
  await kube.delete(persistentVolumes, { name: 'v' });
  const lost = await claimIs('data', 'Lost');
  assert.equal(lost?.spec.volumeName, 'v');
  assert.equal(lost?.status?.capacity, undefined);
  assert.match(await event(started, 'ClaimLost'), /Data on the volume is lost/);
});

test('a volume whose claim is bound to another is released, for its provisioner to delete', async (t) => {
  const { make, ask, claimIs, volumeIs } = await start(t);
  await make(volume('v'));
  const [data] = await ask(claim('data'));
  await claimIs('data', 'Bound');
  const claimRef = { name: 'data', namespace: 'default', uid: data?.metadata.uid ?? '' };
  await make(
    volume(
      'spare',
      { claimRef, persistentVolumeReclaimPolicy: 'Delete' },
      { annotations: { 'pv.kubernetes.io/provisioned-by': 'd' } },
    ),
  );
  await volumeIs('spare', 'Released');
  await volumeIs('v', 'Bound');
});

test('a claim that is being deleted gets nothing new', async (t) => {
  const { kube, make, ask, claimIs, restart } = await start(t);
  await restart(async () => {
    await ask(claim('going'), claim('staying'));
    await kube.delete(persistentVolumeClaims, { name: 'going', namespace: 'default' });
    await make(volume('v'));
  });
  assert.equal((await claimIs('staying', 'Bound'))?.spec.volumeName, 'v');
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { testServer } from '../../apiserver/test-server.ts';
import { realClock } from '../../runtime/clock.ts';
import { createEventRecorder } from '../../runtime/events/create-event-recorder.ts';
import { createInformers } from '../../runtime/informer/create-informers.ts';
import type { KubeClient } from '../../runtime/kube.ts';
import { silentLog } from '../../runtime/log.ts';
import { seededRandom } from '../../runtime/random.ts';
import { createBinder } from './binder.ts';

async function startBinder(t: TestContext) {
  const server = await testServer(t);
  const kube = server.client(server.adminUser);
  const ports = { kube, clock: realClock, random: seededRandom(1), log: silentLog };
  const informers = createInformers(ports);
  const stop = new AbortController();
  const recorder = createEventRecorder({ ...ports, component: 'binder', signal: stop.signal });
  const binder = createBinder({ ...ports, informers, recorder });
  informers.start(stop.signal);
  const running = binder.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running.catch(() => {});
  });
  return { kube, informers };
}

function volume(name: string, change: Partial<PersistentVolume['spec']> = {}): Draft<PersistentVolume> {
  return {
    metadata: { name },
    spec: {
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: 'd', volumeHandle: name },
      ...change,
    },
  };
}

function claim(
  name: string,
  change: Partial<PersistentVolumeClaim['spec']> = {},
): Draft<PersistentVolumeClaim> {
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'manual',
      resources: { requests: { storage: '1Gi' } },
      ...change,
    },
  };
}

async function bound(kube: KubeClient, informers: ReturnType<typeof createInformers>, name: string) {
  const seen = await informers
    .of(persistentVolumeClaims)
    .waitFor(`default/${name}`, (c) => c?.status?.phase === 'Bound');
  return kube.get(persistentVolumeClaims, { name: seen?.metadata.name ?? '', namespace: 'default' });
}

test('a claim gets the smallest volume that fits, and both sides say so', async (t) => {
  const { kube, informers } = await startBinder(t);
  await kube.create(persistentVolumes, volume('big', { capacity: { storage: '9Gi' } }));
  await kube.create(persistentVolumes, volume('fit'));
  await informers.of(persistentVolumes).waitFor('fit', (v) => v?.status?.phase === 'Available');
  await kube.create(persistentVolumeClaims, claim('data'));
  const data = await bound(kube, informers, 'data');
  assert.equal(data.spec.volumeName, 'fit');
  assert.deepEqual(data.status?.capacity, { storage: '2Gi' });
  const fit = await kube.get(persistentVolumes, { name: 'fit' });
  assert.equal(fit.spec.claimRef?.uid, data.metadata.uid);
  assert.equal(fit.status?.phase, 'Bound');
});

test('[PROV-1] a claim of a class is marked for its provisioner under both names', async (t) => {
  const { kube, informers } = await startBinder(t);
  await kube.create(storageClasses, { metadata: { name: 'fast' }, provisioner: 'driver.example' });
  await kube.create(persistentVolumeClaims, claim('data', { storageClassName: 'fast' }));
  const marked = await informers
    .of(persistentVolumeClaims)
    .waitFor(
      'default/data',
      (c) => c?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] !== undefined,
    );
  assert.deepEqual(marked?.metadata.annotations, {
    'volume.kubernetes.io/storage-provisioner': 'driver.example',
    'volume.beta.kubernetes.io/storage-provisioner': 'driver.example',
  });
});

test('[PROV-4] a volume whose claim is deleted is released and keeps its data', async (t) => {
  const { kube, informers } = await startBinder(t);
  await kube.create(persistentVolumes, volume('v'));
  await kube.create(persistentVolumeClaims, claim('data'));
  const data = await bound(kube, informers, 'data');
  await kube.update(persistentVolumeClaims, { ...data, metadata: { ...data.metadata, finalizers: [] } });
  await kube.delete(persistentVolumeClaims, { name: 'data', namespace: 'default' });
  await informers.of(persistentVolumes).waitFor('v', (v) => v?.status?.phase === 'Released');
});

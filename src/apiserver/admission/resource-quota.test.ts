import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type ResourceQuota,
  resourceQuotas,
  storageClasses,
} from '../../api/kinds.ts';
import type { Draft } from '../../api/object.ts';
import { isForbidden, isInvalid } from '../../runtime/kube/kube-error.ts';
import { testServer } from '../testing/test-server.ts';

type Hard = Record<string, string>;

const claim = (name: string, storage = '1Gi', storageClassName = 'fast'): Draft<PersistentVolumeClaim> => ({
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
});
const quota = (hard: Hard, more: object = {}): Draft<ResourceQuota> => ({
  metadata: { name: 'limits', namespace: 'default' },
  spec: { hard, ...more },
});

/** On disk, so that writes are decided before earlier ones are committed. */
async function start(t: TestContext, hard: Hard) {
  const dataDir = await mkdtemp(join(tmpdir(), 'quota-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const server = await testServer(t, { dataDir });
  const kube = server.client(server.adminUser);
  await kube.create(resourceQuotas, quota(hard));
  return {
    kube,
    create: (...args: Parameters<typeof claim>) => kube.create(persistentVolumeClaims, claim(...args)),
  };
}

test("a claim beyond its namespace's quota is rejected with kube-apiserver's message", async (t) => {
  const { kube, create } = await start(t, { 'requests.storage': '10Gi', persistentvolumeclaims: '3' });
  await create('a', '4Gi');
  await create('b', '5Gi');
  await assert.rejects(create('c', '2Gi'), {
    message:
      'persistentvolumeclaims "c" is forbidden: exceeded quota: limits, requested: requests.storage=2Gi, ' +
      'used: requests.storage=9Gi, limited: requests.storage=10Gi',
  });
  await create('c', '1Gi');
  await assert.rejects(create('d', '1Ki'), {
    message:
      'persistentvolumeclaims "d" is forbidden: exceeded quota: limits, ' +
      'requested: persistentvolumeclaims=1,requests.storage=1Ki, used: persistentvolumeclaims=3,requests.storage=10Gi, ' +
      'limited: persistentvolumeclaims=3,requests.storage=10Gi',
  });
  await kube.patch(
    persistentVolumeClaims,
    { name: 'a', namespace: 'default' },
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await kube.delete(persistentVolumeClaims, { name: 'a', namespace: 'default' });
  await create('d', '1Ki');
});

test('of concurrently created claims only as many are admitted as fit the quota', async (t) => {
  const { kube, create } = await start(t, { 'requests.storage': '5Gi' });
  const names = Array.from({ length: 20 }, (_, index) => `c${index}`);
  const answers = await Promise.allSettled(names.map((name) => create(name)));
  const refused = answers.filter((answer) => answer.status === 'rejected');
  assert.equal(refused.length, 15);
  assert(refused.every(({ reason }) => isForbidden(reason)));
  assert.equal((await kube.list(persistentVolumeClaims)).items.length, 5);
});

test('a quota of one storage class does not limit other classes', async (t) => {
  const { create } = await start(t, {
    'fast.storageclass.storage.k8s.io/requests.storage': '2Gi',
    'slow.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
  });
  await create('a', '2Gi', 'fast');
  await assert.rejects(
    create('b', '1Gi', 'fast'),
    /fast\.storageclass\.storage\.k8s\.io\/requests\.storage=1Gi/,
  );
  await create('c', '9Gi', 'slow');
  await assert.rejects(
    create('d', '1Gi', 'slow'),
    /slow\.storageclass\.storage\.k8s\.io\/persistentvolumeclaims=1/,
  );
  await create('e', '9Gi', 'other');
});

test('expanding a claim is charged the difference, other changes nothing', async (t) => {
  const { kube, create } = await start(t, { 'requests.storage': '3Gi' });
  await kube.create(storageClasses, {
    metadata: { name: 'fast' },
    provisioner: 'd',
    allowVolumeExpansion: true,
  });
  await create('a', '2Gi');
  const name = { name: 'a', namespace: 'default' };
  const merge = { type: 'merge' } as const;
  await kube.patch(
    persistentVolumeClaims,
    name,
    { status: { phase: 'Bound' } },
    { ...merge, subresource: 'status' },
  );
  const grow = (storage: string) =>
    kube.patch(persistentVolumeClaims, name, { spec: { resources: { requests: { storage } } } }, merge);
  await assert.rejects(
    grow('4Gi'),
    /requested: requests\.storage=2Gi, used: requests\.storage=2Gi, limited: requests\.storage=3Gi/,
  );
  await grow('3Gi');
  const lower = { spec: { hard: { 'requests.storage': '1Gi' } } };
  await kube.patch(resourceQuotas, { name: 'limits', namespace: 'default' }, lower, merge);
  await kube.patch(persistentVolumeClaims, name, { metadata: { labels: { a: 'b' } } }, merge);
  await assert.rejects(create('b', '1Ki'), isForbidden);
});

test('a dry run is checked and not charged; a quota of pods does not apply to claims', async (t) => {
  const { kube, create } = await start(t, { persistentvolumeclaims: '1' });
  await kube.create(persistentVolumeClaims, claim('a'), { dryRun: true });
  await create('a');
  await assert.rejects(kube.create(persistentVolumeClaims, claim('b'), { dryRun: true }), isForbidden);
  const pods = {
    metadata: { name: 'pods', namespace: 'default' },
    spec: { hard: { pods: '0' }, scopes: ['BestEffort'] },
  };
  await kube.create(resourceQuotas, pods);
});

test('a quota needs known resources and valid quantities', async (t) => {
  const { kube } = await start(t, {});
  const table: [Draft<ResourceQuota>, RegExp][] = [
    [quota({ storage: '1' }), /spec\.hard\[storage\].*must be a standard resource for quota/],
    [quota({ persistentvolumeclaims: '1500m' }), /must be an integer/],
    [quota({ 'requests.storage': '-1' }), /must be greater than or equal to 0/],
    [
      quota({ persistentvolumeclaims: '1' }, { scopes: ['VolumeAttributesClass'] }),
      /not counted by volumeAttributesClassName/,
    ],
  ];
  for (const [draft, message] of table) {
    const named = { ...draft, metadata: { name: 'other', namespace: 'default' } };
    await assert.rejects(
      kube.create(resourceQuotas, named),
      (error: Error) => isInvalid(error) && message.test(error.message),
    );
  }
});

// The client and the informer with the real embedded API server, over HTTPS with the kubeconfig it wrote, and through
// its local door: both doors must behave alike.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { configMaps, storageClasses, volumeSnapshots } from '../../api/kinds.ts';
import { type ApiServer, createApiServer } from '../../apiserver/index.ts';
import { createInformers } from '../informer/create-informers.ts';
import { silentLog } from '../log/log.ts';
import { realRandom } from '../random.ts';
import { realClock } from '../time/clock.ts';
import { createHttpKubeClient } from './http-kube-client.ts';
import type { KubeClient } from './kube.ts';
import { isAlreadyExists, isConflict, isNotFound } from './kube-error.ts';
import { loadKubeConfig } from './load-kube-config.ts';

const ports = { clock: realClock, random: realRandom, log: silentLog };

async function start(t: TestContext): Promise<{ server: ApiServer; http: KubeClient }> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-kube-'));
  const kubeconfigPath = join(directory, 'kubeconfig');
  const server = await createApiServer({ ...ports, host: '127.0.0.1', kubeconfigPath });
  const config = await loadKubeConfig({ path: kubeconfigPath, env: {} });
  const http = createHttpKubeClient({ ...ports, config });
  t.after(async () => {
    await http.close();
    await server.stop();
    await rm(directory, { recursive: true });
  });
  return { server, http };
}

const doors: Record<string, (started: { server: ApiServer; http: KubeClient }) => KubeClient> = {
  HTTPS: ({ http }) => http,
  'the local door': ({ server }) => server.client(server.adminUser),
};

const name = { namespace: 'default', name: 'a' };
const draft = (value: string) => ({ metadata: { ...name }, data: { value } });

for (const [door, open] of Object.entries(doors)) {
  test(`through ${door}: create, read, change and delete, with typed errors`, async (t) => {
    const kube = open(await start(t));
    const created = await kube.create(configMaps, draft('1'));
    await assert.rejects(kube.create(configMaps, draft('1')), isAlreadyExists);
    const updated = await kube.update(configMaps, { ...created, data: { value: '2' } });
    await assert.rejects(kube.update(configMaps, { ...created, data: { value: '3' } }), isConflict);
    const patched = await kube.patch(configMaps, name, { data: { more: 'x' } }, { type: 'merge' });
    assert.deepEqual(patched.data, { value: '2', more: 'x' });
    const replaced = await kube.patch(configMaps, name, [{ op: 'remove', path: '/data/more' }], {
      type: 'json',
    });
    assert.deepEqual(replaced.data, { value: '2' });
    assert.deepEqual(await kube.get(configMaps, name), replaced);
    const uid = 'another';
    await assert.rejects(kube.delete(configMaps, name, { preconditions: { uid } }), isConflict);
    await kube.delete(configMaps, name, { preconditions: { uid: updated.metadata.uid } });
    await assert.rejects(kube.get(configMaps, name), isNotFound);
  });

  test(`through ${door}: lists in pages, selections, deletion of a collection`, async (t) => {
    const kube = open(await start(t));
    for (let index = 0; index < 7; index++) {
      const labels = { parity: index % 2 === 0 ? 'even' : 'odd' };
      await kube.create(configMaps, { metadata: { namespace: 'default', name: `c${index}`, labels } });
    }
    const selection = { namespace: 'default', labelSelector: 'parity=even' };
    const page = await kube.list(configMaps, { ...selection, limit: 3 });
    assert.equal(page.items.length, 3);
    assert.ok(page.metadata.continue);
    const rest = await kube.list(configMaps, { ...selection, limit: 3, continue: page.metadata.continue });
    assert.deepEqual(
      [...page.items, ...rest.items].map((item) => `${item.kind} ${item.metadata.name}`),
      ['ConfigMap c0', 'ConfigMap c2', 'ConfigMap c4', 'ConfigMap c6'],
    );
    await kube.deleteCollection(configMaps, selection);
    assert.equal((await kube.list(configMaps, selection)).items.length, 0);
  });

  test(`through ${door}: an informer follows, and a kind that is not installed is empty`, async (t) => {
    const kube = open(await start(t));
    const stop = new AbortController();
    t.after(() => stop.abort());
    const informers = createInformers({ ...ports, kube, freeze: true });
    const classes = informers.of(storageClasses);
    const snapshots = informers.of(volumeSnapshots, { optional: true });
    await kube.create(storageClasses, { metadata: { name: 'before' }, provisioner: 'x' });
    informers.start(stop.signal);
    await informers.synced(AbortSignal.timeout(10_000));
    assert.ok(classes.get('before'));
    assert.deepEqual(snapshots.list(), []);
    await kube.create(storageClasses, { metadata: { name: 'after' }, provisioner: 'x' });
    await kube.delete(storageClasses, { name: 'before' });
    const patience = AbortSignal.timeout(10_000);
    await classes.waitFor('after', (object) => object !== undefined, patience);
    await classes.waitFor('before', (object) => object === undefined, patience);
    assert.equal(classes.get('after')?.kind, 'StorageClass');
  });
}

test('informers that own their objects cache no ownership of fields, and writes from such a cache keep it', async (t) => {
  const { http } = await start(t);
  const stop = new AbortController();
  t.after(() => stop.abort());
  await http.create(configMaps, draft('1'), { fieldManager: 'maker' });
  const informers = createInformers({ ...ports, kube: http, ownsObjects: true });
  const cache = informers.of(configMaps);
  informers.start(stop.signal);
  await cache.synced();
  const cached = cache.get('default/a');
  assert.ok(cached);
  assert.equal(cached.metadata.managedFields, undefined);
  await http.update(
    configMaps,
    { ...cached, data: { ...cached.data, more: 'x' } },
    { fieldManager: 'other' },
  );
  const { managedFields = [] } = (await http.get(configMaps, name)).metadata;
  assert.deepEqual(managedFields.map(({ manager }) => manager).sort(), ['maker', 'other']);
});

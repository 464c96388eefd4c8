import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { clusterRoles, configMaps, namespaces, persistentVolumes } from '../api/kinds.ts';
import { serviceAccountUser } from './auth/users.ts';
import { testServer } from './testing/test-server.ts';

test('servers that start from one image have the same content and are independent', async (t) => {
  const first = await testServer(t);
  const admin = first.client(first.adminUser);
  await admin.create(configMaps, { metadata: { name: 'a', namespace: 'default' }, data: { text: 'before' } });
  const image = first.image();
  await admin.delete(configMaps, { name: 'a', namespace: 'default' });

  const second = await testServer(t, { image, pki: first.pki });
  const other = second.client(second.adminUser);
  const found = await other.get(configMaps, { name: 'a', namespace: 'default' });
  assert.equal(Number(found.metadata.resourceVersion), image.revision);
  assert.deepEqual(
    (await other.list(namespaces)).items.map(({ metadata }) => metadata.name),
    ['default', 'kube-node-lease', 'kube-public', 'kube-system'],
  );
  const changed = await other.update(configMaps, { ...found, data: { text: 'after' } });
  assert.equal(Number(changed.metadata.resourceVersion), image.revision + 1);

  const third = await testServer(t, { image, pki: first.pki });
  const untouched = await third.client(third.adminUser).get(configMaps, { name: 'a', namespace: 'default' });
  assert.deepEqual(untouched.data, { text: 'before' });
});

test('without field tracking, objects have no managedFields', async (t) => {
  for (const tracksFields of [true, false]) {
    const server = await testServer(t, { tracksFields });
    const kube = server.client(server.adminUser);
    const name = { name: 'a', namespace: 'default' };
    const made = await kube.create(configMaps, { metadata: name, data: { text: 'x' } });
    const changed = await kube.patch(configMaps, name, { data: { text: 'y' } }, { type: 'merge' });
    assert.equal(made.metadata.managedFields !== undefined, tracksFields);
    assert.equal(changed.metadata.managedFields !== undefined, tracksFields);
  }
});

test('a server with fewer kinds knows the others only from what is stored', async (t) => {
  const first = await testServer(t);
  const image = first.image();
  const less = await testServer(t, {
    image,
    pki: first.pki,
    serves: ({ plural }) => plural !== 'clusterroles',
  });
  const admin = less.client(less.adminUser);
  await assert.rejects(admin.list(clusterRoles), { reason: 'NotFound' });
  // Roles that cannot be read any more still decide.
  const binder = less.client(serviceAccountUser('kube-system', 'persistent-volume-binder'));
  assert.deepEqual((await binder.list(persistentVolumes)).items, []);
  await assert.rejects(binder.list(configMaps), { reason: 'Forbidden' });
});

test('a server that cannot write its kubeconfig leaves no port open', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-'));
  const kubeconfigPath = join(dir, 'config');
  await writeFile(kubeconfigPath, 'apiVersion: v1\nkind: Config\n');
  const port = await freePort();
  await assert.rejects(testServer(t, { listen: true, port, kubeconfigPath }), /was not written by berth/);
  const again = createServer().listen(port, '127.0.0.1');
  t.after(() => again.close());
  await once(again, 'listening');
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

// Whoever may create pods in one namespace names another namespace's volume by its handle.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attackedServer, MERGE_PATCH } from './attacked-server.ts';

const PODS = '/api/v1/namespaces/default/pods';
const DRIVERS = '/apis/storage.k8s.io/v1/csidrivers';

test('[INL-2] [INL-3] a pod mounts a volume by its handle only where the driver’s object allows it', async (t) => {
  const { asAdmin: call } = await attackedServer(t);
  const pod = (name: string, driver: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', csi: { driver, volumeHandle: 'vol-of-somebody-else' } }],
    },
  });
  const metadata = { name: 'd.example.com' };
  await call('POST', DRIVERS, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata, spec: {} });
  for (const driver of ['d.example.com', 'not.registered.yet']) {
    const refused = await call('POST', PODS, pod('p', driver));
    assert.equal(refused.code, 403, driver);
    assert.match(refused.message, /csi\.volumeHandle: .*does not let pods name its volumes by their handle/);
  }
  const annotations = { 'csi.berth/inline-handles': 'allowed' };
  await call('PATCH', `${DRIVERS}/d.example.com`, { metadata: { annotations } }, MERGE_PATCH);
  assert.equal((await call('POST', PODS, pod('p', 'd.example.com'))).code, 201);
});

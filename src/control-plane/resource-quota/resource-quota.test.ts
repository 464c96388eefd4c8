import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, resourceQuotas } from '../../api/kinds.ts';
import { claim } from '../testing/objects.ts';
import { startControllers } from '../testing/start-controllers.ts';
import { createResourceQuota } from './resource-quota.ts';

test('the status of a quota follows the claims of its namespace, and its own limits', async (t) => {
  const { kube, settled } = await startControllers(t, [
    { account: 'resourcequota-controller', create: createResourceQuota },
  ]);
  const name = { name: 'limits', namespace: 'default' };
  const hard = {
    'requests.storage': '10Gi',
    'count/persistentvolumeclaims': '5',
    'manual.storageclass.storage.k8s.io/requests.storage': '3Gi',
    pods: '7',
  };
  const used = (storage: string) =>
    settled(
      resourceQuotas,
      'default/limits',
      (quota) => quota?.status?.used?.['requests.storage'] === storage,
    );
  await kube.create(resourceQuotas, { metadata: name, spec: { hard } });
  await used('0');
  await kube.create(persistentVolumeClaims, claim('a'));
  await kube.create(persistentVolumeClaims, claim('b', { storageClassName: 'other' }));
  const both = await used('2Gi');
  assert.deepEqual(both?.status, {
    hard,
    used: {
      'requests.storage': '2Gi',
      'count/persistentvolumeclaims': '2',
      'manual.storageclass.storage.k8s.io/requests.storage': '1Gi',
    },
  });
  const growing = { status: { allocatedResources: { storage: '4Gi' } } };
  const a = { name: 'a', namespace: 'default' };
  await kube.patch(persistentVolumeClaims, a, growing, { type: 'merge', subresource: 'status' });
  await used('5Gi');
  await kube.patch(persistentVolumeClaims, a, { metadata: { finalizers: null } }, { type: 'merge' });
  await kube.delete(persistentVolumeClaims, a);
  await used('1Gi');
  await kube.patch(
    resourceQuotas,
    name,
    { spec: { hard: { 'requests.storage': '1Gi' } } },
    { type: 'merge' },
  );
  await settled(
    resourceQuotas,
    'default/limits',
    (quota) => quota?.status?.hard?.['requests.storage'] === '1Gi',
  );
});

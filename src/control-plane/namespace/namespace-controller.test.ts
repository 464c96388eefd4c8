import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type CustomResourceDefinition,
  configMaps,
  customResourceDefinitions,
  namespaces,
  persistentVolumeClaims,
  pods,
  serviceAccounts,
} from '../../api/kinds.ts';
import { draft } from '../../apiserver/testing/test-server.ts';
import { startControllers } from '../testing/start-controllers.ts';
import { createNamespaceController } from './namespace-controller.ts';

const row = { account: 'namespace-controller', create: createNamespaceController };

async function start(t: TestContext) {
  const started = await startControllers(t, [row]);
  await started.kube.create(namespaces, { metadata: { name: 'n' } });
  await started.kube.create(namespaces, { metadata: { name: 'other' } });
  await started.settled(serviceAccounts, 'other/default', (object) => object !== undefined);
  return started;
}

const widgets = { group: 'example.com', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };

test('a namespace goes with everything in it, of every kind, and no other', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(
    customResourceDefinitions,
    draft<CustomResourceDefinition>({
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    }),
  );
  for (const namespace of ['n', 'other']) {
    await kube.create(configMaps, { metadata: { name: 'm', namespace } });
    await kube.create(widgets, { metadata: { name: 'w', namespace } });
  }
  await kube.delete(namespaces, { name: 'n' });
  await started.settled(namespaces, 'n', (object) => object === undefined);
  assert.deepEqual(
    (await kube.list(widgets)).items.map(({ metadata }) => metadata.namespace),
    ['other'],
  );
  await kube.get(configMaps, { name: 'm', namespace: 'other' });
});

test('it waits for objects with finalizers, names the finalizers, and is deleted once they are gone', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(configMaps, {
    metadata: { name: 'm', namespace: 'n', finalizers: ['example.com/hold'] },
  });
  await kube.delete(namespaces, { name: 'n' });
  const waiting = await started.settled(
    namespaces,
    'n',
    (object) => object?.status?.conditions !== undefined,
  );
  const shown = waiting?.status?.conditions?.filter(({ status }) => status === 'True');
  assert.deepEqual(
    shown?.map(({ type, message }) => [type, message]),
    [
      ['NamespaceContentRemaining', 'Some resources are remaining: configmaps. has 1 resource instances'],
      [
        'NamespaceFinalizersRemaining',
        'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
      ],
    ],
  );
  await kube.patch(
    configMaps,
    { name: 'm', namespace: 'n' },
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await started.settled(namespaces, 'n', (object) => object === undefined);
  assert.doesNotMatch(started.log.text(), /Failed, will retry/, 'waiting is no failure');
});

test('a deletion that was under way when the controller stopped is taken up', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(configMaps, { metadata: { name: 'm', namespace: 'n' } });
  await started.restart(() => kube.delete(namespaces, { name: 'n' }));
  await started.settled(namespaces, 'n', (object) => object === undefined);
});

test('a running pod gets its time to end, and its claim its protection', async (t) => {
  const started = await start(t);
  const { kube } = started;
  await kube.create(pods, {
    metadata: { name: 'p', namespace: 'n' },
    spec: { nodeName: 'node', containers: [{ name: 'c', image: 'i' }] },
  });
  await kube.create(persistentVolumeClaims, {
    metadata: { name: 'c', namespace: 'n' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await kube.delete(namespaces, { name: 'n' });
  await started.settled(namespaces, 'n', (object) =>
    Boolean(object?.status?.conditions?.some(({ message }) => message?.includes('pods. has 1'))),
  );
  const pod = await kube.get(pods, { name: 'p', namespace: 'n' });
  assert.equal(pod.metadata.deletionGracePeriodSeconds, 30);
  await kube.delete(pods, { name: 'p', namespace: 'n' }, { gracePeriodSeconds: 0 });
  await kube.patch(
    persistentVolumeClaims,
    { name: 'c', namespace: 'n' },
    { metadata: { finalizers: null } },
    { type: 'merge' },
  );
  await started.settled(namespaces, 'n', (object) => object === undefined);
});

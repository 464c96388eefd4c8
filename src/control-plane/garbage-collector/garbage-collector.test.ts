import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { parse } from 'yaml';
import {
  type ConfigMap,
  type CSINode,
  type CustomResourceDefinition,
  configMaps,
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  events,
  nodes,
  persistentVolumeClaims,
} from '../../api/kinds.ts';
import type { KubeObject, OwnerReference } from '../../api/object.ts';
import { draft } from '../../apiserver/testing/test-server.ts';
import type { KubeClient } from '../../runtime/kube/kube.ts';
import { aborted } from '../../runtime/time/until-aborted.ts';
import { claim } from '../testing/objects.ts';
import { type Started, startControllers } from '../testing/start-controllers.ts';
import { testApi } from '../testing/test-api.ts';
import { createGarbageCollector } from './garbage-collector.ts';

const row = { account: 'generic-garbage-collector', create: createGarbageCollector };
const start = (t: TestContext): Promise<Started> => startControllers(t, [row]);

const ownedBy = (owner: KubeObject, blockOwnerDeletion = false): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  blockOwnerDeletion,
});

const map = (
  { kube }: Started,
  name: string,
  ownerReferences: OwnerReference[] = [],
  finalizers: string[] = [],
): Promise<ConfigMap> =>
  kube.create(configMaps, { metadata: { name, namespace: 'default', ownerReferences, finalizers } });

const named = (name: string) => ({ name, namespace: 'default' });
const gone = (started: Started, name: string) =>
  started.settled(configMaps, `default/${name}`, (object) => object === undefined);

test('[REG-9] deleting a Node also deletes its CSINode and CSINodeInfo, and no other', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const crd = await readFile(
    new URL('../../../deploy/crds/csi.storage.k8s.io_csinodeinfos.yaml', import.meta.url),
    'utf8',
  );
  await kube.create(customResourceDefinitions, parse(crd));
  for (const name of ['a', 'b']) {
    const node = await kube.create(nodes, { metadata: { name } });
    const metadata = { name, ownerReferences: [ownedBy(node)] };
    await kube.create(csiNodes, draft<CSINode>({ metadata, spec: { drivers: [] } }));
    await kube.create(csiNodeInfos, { metadata, csiDrivers: [{ name: 'd', nodeID: name }] });
  }
  await kube.delete(nodes, { name: 'a' });
  await started.settled(csiNodes, 'a', (object) => object === undefined);
  await started.settled(csiNodeInfos, 'a', (object) => object === undefined);
  assert.equal((await kube.list(csiNodes)).items.length, 1);
  assert.equal((await kube.list(csiNodeInfos)).items.length, 1);
});

test('dependents are deleted after their owner, over several levels', async (t) => {
  const started = await start(t);
  const parent = await map(started, 'parent');
  const child = await map(started, 'child', [ownedBy(parent)]);
  await map(started, 'grandchild', [ownedBy(child)]);
  await started.kube.delete(configMaps, named('parent'));
  await gone(started, 'grandchild');
  await gone(started, 'child');
});

test('an owner that never existed, or had another UID, does not keep its dependents', async (t) => {
  const started = await start(t);
  const parent = await map(started, 'parent');
  await map(started, 'impostor', [{ ...ownedBy(parent), uid: 'another' }]);
  await map(started, 'stray', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: 'never' }]);
  await gone(started, 'impostor');
  await gone(started, 'stray');
  await started.kube.get(configMaps, named('parent'));
});

test('an owner that was deleted while the controller was down is noticed', async (t) => {
  const started = await start(t);
  const parent = await map(started, 'parent');
  await map(started, 'child', [ownedBy(parent)]);
  await started.restart(() => started.kube.delete(configMaps, named('parent')));
  await gone(started, 'child');
});

test('an object with another owner left is kept, and loses the absent reference', async (t) => {
  const started = await start(t);
  const [one, two] = [await map(started, 'one'), await map(started, 'two')];
  await map(started, 'child', [ownedBy(one), ownedBy(two)]);
  await started.kube.delete(configMaps, named('one'));
  const child = await started.settled(
    configMaps,
    'default/child',
    (object) => object?.metadata.ownerReferences?.length === 1,
  );
  assert.equal(child?.metadata.ownerReferences?.[0]?.uid, two.metadata.uid);
});

test('foreground deletion deletes the owner last', async (t) => {
  const started = await start(t);
  const parent = await map(started, 'parent');
  await map(started, 'child', [ownedBy(parent, true)], ['example.com/hold']);
  await started.kube.delete(configMaps, named('parent'), { propagationPolicy: 'Foreground' });
  const child = await started.settled(
    configMaps,
    'default/child',
    (object) => object?.metadata.deletionTimestamp !== undefined,
  );
  assert.ok((await started.kube.get(configMaps, named('parent'))).metadata.deletionTimestamp);
  await started.kube.patch(configMaps, named('child'), { metadata: { finalizers: null } }, { type: 'merge' });
  await gone(started, 'parent');
  assert.ok(child);
});

test('foreground deletion also deletes a cycle of owners', async (t) => {
  const started = await start(t);
  const a = await map(started, 'a');
  const b = await map(started, 'b', [ownedBy(a, true)]);
  await started.kube.patch(
    configMaps,
    named('a'),
    { metadata: { ownerReferences: [ownedBy(b, true)] } },
    { type: 'merge' },
  );
  await started.kube.delete(configMaps, named('a'), { propagationPolicy: 'Foreground' });
  await gone(started, 'a');
  await gone(started, 'b');
});

test('orphans stay and have no owner any more', async (t) => {
  const started = await start(t);
  const parent = await map(started, 'parent');
  await map(started, 'child', [ownedBy(parent)]);
  await started.kube.delete(configMaps, named('parent'), { propagationPolicy: 'Orphan' });
  await gone(started, 'parent');
  const child = await started.kube.get(configMaps, named('child'));
  assert.deepEqual(child.metadata.ownerReferences ?? [], []);
});

test('a dependent stays without its owner although the watch was silent when it got it', async (t) => {
  const api = await testApi(t);
  let opened = 0;
  let silenced = 0;
  /** Claims are watched in silence, until somebody lists them again. */
  const silenceable = (kube: KubeClient): KubeClient['watch'] =>
    async function* (kind, options = {}) {
      const mine = ++opened;
      for await (const event of kube.watch(kind, options)) {
        if (kind.plural === 'persistentvolumeclaims' && mine <= silenced && options.signal) {
          await aborted(options.signal);
          return;
        }
        yield event;
      }
    };
  const isEnding = (object?: KubeObject) => object?.metadata.deletionTimestamp !== undefined;
  const started = await startControllers(t, [row], {
    server: {
      adminUser: api.adminUser,
      client: (user) => {
        const kube = api.client(user);
        if (user === api.adminUser) return kube;
        return Object.assign(Object.create(kube), { watch: silenceable(kube) });
      },
    },
  });
  const { kube } = started;
  const seen = await map(started, 'seen');
  await kube.create(persistentVolumeClaims, claim('first', {}, { ownerReferences: [ownedBy(seen)] }));
  await kube.delete(configMaps, named('seen'));
  await started.settled(persistentVolumeClaims, 'default/first', isEnding);
  const parent = await map(started, 'parent');
  silenced = opened;
  await kube.create(persistentVolumeClaims, claim('data', {}, { ownerReferences: [ownedBy(parent)] }));
  await kube.delete(configMaps, named('parent'), { propagationPolicy: 'Orphan' });
  await gone(started, 'parent');
  const data = await kube.get(persistentVolumeClaims, named('data'));
  assert.deepEqual(data.metadata.ownerReferences ?? [], []);
});

test('owners whose dependents stay do not hold up others when a kind cannot be listed', async (t) => {
  const api = await testApi(t);
  let isHung = false;
  const hang = async ({ signal }: { signal?: AbortSignal }) => {
    if (signal) await aborted(signal);
    throw new Error('no answer');
  };
  const hanging = (kube: KubeClient): Pick<KubeClient, 'list' | 'watch'> => ({
    async list(kind, options = {}) {
      return isHung && kind.plural === 'secrets' ? hang(options) : kube.list(kind, options);
    },
    async *watch(kind, options = {}) {
      if (isHung && kind.plural === 'secrets') await hang(options);
      yield* kube.watch(kind, options);
    },
  });
  const started = await startControllers(t, [row], {
    server: {
      adminUser: api.adminUser,
      client: (user) => {
        const kube = api.client(user);
        return user === api.adminUser ? kube : Object.assign(Object.create(kube), hanging(kube));
      },
    },
  });
  const { kube } = started;
  const first = await map(started, 'first');
  await map(started, 'of-first', [ownedBy(first)]);
  await kube.delete(configMaps, named('first'));
  await gone(started, 'of-first');
  isHung = true;
  for (let i = 0; i < 25; i++) {
    await map(started, `keeps-${i}`);
    await kube.delete(configMaps, named(`keeps-${i}`), { propagationPolicy: 'Orphan' });
  }
  const other = await map(started, 'other');
  await map(started, 'of-other', [ownedBy(other)]);
  await kube.delete(configMaps, named('other'));
  await gone(started, 'of-other');
});

test('kinds that are installed later are collected', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const parent = await map(started, 'parent');
  await kube.create(customResourceDefinitions, draft<CustomResourceDefinition>(widgetDefinition));
  await kube.create(widgets, {
    metadata: { name: 'w', namespace: 'default', ownerReferences: [ownedBy(parent)] },
  });
  await kube.delete(configMaps, named('parent'));
  await started.settled(widgets, 'default/w', (object) => object === undefined);
});

test('an owner of a kind that is not served, or in a namespace, is no reason to delete', async (t) => {
  const started = await start(t);
  const { kube } = started;
  const parent = await map(started, 'parent');
  await map(started, 'odd', [{ apiVersion: 'example.com/v1', kind: 'Nothing', name: 'x', uid: 'x' }]);
  await kube.create(nodes, { metadata: { name: 'n', ownerReferences: [ownedBy(parent)] } });
  const all = started.informers.of(events);
  await all.synced();
  await new Promise<void>((resolve) => {
    all.subscribe({ added: ({ reason }) => reason === 'OwnerRefInvalidNamespace' && resolve() });
  });
  await kube.get(nodes, { name: 'n' });
  await kube.get(configMaps, named('odd'));
});

const widgets = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const widgetDefinition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

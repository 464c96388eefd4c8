import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  csiStorageCapacities,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  storageClasses,
} from '../../src/api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../src/api/well-known.ts';
import type { ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
import type { Message } from '../../src/wire/protobuf/descriptor.ts';
import { DRIVER, provisionerWorld, TOPOLOGY, type World } from './world.ts';

const controller: NonNullable<ScriptedDriverOptions['controller']> = ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'];
const capacity = { enableCapacity: true, capacityPollIntervalMs: 20, capacityOwnerrefLevel: -1 };
const delayed = { volumeBindingMode: 'WaitForFirstConsumer' } as const;

/** Resolves once what is published is exactly this: class, zone, amount. */
async function published(world: World, wanted: string[]): Promise<void> {
  const informer = world.informers.of(csiStorageCapacities);
  const now = () =>
    informer
      .list()
      .map(
        (each) => `${each.storageClassName} ${each.nodeTopology?.matchLabels?.zone ?? '-'} ${each.capacity}`,
      )
      .sort();
  await new Promise<void>((resolve, reject) => {
    const giveUp = setTimeout(() => reject(new Error(`${now()} instead of ${wanted}`)), 15_000);
    const look = () => {
      if (JSON.stringify(now()) !== JSON.stringify(wanted)) return;
      clearTimeout(giveUp);
      resolve();
    };
    informer.subscribe({ added: look, updated: look, deleted: look });
    informer.synced().then(look, reject);
  });
}

const withTopology = (t: TestContext) =>
  provisionerWorld(t, { driver: { controller, plugin: [...TOPOLOGY.plugin] }, provisioner: capacity });

test('free capacity is published per segment and delayed class, and updated with both', async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  await world.makeNode('n2', { zone: 'b' });
  await world.makeClass({ ...delayed, parameters: { tier: 'gold' } });
  await world.makeClass({ metadata: { name: 'now' } });
  await world.start();
  await published(world, ['fast a 1Ti', 'fast b 1Ti']);
  world.driver.always('GetCapacity', { answer: { availableCapacity: 5n << 30n } });
  await published(world, ['fast a 5Gi', 'fast b 5Gi']);
  await world.makeNode('n3', { zone: 'c' });
  await world.admin.delete(nodes, { name: 'n2' });
  await published(world, ['fast a 5Gi', 'fast c 5Gi']);
  await world.admin.delete(storageClasses, { name: 'fast' });
  await published(world, []);
});

test('the name of a capacity object is derived from class and segment: two leaders create it once', async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  await world.makeClass(delayed);
  const [first, second] = [await world.start(), await world.start()];
  await published(world, ['fast a 1Ti']);
  await first.stop();
  const [object] = world.informers.of(csiStorageCapacities).list();
  assert.equal(object?.metadata.labels?.['csi.storage.k8s.io/drivername'], DRIVER);
  assert.equal(object?.metadata.labels?.['csi.storage.k8s.io/managed-by'], 'external-provisioner');
  const { name, namespace = '' } = object?.metadata ?? { name: '' };
  await world.admin.delete(csiStorageCapacities, { name, namespace });
  await published(world, ['fast a 1Ti']);
  await second.stop();
});

test("published capacity belongs to the controller of the provisioner's pod", async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  await world.makeClass(delayed);
  await world.make(pods, {
    metadata: {
      name: 'csi-0',
      namespace: 'kube-system',
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'csi', uid: 'u-1', controller: true },
      ],
    },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  await world.start(undefined, { ...capacity, capacityOwnerrefLevel: 1 }, { POD_NAME: 'csi-0' });
  await published(world, ['fast a 1Ti']);
  const [object] = world.informers.of(csiStorageCapacities).list();
  assert.deepEqual(object?.metadata.ownerReferences, [
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'csi', uid: 'u-1', controller: true },
  ]);
});

test('without topology there is one object a class', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller }, provisioner: capacity });
  await world.makeClass(delayed);
  await world.start();
  await published(world, ['fast - 1Ti']);
});

/** The values of the gauges: objects that should exist, those of them that do, and those that should not. */
function counted(world: World): Record<string, string | undefined> {
  const text = world.metrics.text();
  const read = (name: string) => new RegExp(`^csistoragecapacities_${name} (.*)$`, 'm').exec(text)?.[1];
  return {
    goal: read('desired_goal'),
    current: read('desired_current'),
    obsolete: read('obsolete'),
  };
}

const seldom = { ...capacity, capacityPollIntervalMs: 3_600_000 };

test('capacity of classes that bind immediately is published if so configured; of other drivers never', async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  await world.makeClass(delayed);
  await world.makeClass({ metadata: { name: 'now' } });
  await world.makeClass({ metadata: { name: 'theirs' }, provisioner: 'other.csi.test', ...delayed });
  await world.start(undefined, { ...seldom, capacityForImmediateBinding: true });
  await published(world, ['fast a 1Ti', 'now a 1Ti']);
  assert.deepEqual(counted(world), { goal: '2', current: '2', obsolete: '0' });
});

test('capacity is asked for when a class changes, and objects that an earlier process left are deleted', async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  const labels = {
    'csi.storage.k8s.io/drivername': DRIVER,
    'csi.storage.k8s.io/managed-by': 'external-provisioner',
  };
  const left = { storageClassName: 'gone', capacity: '1', nodeTopology: { matchLabels: { zone: 'a' } } };
  const makeLeft = (name: string, change: object) =>
    world.make(csiStorageCapacities, {
      metadata: { name, namespace: 'kube-system', labels },
      ...left,
      ...change,
    });
  await makeLeft('of-a-class-that-is-gone', {});
  await makeLeft('of-a-zone-that-is-gone', {
    storageClassName: 'fast',
    nodeTopology: { matchLabels: { zone: 'z' } },
  });
  await makeLeft('twice', { storageClassName: 'fast' });
  await makeLeft('twice-2', { storageClassName: 'fast' });
  await world.makeClass(delayed);
  await world.start(undefined, seldom);
  await published(world, ['fast a 1Ti']);
  assert.deepEqual(counted(world), { goal: '1', current: '1', obsolete: '0' });
  world.driver.always('GetCapacity', { answer: { availableCapacity: 5n << 30n } });
  const labelled = { metadata: { labels: { a: 'b' } } };
  await world.admin.patch(storageClasses, { name: 'fast' }, labelled, { type: 'merge' });
  await published(world, ['fast a 5Gi']);
});

test('an object that the cache does not show yet is updated', async (t) => {
  const world = await withTopology(t);
  await world.makeNode('n1', { zone: 'a' });
  await world.makeClass(delayed);
  let isFirst = true;
  await world.start(({ kube }) => {
    const create: typeof kube.create = async (resource, draft, options) => {
      const isCapacity = (resource as { plural: string }).plural === csiStorageCapacities.plural;
      if (isCapacity && isFirst)
        await world.admin.create(resource, { ...draft, capacity: '7' } as typeof draft);
      if (isCapacity) isFirst = false;
      return kube.create(resource, draft, options);
    };
    return { kube: Object.assign(Object.create(kube), { create }) };
  }, seldom);
  await published(world, ['fast a 1Ti']);
  assert.equal(isFirst, false);
});

test('after a volume is made or deleted, capacity of its class is asked for again, and of no other', async (t) => {
  const world = await provisionerWorld(t, { driver: { controller }, provisioner: seldom });
  await world.makeClass(delayed);
  await world.makeClass({ metadata: { name: 'other' }, ...delayed, parameters: { tier: 'other' } });
  await world.start();
  await published(world, ['fast - 1Ti', 'other - 1Ti']);
  const asked = () =>
    world.driver
      .callsOf<Message & { parameters: Record<string, string> }>('GetCapacity')
      .filter(({ parameters }) => parameters.tier === undefined).length;
  const others = () => world.driver.callsOf('GetCapacity').length - asked();
  // Once before the object is created, and once when it is seen.
  await world.driver.until(() => asked() === 2 && others() === 2);
  await world.makeClaim('data', {}, { annotations: { [ANN_SELECTED_NODE]: 'n1' } });
  await world.bound('data');
  await world.driver.until(() => asked() === 3);
  await world.remove('data');
  await world.driver.until(() => asked() === 4);
  assert.equal(others(), 2);
});

const startOn = (
  world: World,
  nodeName: string,
  nodeDeploymentBaseDelayMs = 20,
  more: Parameters<World['start']>[1] = {},
) =>
  world.start(
    undefined,
    {
      nodeDeployment: true,
      nodeDeploymentBaseDelayMs,
      nodeDeploymentMaxDelayMs: 100,
      strictTopology: true,
      ...more,
    },
    { NODE_NAME: nodeName },
  );

test('with one provisioner a node, each publishes the capacity of its own segment under its own name', async (t) => {
  const world = await twoNodes(t);
  await world.makeClass(delayed);
  const long = `n-${'x'.repeat(45)}`;
  for (const node of ['n1', long, `${long}y`]) await startOn(world, node, 20, seldom);
  await published(world, ['fast a 1Ti', 'fast a 1Ti', 'fast a 1Ti']);
  const owners = world.informers
    .of(csiStorageCapacities)
    .list()
    .map(({ metadata }) => metadata.labels?.['csi.storage.k8s.io/managed-by'] ?? '');
  assert.ok(owners.includes('external-provisioner-n1'));
  assert.equal(new Set(owners).size, 3);
  // The values of labels have at most 63 characters.
  for (const owner of owners) assert.match(owner, /^[a-z0-9-]{1,63}$/);
});

test('with one provisioner a node, the longest name that fits into a label is not shortened', async (t) => {
  const world = await twoNodes(t);
  await world.makeClass(delayed);
  const fits = `n-${'x'.repeat(63 - 'external-provisioner-n-'.length)}`;
  await startOn(world, fits, 20, seldom);
  await published(world, ['fast a 1Ti']);
  const [object] = world.informers.of(csiStorageCapacities).list();
  assert.equal(object?.metadata.labels?.['csi.storage.k8s.io/managed-by'], `external-provisioner-${fits}`);
});

test('[PROV-4] with one provisioner a node, each deletes only the volumes of its segment', async (t) => {
  const world = await twoNodes(t);
  const first = await startOn(world, 'n1');
  await world.makeClass(delayed);
  for (const name of ['ours', 'theirs'])
    await world.makeClaim(name, {}, { annotations: { [ANN_SELECTED_NODE]: 'n1' } });
  const { volume: ours } = await world.bound('ours');
  const { volume: theirs } = await world.bound('theirs');
  await first.stop();
  const terms = [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }];
  const { metadata, spec } = theirs;
  const elsewhere = {
    metadata: { name: 'elsewhere', annotations: metadata.annotations, finalizers: metadata.finalizers },
    spec: { ...spec, nodeAffinity: { required: { nodeSelectorTerms: terms } } },
  };
  await world.make(persistentVolumes, elsewhere);
  await world.admin.patch(
    persistentVolumes,
    { name: 'elsewhere' },
    { status: { phase: 'Released' } },
    { type: 'merge', subresource: 'status' },
  );
  await startOn(world, 'n1');
  await world.remove('ours');
  await world.volumeGone(ours.metadata.name);
  const deleted = world.driver.callsOf<Message & { volumeId: string }>('DeleteVolume');
  assert.deepEqual(
    deleted.map(({ volumeId }) => volumeId),
    [ours.spec.csi?.volumeHandle],
  );
});

async function twoNodes(t: TestContext): Promise<World> {
  const world = await provisionerWorld(t, {
    driver: { controller, plugin: [...TOPOLOGY.plugin], segments: { zone: 'a' } },
  });
  await world.makeNode('n1', { zone: 'a' });
  await world.makeNode('n2', { zone: 'b' });
  return world;
}

test('with one provisioner a node, each makes only the volumes of its node', async (t) => {
  const world = await twoNodes(t);
  await startOn(world, 'n1');
  await world.makeClass(delayed);
  await world.makeClaim('theirs', {}, { annotations: { [ANN_SELECTED_NODE]: 'n2' } });
  await world.makeClaim('ours', {}, { annotations: { [ANN_SELECTED_NODE]: 'n1' } });
  await world.bound('ours');
  assert.equal(world.driver.volumes.size, 1);
  await startOn(world, 'n2');
  await world.bound('theirs');
});

test('with one provisioner a node, one of them takes a claim that binds immediately', async (t) => {
  const world = await twoNodes(t);
  await Promise.all([startOn(world, 'n1'), startOn(world, 'n2')]);
  await world.makeClass();
  for (const name of ['a', 'b', 'c', 'd']) await world.makeClaim(name);
  for (const name of ['a', 'b', 'c', 'd']) await world.bound(name);
  assert.equal(world.driver.volumes.size, 4);
  const { items } = await world.admin.list(persistentVolumeClaims);
  for (const claim of items) assert.match(claim.metadata.annotations?.[ANN_SELECTED_NODE] ?? '', /^n[12]$/);
});

test('with one provisioner a node, one without capacity does not take claims', async (t) => {
  const world = await twoNodes(t);
  world.driver.always('GetCapacity', { answer: { availableCapacity: 0n } });
  await startOn(world, 'n1', 5);
  await world.makeClass();
  await world.makeClaim('data');
  await world.driver.until(() => world.driver.callsOf('GetCapacity').length >= 2);
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
  world.driver.always('GetCapacity', undefined);
  await world.bound('data');
});

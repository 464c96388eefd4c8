import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  csiStorageCapacities,
  nodes,
  persistentVolumeClaims,
  pods,
  storageClasses,
} from '../../src/api/kinds.ts';
import { ANN_SELECTED_NODE } from '../../src/api/well-known.ts';
import type { ScriptedDriverOptions } from '../../src/csi/testing/scripted-driver.ts';
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

const startOn = (world: World, nodeName: string, nodeDeploymentBaseDelayMs = 20) =>
  world.start(
    undefined,
    { nodeDeployment: true, nodeDeploymentBaseDelayMs, nodeDeploymentMaxDelayMs: 100, strictTopology: true },
    { NODE_NAME: nodeName },
  );

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

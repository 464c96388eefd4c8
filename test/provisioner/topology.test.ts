import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  nodes,
  persistentVolumeClaims,
} from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { ANN_SELECTED_NODE, ANN_SELECTED_NODE_ALPHA } from '../../src/api/well-known.ts';
import type { CreateVolumeRequest } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import type { ProvisionerFlags } from '../../src/sidecars/provisioner/provisioner-flags.ts';
import { DRIVER, provisionerWorld, TOPOLOGY, type World } from './world.ts';

const delayed = { volumeBindingMode: 'WaitForFirstConsumer' } as const;
const within = () => AbortSignal.timeout(20_000);

async function threeZones(
  t: Parameters<typeof provisionerWorld>[0],
  provisioner: Partial<ProvisionerFlags> = {},
) {
  const world = await provisionerWorld(t, { driver: { plugin: [...TOPOLOGY.plugin] }, provisioner });
  await world.makeNode('n1', { zone: 'a' });
  await world.makeNode('n2', { zone: 'b' });
  await world.makeNode('n3', { zone: 'c' });
  await world.makeNode('n4', { zone: 'b' });
  return world;
}

function claimOn(world: World, name: string, node: string, annotation = ANN_SELECTED_NODE) {
  return world.makeClaim(name, {}, { annotations: { [annotation]: node } });
}

function topologyOf(world: World, index = -1) {
  const request = world.driver.callsOf<CreateVolumeRequest>('CreateVolume').at(index);
  const requirements = request?.accessibilityRequirements;
  const segments = (list: { segments: Record<string, string> }[] = []) => list.map((each) => each.segments);
  return { requisite: segments(requirements?.requisite), preferred: segments(requirements?.preferred) };
}

const zones = (...names: string[]) => names.map((zone) => ({ zone }));

test('[TOP-1] [TOP-3] [TOP-5] [TOP-7] the selected node comes first, and the answer becomes node affinity', async (t) => {
  const world = await threeZones(t);
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'n2');
  const { volume } = await world.bound('data');
  assert.deepEqual(topologyOf(world), { requisite: zones('a', 'b', 'c'), preferred: zones('b', 'c', 'a') });
  assert.deepEqual(volume.spec.nodeAffinity, {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }],
    },
  });
  // Another node of the same zone, another claim: the same list.
  await claimOn(world, 'more', 'n4');
  await world.bound('more');
  assert.deepEqual(topologyOf(world).preferred, zones('b', 'c', 'a'));
});

test("[TOP-1] the alpha annotation selects a node too, and today's wins", async (t) => {
  const world = await threeZones(t);
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'old', 'n3', ANN_SELECTED_NODE_ALPHA);
  await world.bound('old');
  assert.deepEqual(topologyOf(world).preferred[0], { zone: 'c' });
  const both = { [ANN_SELECTED_NODE]: 'n1', [ANN_SELECTED_NODE_ALPHA]: 'n3' };
  await world.makeClaim('both', {}, { annotations: both });
  await world.bound('both');
  assert.deepEqual(topologyOf(world).preferred[0], { zone: 'a' });
});

test('[TOP-2] without a selected node nothing is preferred', async (t) => {
  const world = await threeZones(t);
  await world.start();
  await world.makeClass();
  await world.makeClaim('data-web-1');
  await world.bound('data-web-1');
  assert.deepEqual(topologyOf(world), { requisite: zones('a', 'b', 'c'), preferred: [] });
});

test('[TOP-2] --immediate-topology=false leaves the place to the driver', async (t) => {
  const world = await threeZones(t, { immediateTopology: false });
  await world.start();
  await world.makeClass();
  await world.makeClaim('data');
  await world.bound('data');
  const [request] = world.driver.callsOf<CreateVolumeRequest>('CreateVolume');
  assert.equal(request?.accessibilityRequirements, undefined);
});

test("[TOP-3] AllowedTopologies is the requisite, and --strict-topology leaves the selected node's segment alone", async (t) => {
  const allowedTopologies = [{ matchLabelExpressions: [{ key: 'zone', values: ['c', 'b'] }] }];
  const world = await threeZones(t);
  const lenient = await world.start();
  await world.makeClass({ ...delayed, allowedTopologies });
  await claimOn(world, 'data', 'n3');
  await world.bound('data');
  assert.deepEqual(topologyOf(world), { requisite: zones('b', 'c'), preferred: zones('c', 'b') });
  await lenient.stop();
  await world.start(undefined, { strictTopology: true });
  await claimOn(world, 'strict', 'n2');
  await world.bound('strict');
  assert.deepEqual(topologyOf(world), { requisite: zones('b'), preferred: zones('b') });
});

test('[TOP-4] nodes without the keys of the selected one, or without the driver, do not count', async (t) => {
  const world = await threeZones(t);
  await world.makeNode('odd', { zone: 'x', rack: '1' }, ['zone', 'rack']);
  await world.make(nodes, { metadata: { name: 'bare', labels: { zone: 'y' } }, spec: {} });
  await world.makeNode('unlabelled', {}, ['zone']);
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'n1');
  await world.bound('data');
  assert.deepEqual(topologyOf(world).requisite, zones('a', 'b', 'c', 'x'));
  await claimOn(world, 'odd', 'odd');
  await world.bound('odd');
  assert.deepEqual(topologyOf(world).requisite, [{ zone: 'x', rack: '1' }]);
});

test('[TOP-5] a repeated request for a claim is the same after a change of the cluster', async (t) => {
  const world = await threeZones(t);
  world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' }, { fail: 'UNAVAILABLE' });
  await world.start(undefined, { retryIntervalStartMs: 50 });
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'n2');
  await world.driver.until(() => world.driver.callsOf('CreateVolume').length === 1);
  await world.makeNode('n5', { zone: 'd' });
  await world.bound('data');
  assert.deepEqual(topologyOf(world, 2), topologyOf(world, 0));
});

test('[TOP-5] [PROV-5] a refusal after a restart and a change of the cluster proves nothing of the request before', async (t) => {
  const world = await threeZones(t);
  world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' });
  const first = await world.start(undefined, { retryIntervalStartMs: 60_000 });
  await world.makeClass();
  await world.makeClaim('data');
  await world.event('ProvisioningFailed');
  await first.stop();
  await world.admin.delete(csiNodes, { name: 'n1' });
  await world.remove('data');
  world.driver.script('CreateVolume', { fail: 'ALREADY_EXISTS' });
  await world.start();
  await world.claimGone('data');
  assert.deepEqual(topologyOf(world).requisite, zones('b', 'c'));
  await world.noIntents();
  assert.equal(world.driver.volumes.size, 0);
});

test('[TOP-6] the volumes of a StatefulSet spread evenly over the zones', async (t) => {
  const world = await threeZones(t, { immediatePreference: 'statefulset' });
  await world.start();
  await world.makeClass();
  const used: unknown[] = [];
  for (let ordinal = 0; ordinal < 6; ordinal++) {
    await world.makeClaim(`data-web-${ordinal}`);
    const { volume } = await world.bound(`data-web-${ordinal}`);
    used.push(volume.spec.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values?.[0]);
    assert.equal(topologyOf(world).preferred.length, 3);
  }
  assert.deepEqual([...used].sort(), ['a', 'a', 'b', 'b', 'c', 'c']);
  assert.deepEqual(used.slice(3), used.slice(0, 3));
});

test('[TOP-9] a node without the driver is waited for, and no wrong topology is requested', async (t) => {
  const world = await threeZones(t);
  await world.make(nodes, { metadata: { name: 'late', labels: { zone: 'a' } }, spec: {} });
  await world.make(csiNodes, { metadata: { name: 'late' }, spec: { drivers: [] } });
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'late');
  await world.event('ProvisioningFailed', 'not registered on selected node late');
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
  const drivers = [{ name: DRIVER, nodeID: 'late', topologyKeys: ['zone'] }];
  await world.admin.patch(csiNodes, { name: 'late' }, { spec: { drivers } }, { type: 'merge' });
  await world.bound('data');
  assert.deepEqual(topologyOf(world).preferred[0], { zone: 'a' });
});

test('[TOP-9] a selected node that is gone returns the claim to the scheduler', async (t) => {
  const world = await threeZones(t);
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'gone');
  await world.claims.waitFor(
    'default/data',
    (claim) => claim !== undefined && claim.metadata.annotations?.[ANN_SELECTED_NODE] === undefined,
    within(),
  );
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

for (const isDeleted of [true, false]) {
  const end = isDeleted ? 'a deleted claim goes' : 'the claim returns to the scheduler';
  test(`[TOP-9] [PROV-5] the selected node is gone after a restart: the open volume is deleted, and ${end}`, async (t) => {
    const world = await threeZones(t);
    world.driver.script('CreateVolume', { failAfter: 'DEADLINE_EXCEEDED' });
    const first = await world.start(undefined, { retryIntervalStartMs: 60_000 });
    await world.makeClass(delayed);
    await claimOn(world, 'data', 'n2');
    await world.event('ProvisioningFailed');
    await first.stop();
    await world.admin.delete(csiNodes, { name: 'n2' });
    await world.admin.delete(nodes, { name: 'n2' });
    if (isDeleted) await world.remove('data');
    world.driver.script('CreateVolume', { fail: 'INVALID_ARGUMENT' });
    await world.start();
    await world.claims.waitFor(
      'default/data',
      (claim) =>
        isDeleted ? !claim : claim !== undefined && !claim.metadata.annotations?.[ANN_SELECTED_NODE],
      within(),
    );
    assert.equal(world.driver.volumes.size, 0);
    assert.deepEqual(topologyOf(world), { requisite: [], preferred: [] });
    if (isDeleted) return;
    await world.admin.patch(
      persistentVolumeClaims,
      { name: 'data', namespace: 'default' },
      { metadata: { annotations: { [ANN_SELECTED_NODE]: 'n3' } } },
      { type: 'merge' },
    );
    await world.bound('data');
  });
}

test('[TOP-9] a selected node whose CSINode is gone returns the claim to the scheduler', async (t) => {
  const world = await threeZones(t);
  await world.make(nodes, { metadata: { name: 'bare', labels: { zone: 'a' } }, spec: {} });
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'bare');
  await world.claims.waitFor(
    'default/data',
    (claim) => claim !== undefined && claim.metadata.annotations?.[ANN_SELECTED_NODE] === undefined,
    within(),
  );
  assert.equal(world.driver.callsOf('CreateVolume').length, 0);
});

test('[TOP-1] [REG-8] topology keys come from CSINodeInfo where only that is written, once its CRD is there', async (t) => {
  const world = await provisionerWorld(t, { driver: { plugin: [...TOPOLOGY.plugin] } });
  await world.make(nodes, { metadata: { name: 'n1', labels: { zone: 'a' } }, spec: {} });
  await world.make(customResourceDefinitions, {
    metadata: {
      name: 'csinodeinfos.csi.storage.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      group: 'csi.storage.k8s.io',
      scope: 'Cluster',
      names: {
        kind: 'CSINodeInfo',
        plural: 'csinodeinfos',
        singular: 'csinodeinfo',
        listKind: 'CSINodeInfoList',
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  });
  const csiDrivers = [{ name: DRIVER, nodeID: 'n1', topologyKeys: ['zone'] }];
  await world.make(csiNodeInfos, { metadata: { name: 'n1' }, csiDrivers });
  await world.start();
  await world.makeClass(delayed);
  await claimOn(world, 'data', 'n1');
  await world.bound('data');
  assert.deepEqual(topologyOf(world).preferred, zones('a'));
});

test('[TOP-10] a request does not iterate over the nodes', async (t) => {
  const world = await threeZones(t);
  await world.makeClass(delayed);
  /** How often the labels of any node were looked at. */
  let looks = 0;
  await world.start(({ kube }) => {
    const counting = Object.create(kube) as typeof kube;
    counting.watch = async function* (resource, options) {
      for await (const event of kube.watch(resource, options)) {
        const isNode = resource.plural === 'nodes' && event.type !== 'BOOKMARK';
        yield isNode ? { ...event, object: withCountedLabels(event.object, () => looks++) } : event;
      }
    };
    return { kube: counting };
  });
  await claimOn(world, 'first', 'n2');
  await world.bound('first');
  assert(looks >= 4, 'every node is looked at when it is first seen');
  looks = 0;
  await claimOn(world, 'second', 'n2');
  await world.bound('second');
  assert(looks <= 1, `${looks} looks at nodes for one request, where only the selected node matters`);
});

function withCountedLabels<T extends KubeObject>(node: T, count: () => void): T {
  const labels = new Proxy(node.metadata.labels ?? {}, {
    get(target, key, receiver) {
      count();
      return Reflect.get(target, key, receiver);
    },
  });
  return { ...node, metadata: { ...node.metadata, labels } };
}

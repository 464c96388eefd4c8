import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CSINodeInfo,
  csiDrivers,
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  events,
  nodes,
} from '../../api/kinds.ts';
import type { KubeObject, Resource } from '../../api/object.ts';
import { nodeIdsOf } from '../../api/volumes.ts';
import { ANN_CSI_NODE_ID } from '../../api/well-known.ts';
import { inWorld, type NodeWorld } from '../testing/node-world.ts';
import {
  entry,
  fastClock,
  nodeInfoDefinition,
  PREFIX,
  registrationStatus,
  untilEntry,
} from '../testing/registration-facts.ts';

const options = { labelPrefixes: [PREFIX], clock: fastClock };
const ZONE = `${PREFIX}zone`;

/** Polls, for kinds that are installed and removed: an informer does not support that. */
async function poll<T extends KubeObject>(
  world: NodeWorld,
  resource: Resource<T>,
  holds: (object: T | undefined) => boolean,
): Promise<void> {
  const get = () => world.admin.get(resource, { name: 'n1' }).catch(() => undefined);
  while (!holds(await get())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('[NOD-2] objects that registration wrote are restored after a deletion: CSINode, its entry, the annotation, a label', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'id', segments: { [ZONE]: 'a' } });
    await registrationStatus(await world.register('n1', driver));
    const { metadata } = await untilEntry(world, 'd.test', 'id').then((now) => now ?? assert.fail());

    await world.admin.delete(csiNodes, { name: 'n1' });
    await world.until(
      csiNodes,
      'n1',
      (now) =>
        now !== undefined && now.metadata.uid !== metadata.uid && entry(now, 'd.test')?.nodeID === 'id',
    );

    await world.admin.patch(csiNodes, { name: 'n1' }, { spec: { drivers: [] } }, { type: 'merge' });
    await untilEntry(world, 'd.test', undefined);
    await untilEntry(world, 'd.test', 'id');

    const gone = { annotations: { [ANN_CSI_NODE_ID]: null }, labels: { [ZONE]: null } };
    const without = await world.admin.patch(nodes, { name: 'n1' }, { metadata: gone }, { type: 'merge' });
    assert.deepEqual(nodeIdsOf(without), {});
    await world.until(
      nodes,
      'n1',
      (now) => nodeIdsOf(now)['d.test'] === 'id' && now?.metadata.labels?.[ZONE] === 'a',
    );
  }));

test('[NOD-2] [REG-8] a deleted CSINodeInfo is restored, also after its CRD is removed and installed again', (t) =>
  inWorld(t, options, async (world) => {
    await world.create(customResourceDefinitions, nodeInfoDefinition);
    await world.startNode();
    await registrationStatus(await world.register('n1', world.scripted({ name: 'd.test', nodeId: 'id' })));
    const hasEntry = (now: CSINodeInfo | undefined) => now?.csiDrivers?.[0]?.nodeID === 'id';
    await poll(world, csiNodeInfos, hasEntry);
    await world.admin.delete(csiNodeInfos, { name: 'n1' });
    await poll(world, csiNodeInfos, hasEntry);
    await world.admin.delete(customResourceDefinitions, { name: nodeInfoDefinition.metadata.name });
    await poll(world, csiNodeInfos, (now) => now === undefined);
    await world.until(
      customResourceDefinitions,
      nodeInfoDefinition.metadata.name,
      (now) => now === undefined,
    );
    await world.create(customResourceDefinitions, nodeInfoDefinition);
    await poll(world, csiNodeInfos, hasEntry);
  }));

test('[NOD-2] [REG-10] a driver that restarts with another node ID, topology and limit is registered again, and the console reports it', (t) =>
  inWorld(t, { ...options, clock: fastClock }, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'old', maxVolumesPerNode: 3 });
    const registrar = await world.register('n1', driver);
    await registrationStatus(registrar);
    await untilEntry(world, 'd.test', 'old');
    await registrar.driver.stop(0);
    const next = world.scripted({
      name: 'd.test',
      nodeId: 'new',
      maxVolumesPerNode: 5,
      segments: { [`${PREFIX}rack`]: 'r' },
    });
    await world.serve('n1', next);
    const now = await untilEntry(world, 'd.test', 'new');
    assert.deepEqual(entry(now, 'd.test'), {
      name: 'd.test',
      nodeID: 'new',
      topologyKeys: [`${PREFIX}rack`],
      allocatable: { count: 5 },
    });
    assert.equal((await registrationStatus(registrar, 2)).registered, true);
    const loud = world.log.lines.filter(({ level }) => level !== 'info').map(({ message }) => message);
    const lost = loud.findIndex((message) => /lost the connection to a CSI driver/.test(message));
    assert(lost >= 0 && loud.indexOf('the CSI driver is back') > lost, loud.join('\n'));
  }));

test('[NOD-2] a driver that restarts with other answers while the first ones are being written is registered again', (t) =>
  inWorld(t, options, async (world) => {
    const writing = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await world.startNode('n1', {
      through: (kube) => ({
        ...kube,
        async create(resource, ...rest) {
          if (resource.plural === csiNodes.plural) {
            writing.resolve();
            await held.promise;
          }
          return kube.create(resource, ...rest);
        },
      }),
    });
    const registrar = await world.register('n1', world.scripted({ name: 'd.test', nodeId: 'old' }));
    await writing.promise;
    await registrar.driver.stop(0);
    await world.serve('n1', world.scripted({ name: 'd.test', nodeId: 'new' }));
    held.resolve();
    await untilEntry(world, 'd.test', 'new');
  }));

test('[NOD-2] a driver that restarts as it was keeps its registration', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'same' });
    const registrar = await world.register('n1', driver);
    await registrationStatus(registrar);
    await registrar.driver.stop(0);
    await world.serve('n1', driver);
    while (!world.log.lines.some(({ message }) => message === 'the CSI driver is back'))
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(registrar.statuses.length, 1);
  }));

test('[NOD-2] a driver that restarts as it was registered has that limit again, whatever it said in between', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'same', maxVolumesPerNode: 5 });
    const registrar = await world.register('n1', driver);
    await registrationStatus(registrar);
    const untilLimit = (limit: number) =>
      world.until(csiNodes, 'n1', (now) => entry(now, 'd.test')?.allocatable?.count === limit);
    await untilLimit(5);
    driver.always('NodeGetInfo', { answer: { maxVolumesPerNode: 3n } });
    await world.driverObject('d.test', { nodeAllocatableUpdatePeriodSeconds: 10 });
    await untilLimit(3);
    await world.admin.patch(
      csiDrivers,
      { name: 'd.test' },
      { spec: { nodeAllocatableUpdatePeriodSeconds: 36_000 } },
      { type: 'merge' },
    );
    await registrar.driver.stop(0);
    driver.always('NodeGetInfo', undefined);
    await world.serve('n1', driver);
    await untilLimit(5);
    assert.equal(registrar.statuses.length, 1);
  }));

test('[NOD-2] entries of drivers that did not register after the start of the node are removed, those of others stay', (t) =>
  inWorld(t, options, async (world) => {
    const annotations = { [ANN_CSI_NODE_ID]: JSON.stringify({ 'gone.test': 'g', 'd.test': 'old' }) };
    await world.create(nodes, { metadata: { name: 'n1', annotations } });
    const drivers = ['gone.test', 'd.test'].map((name) => ({ name, nodeID: 'old', topologyKeys: [] }));
    await world.create(csiNodes, { metadata: { name: 'n1' }, spec: { drivers } });
    await world.startNode();
    await registrationStatus(await world.register('n1', world.scripted({ name: 'd.test', nodeId: 'new' })));
    const early = await untilEntry(world, 'd.test', 'new');
    assert.equal(entry(early, 'gone.test')?.nodeID, 'old', 'it may only be late');
    const late = await untilEntry(world, 'gone.test', undefined);
    assert.equal(entry(late, 'd.test')?.nodeID, 'new');
    const node = await world.until(nodes, 'n1', (now) => nodeIdsOf(now)['gone.test'] === undefined);
    assert.deepEqual(nodeIdsOf(node), { 'd.test': 'new' });
  }));

test('[REG-6] a topology label that differs from the driver’s: the error and an event on the Node say what to do', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode('n1', { labels: { [ZONE]: 'b' } });
    const registrar = await world.register(
      'n1',
      world.scripted({ name: 'd.test', nodeId: 'id', segments: { [ZONE]: 'a' } }),
    );
    const text =
      /driver d\.test says that this node is at topology\.test\/zone=a.*kubectl label node n1 topology\.test\/zone-\), or start the node with --replace-topology-labels/;
    assert.match((await registrationStatus(registrar)).error, text);
    await world.untilEvent('FailedCSIDriverRegistration', text);
    const { items } = await world.admin.list(events, { namespace: 'default' });
    assert(
      items.some(({ involvedObject }) => involvedObject.kind === 'Node' && involvedObject.name === 'n1'),
    );
    // It is registered as soon as they agree.
    await world.admin.patch(
      nodes,
      { name: 'n1' },
      { metadata: { labels: { [ZONE]: null } } },
      { type: 'merge' },
    );
    await untilEntry(world, 'd.test', 'id');
  }));

for (const [name, others, label, replaced] of [
  ['that only this driver uses is replaced', [], ZONE, true],
  ['that another driver uses is not', ['other.test'], ZONE, false],
  ['that is common to all is not', [], 'topology.kubernetes.io/zone', false],
] as const) {
  test(`[REG-6] with --replace-topology-labels a label ${name}`, (t) =>
    inWorld(t, { ...options, labelPrefixes: [PREFIX, 'topology.kubernetes.io/'] }, async (world) => {
      await world.startNode('n1', { labels: { [label]: 'b' }, replaceTopologyLabels: true });
      for (const other of others) {
        await registrationStatus(
          await world.register('n1', world.scripted({ name: other, segments: { [label]: 'b' } })),
        );
      }
      const driver = world.scripted({ name: 'd.test', nodeId: 'id', segments: { [label]: 'a' } });
      assert.equal((await registrationStatus(await world.register('n1', driver))).registered, replaced);
      const node = await world.admin.get(nodes, { name: 'n1' });
      assert.equal(node.metadata.labels?.[label], replaced ? 'a' : 'b');
    }));
}

import assert from 'node:assert/strict';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type CSINode,
  type CSINodeInfo,
  csiNodeInfos,
  csiNodes,
  customResourceDefinitions,
  type Node,
  nodes,
} from '../../api/kinds.ts';
import { nodeIdsOf } from '../../api/volumes.ts';
import { inWorld } from '../testing/node-world.ts';
import {
  entry,
  fastClock,
  nodeInfoDefinition,
  PREFIX,
  registrationStatus,
  untilEntry,
} from '../testing/registration-facts.ts';

const options = { labelPrefixes: [PREFIX] };

test('[REG-3] [REG-4] [REG-5] [REG-6] [REG-9] existing and new registration sockets are registered; Node and registrar get the result', (t) =>
  inWorld(t, options, async (world) => {
    const first = world.scripted({
      name: 'first.test',
      nodeId: 'id-1',
      segments: { [`${PREFIX}zone`]: 'a' },
      maxVolumesPerNode: 7,
    });
    const before = await world.register('n1', first);
    await world.startNode();
    const second = world.scripted({ name: 'second.test', nodeId: 'id-2' });
    const after = await world.register('n1', second);
    assert.deepEqual(
      [await registrationStatus(before), await registrationStatus(after)],
      [
        { registered: true, error: '' },
        { registered: true, error: '' },
      ],
    );
    const node = (await world.until(nodes, 'n1', (now) => Object.keys(nodeIdsOf(now)).length === 2)) as Node;
    assert.deepEqual(nodeIdsOf(node), { 'first.test': 'id-1', 'second.test': 'id-2' });
    assert.equal(node.metadata.labels?.[`${PREFIX}zone`], 'a');
    const csiNode = (await untilEntry(world, 'second.test', 'id-2')) as CSINode;
    assert.deepEqual(entry(csiNode, 'first.test'), {
      name: 'first.test',
      nodeID: 'id-1',
      topologyKeys: [`${PREFIX}zone`],
      allocatable: { count: 7 },
    });
    assert.deepEqual(
      csiNode.metadata.ownerReferences?.map(({ kind, name, uid }) => ({ kind, name, uid })),
      [{ kind: 'Node', name: 'n1', uid: node.metadata.uid }],
    );
  }));

test('[REG-7] removing a socket removes node ID and topology keys, but not labels or other drivers', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const kept = await world.register('n1', world.scripted({ name: 'kept.test', nodeId: 'id-k' }));
    const gone = await world.register(
      'n1',
      world.scripted({ name: 'gone.test', nodeId: 'id-g', segments: { [`${PREFIX}rack`]: '1' } }),
    );
    await registrationStatus(kept);
    await registrationStatus(gone);
    await gone.stop();
    const csiNode = await untilEntry(world, 'gone.test', undefined);
    assert.equal(entry(csiNode, 'kept.test')?.nodeID, 'id-k');
    const node = await world.until(nodes, 'n1', (now) => nodeIdsOf(now)['gone.test'] === undefined);
    assert.deepEqual(nodeIdsOf(node), { 'kept.test': 'id-k' });
    assert.equal(node?.metadata.labels?.[`${PREFIX}rack`], '1');
  }));

test('[REG-7] a socket that comes to announce another driver takes the entries of the earlier one along', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const one = world.scripted({ name: 'one.test', nodeId: 'id-1' });
    const before = await world.register('n1', one, { socket: 'shared.sock' });
    await registrationStatus(before);
    const two = world.scripted({ name: 'two.test', nodeId: 'id-2' });
    // Replaced in one step, so that the node never sees it gone.
    const after = await world.register('n1', two, { socket: '.next' });
    await rename(after.socket, before.socket);
    assert.deepEqual(await registrationStatus(after), { registered: true, error: '' });
    const ids = (node: Node | undefined) => JSON.stringify(nodeIdsOf(node));
    await world.until(nodes, 'n1', (now) => ids(now) === '{"two.test":"id-2"}');
    await world.until(csiNodes, 'n1', (now) => entry(now as CSINode, 'one.test') === undefined);
  }));

for (const [what, type] of [
  ['a driver that fails', 'CSIPlugin'],
  ['a plugin that is not for CSI', 'DRAPlugin'],
] as const) {
  test(`[REG-7] a socket that comes to announce ${what} takes the entries of the earlier driver along`, (t) =>
    inWorld(t, options, async (world) => {
      await world.startNode();
      const one = world.scripted({ name: 'one.test', nodeId: 'id-1' });
      const before = await world.register('n1', one, { socket: 'shared.sock' });
      await registrationStatus(before);
      const two = world.scripted({ name: 'two.test', nodeId: 'id-2' });
      two.always('NodeGetInfo', { fail: 'INTERNAL', message: 'cannot tell' });
      const after = await world.register('n1', two, { socket: '.next', type });
      await rename(after.socket, before.socket);
      const ids = (node: Node | undefined) => JSON.stringify(nodeIdsOf(node));
      await world.until(nodes, 'n1', (now) => ids(now) === '{}');
      await world.until(csiNodes, 'n1', (now) => entry(now as CSINode, 'one.test') === undefined);
    }));
}

for (const [what, end] of [
  ['goes away', 'the socket'],
  ['has a driver that restarts and fails', 'the driver'],
] as const) {
  test(`[REG-10] a socket that announced the driver of another one and ${what} leaves it to the other one again`, (t) =>
    inWorld(t, options, async (world) => {
      await world.startNode();
      const old = await world.register('n1', world.scripted({ name: 'd.test', nodeId: 'old' }), {
        socket: 'a.sock',
      });
      await registrationStatus(old);
      const surge = world.scripted({ name: 'd.test', nodeId: 'surge' });
      const served = await world.serve('n1', { ...surge, name: 'surge', services: surge.services });
      const next = await world.announce('n1', {
        name: 'd.test',
        endpoint: served.address,
        socket: 'b.sock',
      });
      await registrationStatus(next);
      await untilEntry(world, 'd.test', 'surge');
      if (end === 'the socket') await next.stop();
      else {
        await served.stop(0);
        const failing = world.scripted({ name: 'd.test' });
        failing.always('NodeGetInfo', { fail: 'INTERNAL', message: 'cannot tell' });
        await world.serve('n1', { ...failing, name: 'surge', services: failing.services });
        assert.equal((await registrationStatus(next, 2)).registered, false);
      }
      await untilEntry(world, 'd.test', 'old');
      assert.equal((await registrationStatus(old, 2)).registered, true);
      assert.deepEqual(nodeIdsOf(await world.admin.get(nodes, { name: 'n1' })), { 'd.test': 'old' });
    }));
}

test('[REG-7] [REG-10] a registration whose NodeGetInfo fails removes what an earlier one wrote, and recovers with another node ID and topology', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'old', segments: { [`${PREFIX}zone`]: 'a' } });
    const first = await world.register('n1', driver);
    await registrationStatus(first);
    await untilEntry(world, 'd.test', 'old');
    await first.stop();
    await untilEntry(world, 'd.test', undefined);
    driver.always('NodeGetInfo', { fail: 'INTERNAL', message: 'cannot tell' });
    const endpoint = join(world.root('n1'), 'plugins', 'd.test', 'csi.sock');
    const failing = await world.announce('n1', { name: 'd.test', endpoint });
    const status = await registrationStatus(failing);
    assert.equal(status.registered, false);
    assert.match(status.error, /NodeGetInfo.*INTERNAL: cannot tell/);
    assert.equal(entry(await world.admin.get(csiNodes, { name: 'n1' }), 'd.test'), undefined);
    driver.always('NodeGetInfo', undefined);
    driver.nodeId = 'new';
    await untilEntry(world, 'd.test', 'new');
    assert.equal((await registrationStatus(failing, 2)).registered, true);
  }));

test('[REG-4] [REG-10] a driver that registers again on the same socket replaces its whole entry', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'old', maxVolumesPerNode: 3 });
    const first = await world.register('n1', driver);
    await registrationStatus(first);
    const endpoint = join(world.root('n1'), 'plugins', 'd.test', 'csi.sock');
    driver.nodeId = 'new';
    // Its registrar restarts: the socket is recreated at once.
    await first.stop();
    const second = await world.announce('n1', { name: 'd.test', endpoint });
    await registrationStatus(second);
    await untilEntry(world, 'd.test', 'new');
    const node = await world.until(nodes, 'n1', (now) => nodeIdsOf(now)['d.test'] === 'new');
    assert.deepEqual(nodeIdsOf(node), { 'd.test': 'new' });
  }));

test('[REG-10] concurrent registrations on two nodes lose no entry', (t) =>
  inWorld(t, options, async (world) => {
    await Promise.all([world.startNode('n1'), world.startNode('n2')]);
    const names = Array.from({ length: 8 }, (_, index) => `d${index}.test`);
    await Promise.all(
      ['n1', 'n2'].flatMap((node) =>
        names.map((name) => world.register(node, world.scripted({ name, nodeId: `${node}-${name}` }))),
      ),
    );
    for (const node of ['n1', 'n2']) {
      const csiNode = await world.until(csiNodes, node, (now) => now?.spec?.drivers?.length === names.length);
      for (const name of names) assert.equal(entry(csiNode, name)?.nodeID, `${node}-${name}`);
      const object = await world.until(
        nodes,
        node,
        (now) => Object.keys(nodeIdsOf(now)).length === names.length,
      );
      assert.equal(Object.keys(nodeIdsOf(object)).length, names.length);
    }
  }));

test('[REG-6] a label with another value fails the registration with an error that names it, and is kept', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    await world.admin.patch(
      nodes,
      { name: 'n1' },
      { metadata: { labels: { [`${PREFIX}zone`]: 'b' } } },
      { type: 'merge' },
    );
    const registrar = await world.register(
      'n1',
      world.scripted({ name: 'd.test', segments: { [`${PREFIX}zone`]: 'a' } }),
    );
    const status = await registrationStatus(registrar);
    assert.equal(status.registered, false);
    assert.match(status.error, /topology\.test\/zone=a, but Node n1 has the label topology\.test\/zone=b/);
    const node = await world.admin.get(nodes, { name: 'n1' });
    assert.equal(node.metadata.labels?.[`${PREFIX}zone`], 'b');
    assert.equal(nodeIdsOf(node)['d.test'], undefined);
  }));

for (const [what, name] of [
  ['too long', `${'x'.repeat(60)}.test`],
  ['with a path in it', '../../etc'],
  ['empty', ''],
] as const) {
  test(`[REG-1] a driver whose name is ${what} is refused and not talked to`, (t) =>
    inWorld(t, options, async (world) => {
      await world.startNode();
      const driver = world.scripted({ name: 'honest.test' });
      const registrar = await world.register('n1', driver, { announcedName: name, socket: 'r.sock' });
      const status = await registrationStatus(registrar);
      assert.equal(status.registered, false);
      assert.match(status.error, /driver name .* is refused/);
      assert.deepEqual(driver.calls, []);
    }));
}

test('[REG-1] a driver is reached at plugins/<name>/csi.sock, near the limit of socket paths too', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode(`n-${'long'.repeat(13)}`);
    const node = `n-${'long'.repeat(13)}`;
    const driver = world.scripted({ name: 'd.with-a-rather-long-name.test', nodeId: 'far' });
    const registrar = await world.register(node, driver);
    assert.ok(Buffer.byteLength(registrar.driver.address) > 107, registrar.driver.address);
    assert.equal((await registrationStatus(registrar)).error, '');
    await untilEntry(world, driver.name, 'far', node);
  }));

test('a registrar with a false driver name, another version or another kind of plugin is rejected', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'honest.test' });
    const liar = await world.register('n1', driver, { announcedName: 'liar.test', socket: 'a.sock' });
    assert.match(
      (await registrationStatus(liar)).error,
      /announces driver liar\.test .* reports the name honest\.test/,
    );
    const endpoint = liar.driver.address;
    const old = await world.announce('n1', {
      name: 'old.test',
      endpoint,
      versions: ['0.3.0'],
      socket: 'b.sock',
    });
    assert.match((await registrationStatus(old)).error, /CSI versions \["0\.3\.0"\]/);
    const other = await world.announce('n1', {
      name: 'gpu.test',
      endpoint,
      type: 'DRAPlugin',
      socket: 'c.sock',
    });
    const honest = await world.announce('n1', { name: 'honest.test', endpoint, socket: 'd.sock' });
    assert.equal((await registrationStatus(honest)).registered, true);
    assert.deepEqual(other.statuses, []);
    const csiNode = await untilEntry(world, 'honest.test', 'scripted-node');
    assert.deepEqual(
      csiNode?.spec?.drivers.map(({ name }) => name),
      ['honest.test'],
    );
  }));

test('[REG-3] a socket that does not answer and a plain file delay no other registration', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const directory = join(world.root('n1'), 'plugins_registry');
    // The node creates it too, a moment after its start.
    await mkdir(directory, { recursive: true });
    const accepted = new Set<Socket>();
    const hanging = createServer((socket) => accepted.add(socket));
    await new Promise<void>((resolve) => hanging.listen(join(directory, 'hangs.sock'), resolve));
    t.after(() => {
      for (const socket of accepted) socket.destroy();
      hanging.close();
    });
    await writeFile(join(directory, 'file.sock'), '');
    const good = await world.register('n1', world.scripted({ name: 'good.test' }));
    assert.equal((await registrationStatus(good)).registered, true);
    await rm(join(directory, 'file.sock'));
  }));

test('[REG-8] without the CRD of CSINodeInfo everything else works; once installed, the object is written', (t) =>
  inWorld(t, options, async (world) => {
    await world.startNode();
    const registrar = await world.register(
      'n1',
      world.scripted({ name: 'd.test', nodeId: 'id', segments: { [`${PREFIX}zone`]: 'a' } }),
    );
    assert.equal((await registrationStatus(registrar)).registered, true);
    await untilEntry(world, 'd.test', 'id');
    await world.create(customResourceDefinitions, nodeInfoDefinition);
    let info: CSINodeInfo | undefined;
    while (info === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      info = await world.admin.get(csiNodeInfos, { name: 'n1' }).catch(() => undefined);
    }
    assert.deepEqual(info.csiDrivers, [{ name: 'd.test', nodeID: 'id', topologyKeys: [`${PREFIX}zone`] }]);
    assert.equal(info.metadata.ownerReferences?.[0]?.kind, 'Node');
    await registrar.stop();
    while ((info.csiDrivers ?? []).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      info = await world.admin.get(csiNodeInfos, { name: 'n1' });
    }
  }));

test('[REG-4] the allocatable count follows the driver where its CSIDriver object says how often to ask', (t) =>
  inWorld(t, { ...options, clock: fastClock }, async (world) => {
    await world.startNode();
    const driver = world.scripted({ name: 'd.test', nodeId: 'id', maxVolumesPerNode: 3 });
    await registrationStatus(await world.register('n1', driver));
    await world.until(csiNodes, 'n1', (now) => entry(now, 'd.test')?.allocatable?.count === 3);
    driver.always('NodeGetInfo', { answer: { maxVolumesPerNode: 2n } });
    await world.driverObject('d.test', { nodeAllocatableUpdatePeriodSeconds: 10 });
    await world.until(csiNodes, 'n1', (now) => entry(now, 'd.test')?.allocatable?.count === 2);
    // A node ID that changes between calls is ignored: only a registration changes it.
    driver.always('NodeGetInfo', { answer: { nodeId: 'other', maxVolumesPerNode: 1n } });
    const asked = driver.callsOf('NodeGetInfo').length;
    await driver.until(() => driver.callsOf('NodeGetInfo').length >= asked + 2);
    const now = entry(await world.admin.get(csiNodes, { name: 'n1' }), 'd.test');
    assert.deepEqual([now?.nodeID, now?.allocatable?.count], ['id', 2]);
  }));

import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '../../csi/index.ts';
import { secretValue } from '../../runtime/log/secret-value.ts';
import type { HostpathCapabilities } from './options.ts';
import {
  capability,
  codeOf,
  type HostpathFixture,
  MiB,
  needsRoot,
  startHostpath,
  use,
  volumeRequest,
} from './testing/hostpath-fixture.ts';

async function told({ identity, controller, node, group }: HostpathFixture): Promise<string[]> {
  const name = (table: Record<string, unknown>, value: unknown) =>
    Object.keys(table).find((key) => table[key] === value) ?? String(value);
  const plugin = (await identity.getPluginCapabilities({})).capabilities;
  const groups = await group.groupControllerGetCapabilities({}).catch(() => ({ capabilities: [] }));
  return [
    ...(await controller.controllerGetCapabilities({})).capabilities.map(({ type }) =>
      name(ControllerRpc, type.value?.type),
    ),
    ...(await node.nodeGetCapabilities({})).capabilities.map(
      ({ type }) => `node ${name(NodeRpc, type.value?.type)}`,
    ),
    ...groups.capabilities.map(() => 'group'),
    ...plugin.map(({ type }) =>
      type.case === 'service' ? name(PluginService, type.value.type) : `expansion ${type.value?.type}`,
    ),
  ];
}

describe('each capability of hostpath can be taken away', { skip: needsRoot }, () => {
  const gone: Record<keyof HostpathCapabilities, string[]> = {
    attach: ['PUBLISH_UNPUBLISH_VOLUME', 'PUBLISH_READONLY', 'LIST_VOLUMES_PUBLISHED_NODES'],
    stage: ['node STAGE_UNSTAGE_VOLUME'],
    expand: ['EXPAND_VOLUME'],
    nodeExpand: ['node EXPAND_VOLUME'],
    snapshots: [
      'CREATE_DELETE_SNAPSHOT',
      'LIST_SNAPSHOTS',
      'GET_SNAPSHOT',
      'group',
      'GROUP_CONTROLLER_SERVICE',
      'SNAPSHOT_METADATA_SERVICE',
    ],
    listSnapshots: ['LIST_SNAPSHOTS'],
    getSnapshot: ['GET_SNAPSHOT'],
    groupSnapshots: ['group', 'GROUP_CONTROLLER_SERVICE'],
    snapshotMetadata: ['SNAPSHOT_METADATA_SERVICE'],
    clone: ['CLONE_VOLUME'],
    listVolumes: ['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'],
    publishedNodes: ['LIST_VOLUMES_PUBLISHED_NODES'],
    volumeCondition: ['VOLUME_CONDITION', 'node VOLUME_CONDITION'],
    getVolume: ['GET_VOLUME'],
    getCapacity: ['GET_CAPACITY'],
    modify: ['MODIFY_VOLUME'],
    publishReadOnly: ['PUBLISH_READONLY'],
    singleNodeMultiWriter: ['SINGLE_NODE_MULTI_WRITER', 'node SINGLE_NODE_MULTI_WRITER'],
    volumeStats: ['node GET_VOLUME_STATS', 'node VOLUME_CONDITION'],
    block: [],
    ephemeral: [],
    onlineExpansion: ['expansion 1'],
  };

  it('and exactly what belongs to it vanishes', async (t) => {
    const all = await told(await startHostpath(t));
    for (const [name, expected] of Object.entries(gone)) {
      const rest = await told(await startHostpath(t, { capabilities: { [name]: false } }));
      assert.deepEqual(
        all.filter((one) => !rest.includes(one)),
        all.filter((one) => expected.includes(one)),
        name,
      );
      assert.equal(
        all.filter((one) => expected.includes(one)).length,
        expected.length,
        `${name} is told at all`,
      );
    }
  });

  for (const backing of ['directory', 'image'] as const) {
    for (const type of ['mount', 'block'] as const) {
      if (backing === 'directory' && type === 'block') continue;
      it(`a driver that neither attaches nor stages publishes a ${type} ${backing}`, async (t) => {
        const driver = await startHostpath(t, { backing, capabilities: { attach: false, stage: false } });
        const volumeCapability = capability({ type });
        const { volume } = await driver.controller.createVolume(
          volumeRequest({ volumeCapabilities: [volumeCapability] }),
        );
        const volumeId = volume?.volumeId ?? '';
        const targets = [driver.path('pods/a'), driver.path('pods/b')];
        for (const targetPath of targets)
          await driver.node.nodePublishVolume({ volumeId, targetPath, volumeCapability });
        if (type === 'mount') {
          await writeFile(join(targets[0] ?? '', 'file'), 'shared');
          assert.equal(await readFile(join(targets[1] ?? '', 'file'), 'utf8'), 'shared');
        }
        assert.equal(await codeOf(driver.controller.deleteVolume({ volumeId })), 'FAILED_PRECONDITION');
        for (const targetPath of targets) {
          await driver.node.nodeUnpublishVolume({ volumeId, targetPath });
          await driver.node.nodeUnpublishVolume({ volumeId, targetPath });
        }
        await driver.controller.deleteVolume({ volumeId });
      });
    }
  }

  it('raw block and inline volumes are refused without their capability', async (t) => {
    const driver = await startHostpath(t, { capabilities: { block: false, ephemeral: false } });
    const block = volumeRequest({ volumeCapabilities: [capability({ type: 'block' })] });
    assert.equal(await codeOf(driver.controller.createVolume(block)), 'INVALID_ARGUMENT');
    const inline = driver.node.nodePublishVolume({
      volumeId: 'csi-1',
      targetPath: driver.path('pods/t'),
      volumeCapability: capability(),
      volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true' },
    });
    assert.equal(await codeOf(inline), 'INVALID_ARGUMENT');
  });
});

describe('inline volumes of hostpath', { skip: needsRoot }, () => {
  for (const [backing, size] of [
    ['directory', undefined],
    ['image', '8Mi'],
  ] as const) {
    it(`are made and removed with their pod, as ${backing}`, async (t) => {
      const { node, controller, path, contents } = await startHostpath(t);
      const request = {
        volumeId: '../../csi-escape',
        targetPath: path('pods/t'),
        volumeCapability: capability(),
        volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true', backing, ...(size && { size }) },
      };
      await node.nodePublishVolume(request);
      await node.nodePublishVolume(request);
      await writeFile(join(request.targetPath, 'file'), 'x');
      assert.equal((await contents()).volumes.length, 1);
      assert.deepEqual((await controller.listVolumes({})).entries, []);
      await node.nodeUnpublishVolume(request);
      assert.equal((await contents()).volumes.length, 0);
      await node.nodeUnpublishVolume(request);
    });
  }

  for (const backing of ['directory', 'image']) {
    it(`leave nothing if they cannot be published, as ${backing}`, async (t) => {
      const { node, path } = await startHostpath(t);
      await writeFile(path('file'), 'in the way');
      const volumeContext = { 'csi.storage.k8s.io/ephemeral': 'true', backing };
      const call = { volumeId: 'v', targetPath: path('file'), volumeCapability: capability(), volumeContext };
      assert.equal(await codeOf(node.nodePublishVolume(call)), 'INVALID_ARGUMENT');
    });
  }

  it('refuse a size that is none, and leave nothing', async (t) => {
    const { node, path } = await startHostpath(t);
    const volumeContext = { 'csi.storage.k8s.io/ephemeral': 'true', size: 'big' };
    const targetPath = path('pods/t');
    const call = node.nodePublishVolume({
      volumeId: 'v',
      targetPath,
      volumeCapability: capability(),
      volumeContext,
    });
    assert.equal(await codeOf(call), 'INVALID_ARGUMENT');
    await assert.rejects(stat(targetPath), { code: 'ENOENT' });
  });
});

describe('topology, limits and credentials of hostpath', { skip: needsRoot }, () => {
  const zone = (name: string) => ({ 'topology.hostpath.csi.berth/zone': name });

  it('places volumes where they are asked for, and nowhere else', async (t) => {
    const driver = await startHostpath(t, {
      node: { nodeId: 'node-1', topology: zone('a') },
      capacityBytes: 32n * MiB,
    });
    driver.addNode({ nodeId: 'node-2', topology: zone('b') });
    const { controller } = driver;
    const create = (name: string, zones: string[], preferred: string[] = []) =>
      controller.createVolume(
        volumeRequest({
          name,
          accessibilityRequirements: {
            requisite: zones.map((z) => ({ segments: zone(z) })),
            preferred: preferred.map((z) => ({ segments: zone(z) })),
          },
        }),
      );
    const inB = (await create('b1', ['a', 'b'], ['b', 'a'])).volume;
    assert.deepEqual(inB?.accessibleTopology[0]?.segments, zone('b'));
    assert.equal(await codeOf(create('c', ['c'])), 'RESOURCE_EXHAUSTED');
    const b2 = (await create('b2', ['b'])).volume;
    assert.equal(await codeOf(create('b3', ['b'])), 'RESOURCE_EXHAUSTED', 'b is full');
    const spill = (await create('b3', ['a', 'b'], ['b', 'a'])).volume;
    assert.deepEqual(spill?.accessibleTopology[0]?.segments, zone('a'));
    const room = async (z: string) =>
      (await controller.getCapacity({ accessibleTopology: { segments: zone(z) } })).availableCapacity;
    assert.deepEqual([await room('a'), await room('b')], [16n * MiB, 0n]);
    const publish = (nodeId: string) =>
      codeOf(
        controller.controllerPublishVolume({
          volumeId: inB?.volumeId ?? '',
          nodeId,
          volumeCapability: capability(),
        }),
      );
    assert.equal(await publish('node-1'), 'FAILED_PRECONDITION');
    assert.equal(await publish('node-2'), 'OK');
    await controller.controllerUnpublishVolume({ volumeId: inB?.volumeId ?? '' });
    const grow = { volumeId: b2?.volumeId ?? '', capacityRange: { requiredBytes: 17n * MiB } };
    assert.equal(await codeOf(controller.controllerExpandVolume(grow)), 'RESOURCE_EXHAUSTED');
    for (const volume of [inB, b2, spill])
      await controller.deleteVolume({ volumeId: volume?.volumeId ?? '' });
    assert.ok((await told(driver)).includes('VOLUME_ACCESSIBILITY_CONSTRAINTS'));
  });

  it('demands the configured secrets, and does not repeat them', async (t) => {
    const driver = await startHostpath(t, { requiredSecrets: secretValue({ password: 'swordfish' }) });
    const { controller } = driver;
    for (const secrets of [{}, { password: 'guess' }]) {
      await assert.rejects(
        controller.createVolume(volumeRequest({ secrets })),
        (error: Error & { code: string }) => {
          assert.equal(error.code, 'UNAUTHENTICATED');
          assert.match(error.message, /"password"/);
          assert.doesNotMatch(error.message, /swordfish|guess/);
          return true;
        },
      );
    }
    const secrets = { password: 'swordfish' };
    const { volume } = await controller.createVolume(volumeRequest({ secrets }));
    const volumeId = volume?.volumeId ?? '';
    assert.equal(
      await codeOf(use(driver, { volumeId, staging: driver.path('s'), target: driver.path('t') })),
      'UNAUTHENTICATED',
    );
    await controller.deleteVolume({ volumeId, secrets });
  });

  it('changes mutable parameters, and only those', async (t) => {
    const { controller } = await startHostpath(t, { mutableParameters: ['iops'] });
    const { volume } = await controller.createVolume(volumeRequest({ mutableParameters: { iops: '100' } }));
    const volumeId = volume?.volumeId ?? '';
    await controller.controllerModifyVolume({ volumeId, mutableParameters: { iops: '200' } });
    assert.equal(
      await codeOf(controller.controllerModifyVolume({ volumeId, mutableParameters: { tier: 'x' } })),
      'INVALID_ARGUMENT',
    );
    await controller.deleteVolume({ volumeId });
  });
});

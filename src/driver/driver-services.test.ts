import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { csiClient } from '../csi/client/csi-client.ts';
import { loopbackTransport } from '../csi/client/loopback-transport.ts';
import {
  Controller,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  connectCsi,
  GroupController,
  Identity,
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
  NodeServiceCapability_RPC_Type as NodeRpc,
  PluginCapability_Service_Type as PluginService,
} from '../csi/index.ts';
import { memoryLog } from '../runtime/log/log.ts';
import { createMetrics } from '../runtime/metrics/metrics.ts';
import { realClock } from '../runtime/time/clock.ts';
import {
  type ControllerOperations,
  type DriverDefinition,
  defineDriver,
  type NodeOperations,
} from './driver.ts';
import { type DriverServicesOptions, driverServices } from './driver-services.ts';
import { serveDriver } from './serve-driver.ts';

const mount = {
  accessType: { case: 'mount' as const, value: {} },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
};

function nodeWith(operations: Partial<NodeOperations> = {}): NodeOperations {
  return {
    nodePublishVolume: () => ({}),
    nodeUnpublishVolume: () => ({}),
    nodeGetInfo: () => ({ nodeId: 'n1', accessibleTopology: { segments: { zone: 'z1' } } }),
    ...operations,
  };
}

function controllerWith(operations: Partial<ControllerOperations> = {}): ControllerOperations {
  return { validateVolumeCapabilities: () => ({ confirmed: {} }), ...operations };
}

function connect(definition: Partial<DriverDefinition>, options: Partial<DriverServicesOptions> = {}) {
  const log = memoryLog();
  const driver = defineDriver({ name: 'test.berth', version: '1', node: nodeWith(), ...definition });
  const transport = loopbackTransport(driverServices(driver, { log, ...options }), { clock: realClock, log });
  const defaults = { timeoutMs: 10_000 };
  return {
    log,
    identity: csiClient(Identity, transport, defaults),
    controller: csiClient(Controller, transport, defaults),
    group: csiClient(GroupController, transport, defaults),
    node: csiClient(Node, transport, defaults),
  };
}

describe('capabilities follow from the operations', () => {
  const create = { createVolume: () => ({ volume: { volumeId: 'v' } }), deleteVolume: () => ({}) };
  const attach = { controllerPublishVolume: () => ({}), controllerUnpublishVolume: () => ({}) };
  const cases: [string, Partial<DriverDefinition>, ControllerRpc[]][] = [
    ['nothing but the required', { controller: controllerWith() }, []],
    ['create and delete', { controller: controllerWith(create) }, [ControllerRpc.CREATE_DELETE_VOLUME]],
    [
      'clones',
      { controller: controllerWith(create), features: { cloneVolume: true } },
      [ControllerRpc.CREATE_DELETE_VOLUME, ControllerRpc.CLONE_VOLUME],
    ],
    [
      'attach, read-only too',
      { controller: controllerWith(attach), features: { publishReadOnly: true } },
      [ControllerRpc.PUBLISH_UNPUBLISH_VOLUME, ControllerRpc.PUBLISH_READONLY],
    ],
    [
      'lists without published nodes, since nothing is published',
      { controller: controllerWith({ listVolumes: () => ({}) }), features: { publishedNodes: true } },
      [ControllerRpc.LIST_VOLUMES],
    ],
    [
      'lists with published nodes and conditions',
      {
        controller: controllerWith({ ...attach, listVolumes: () => ({}) }),
        features: { publishedNodes: true, volumeCondition: true },
      },
      [
        ControllerRpc.PUBLISH_UNPUBLISH_VOLUME,
        ControllerRpc.LIST_VOLUMES,
        ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES,
        ControllerRpc.VOLUME_CONDITION,
      ],
    ],
    [
      'snapshots, expansion, modification',
      {
        controller: controllerWith({
          createSnapshot: () => ({}),
          deleteSnapshot: () => ({}),
          listSnapshots: () => ({}),
          getSnapshot: () => ({}),
          controllerExpandVolume: () => ({}),
          controllerModifyVolume: () => ({}),
          controllerGetVolume: () => ({}),
          getCapacity: () => ({}),
        }),
      },
      [
        ControllerRpc.GET_CAPACITY,
        ControllerRpc.CREATE_DELETE_SNAPSHOT,
        ControllerRpc.LIST_SNAPSHOTS,
        ControllerRpc.EXPAND_VOLUME,
        ControllerRpc.GET_VOLUME,
        ControllerRpc.MODIFY_VOLUME,
        ControllerRpc.GET_SNAPSHOT,
      ],
    ],
  ];
  for (const [name, definition, expected] of cases) {
    it(`controller: ${name}`, async () => {
      const { capabilities } = await connect(definition).controller.controllerGetCapabilities({});
      assert.deepEqual(
        capabilities.map(({ type }) => type.value?.type),
        expected,
      );
    });
  }

  it('node', async () => {
    const node = nodeWith({
      nodeStageVolume: () => ({}),
      nodeUnstageVolume: () => ({}),
      nodeGetVolumeStats: () => ({}),
      nodeExpandVolume: () => ({}),
    });
    const features = { volumeCondition: true, singleNodeMultiWriter: true, volumeMountGroup: true };
    const { capabilities } = await connect({ node, features }).node.nodeGetCapabilities({});
    assert.deepEqual(
      capabilities.map(({ type }) => type.value?.type),
      [
        NodeRpc.STAGE_UNSTAGE_VOLUME,
        NodeRpc.GET_VOLUME_STATS,
        NodeRpc.EXPAND_VOLUME,
        NodeRpc.VOLUME_CONDITION,
        NodeRpc.SINGLE_NODE_MULTI_WRITER,
        NodeRpc.VOLUME_MOUNT_GROUP,
      ],
    );
  });

  it('plugin', async () => {
    const bare = await connect({}).identity.getPluginCapabilities({});
    assert.deepEqual(bare.capabilities, []);
    const full = await connect({
      controller: controllerWith({ controllerExpandVolume: () => ({}) }),
      features: { topology: true, expansion: 'offline' },
    }).identity.getPluginCapabilities({});
    assert.deepEqual(
      full.capabilities.map(({ type }) => [type.case, type.value?.type]),
      [
        ['service', PluginService.CONTROLLER_SERVICE],
        ['service', PluginService.VOLUME_ACCESSIBILITY_CONSTRAINTS],
        ['volumeExpansion', 2],
      ],
    );
  });

  it('calls without an operation are not implemented', async () => {
    await assert.rejects(connect({ controller: controllerWith() }).controller.createVolume({}), {
      code: 'UNIMPLEMENTED',
    });
    await assert.rejects(connect({}).controller.createVolume({}), { code: 'UNIMPLEMENTED' });
  });
});

describe('a contradictory definition is refused', () => {
  const cases: [string, Partial<DriverDefinition>, RegExp][] = [
    ['a bad name', { name: 'no spaces' }, /domain name/],
    ['a name too long', { name: 'a'.repeat(64) }, /63/],
    ['an empty version', { version: '' }, /version/],
    [
      'half a pair',
      { controller: controllerWith({ createVolume: () => ({}) }) },
      /createVolume and deleteVolume/,
    ],
    ['half a node pair', { node: nodeWith({ nodeStageVolume: () => ({}) }) }, /nodeUnstageVolume/],
    ['clones of nothing', { controller: controllerWith(), features: { cloneVolume: true } }, /cloneVolume/],
  ];
  for (const [name, definition, message] of cases) {
    it(name, () => {
      assert.throws(
        () => defineDriver({ name: 'test.berth', version: '1', node: nodeWith(), ...definition }),
        message,
      );
    });
  }
});

describe('requests are checked before the driver sees them', () => {
  const seen: string[] = [];
  const note = (name: string) => () => {
    seen.push(name);
    return {};
  };
  const clients = connect({
    controller: controllerWith({
      createVolume: note('createVolume'),
      deleteVolume: note('deleteVolume'),
      controllerPublishVolume: note('controllerPublishVolume'),
      controllerUnpublishVolume: note('controllerUnpublishVolume'),
      controllerExpandVolume: note('controllerExpandVolume'),
      createSnapshot: note('createSnapshot'),
      deleteSnapshot: note('deleteSnapshot'),
      listVolumes: note('listVolumes'),
      validateVolumeCapabilities: note('validateVolumeCapabilities'),
    }),
    groupController: {
      createVolumeGroupSnapshot: note('createVolumeGroupSnapshot'),
      deleteVolumeGroupSnapshot: note('deleteVolumeGroupSnapshot'),
      getVolumeGroupSnapshot: note('getVolumeGroupSnapshot'),
    },
    node: nodeWith({
      nodeStageVolume: note('nodeStageVolume'),
      nodeUnstageVolume: note('nodeUnstageVolume'),
      nodePublishVolume: note('nodePublishVolume'),
      nodeUnpublishVolume: note('nodeUnpublishVolume'),
      nodeGetVolumeStats: note('nodeGetVolumeStats'),
      nodeExpandVolume: note('nodeExpandVolume'),
    }),
  });
  const { controller, group, node } = clients;
  const volumeCapability = mount;
  const block = { ...mount, accessType: { case: 'block' as const, value: {} } };
  const volume = { name: 'v', volumeCapabilities: [mount] };
  const volumeId = 'v';
  const cases: [string, () => Promise<unknown>, RegExp][] = [
    ['CreateVolume without name', () => controller.createVolume({ ...volume, name: '' }), /name is required/],
    [
      'CreateVolume, name too long',
      () => controller.createVolume({ ...volume, name: 'é'.repeat(65) }),
      /128 bytes/,
    ],
    [
      'CreateVolume, control characters',
      () => controller.createVolume({ ...volume, name: 'a\u0007' }),
      /control/,
    ],
    ['CreateVolume without capability', () => controller.createVolume({ name: 'v' }), /volume_capabilities/],
    [
      'CreateVolume, capability without type',
      () => controller.createVolume({ ...volume, volumeCapabilities: [{ accessMode: { mode: 1 } }] }),
      /block or mount/,
    ],
    [
      'CreateVolume, capability without mode',
      () => controller.createVolume({ ...volume, volumeCapabilities: [{ accessType: mount.accessType }] }),
      /access mode/,
    ],
    [
      'CreateVolume, raw block',
      () => controller.createVolume({ ...volume, volumeCapabilities: [block] }),
      /block/,
    ],
    [
      'CreateVolume, mode that needs a capability',
      () =>
        controller.createVolume({
          ...volume,
          volumeCapabilities: [{ ...mount, accessMode: { mode: Mode.SINGLE_NODE_MULTI_WRITER } }],
        }),
      /SINGLE_NODE_MULTI_WRITER/,
    ],
    [
      'CreateVolume, negative size',
      () => controller.createVolume({ ...volume, capacityRange: { requiredBytes: -1n } }),
      /negative/,
    ],
    [
      'CreateVolume, empty range',
      () => controller.createVolume({ ...volume, capacityRange: { requiredBytes: 2n, limitBytes: 1n } }),
      /limit_bytes 1/,
    ],
    [
      'CreateVolume, clone by a driver that cannot',
      () =>
        controller.createVolume({
          ...volume,
          volumeContentSource: { type: { case: 'volume', value: { volumeId: 'x' } } },
        }),
      /clone/,
    ],
    [
      'CreateVolume, source without content',
      () => controller.createVolume({ ...volume, volumeContentSource: {} }),
      /volume_content_source/,
    ],
    [
      'CreateVolume, mutable parameters of a driver without',
      () => controller.createVolume({ ...volume, mutableParameters: { a: 'b' } }),
      /mutable/,
    ],
    ['DeleteVolume without id', () => controller.deleteVolume({}), /volume_id is required/],
    [
      'ControllerPublishVolume without node',
      () => controller.controllerPublishVolume({ volumeId, volumeCapability }),
      /node_id is required/,
    ],
    [
      'ControllerPublishVolume read-only by a driver that cannot',
      () => controller.controllerPublishVolume({ volumeId, nodeId: 'n', volumeCapability, readonly: true }),
      /PUBLISH_READONLY/,
    ],
    [
      'ControllerExpandVolume without range',
      () => controller.controllerExpandVolume({ volumeId }),
      /capacity_range is required/,
    ],
    ['CreateSnapshot without source', () => controller.createSnapshot({ name: 's' }), /source_volume_id/],
    ['DeleteSnapshot without id', () => controller.deleteSnapshot({}), /snapshot_id/],
    ['ListVolumes, negative', () => controller.listVolumes({ maxEntries: -1 }), /max_entries/],
    ['group snapshot of nothing', () => group.createVolumeGroupSnapshot({ name: 'g' }), /source_volume_ids/],
    [
      'NodeStageVolume without path',
      () => node.nodeStageVolume({ volumeId, volumeCapability }),
      /staging_target_path is required/,
    ],
    [
      'NodePublishVolume, relative path',
      () => node.nodePublishVolume({ volumeId, volumeCapability, targetPath: 'pods/x' }),
      /absolute/,
    ],
    [
      'NodePublishVolume, path traversal',
      () => node.nodePublishVolume({ volumeId, volumeCapability, targetPath: '/pods/../etc' }),
      /"\.\."/,
    ],
    [
      'NodePublishVolume, NUL in path',
      () => node.nodePublishVolume({ volumeId, volumeCapability, targetPath: '/pods/\0x' }),
      /control/,
    ],
    ['NodeUnpublishVolume without path', () => node.nodeUnpublishVolume({ volumeId }), /target_path/],
    ['NodeGetVolumeStats without path', () => node.nodeGetVolumeStats({ volumeId }), /volume_path/],
    ['NodeExpandVolume without volume', () => node.nodeExpandVolume({ volumePath: '/x' }), /volume_id/],
  ];
  for (const [name, call, message] of cases) {
    it(name, async () => {
      await assert.rejects(call(), { code: 'INVALID_ARGUMENT', description: message });
      assert.deepEqual(seen, []);
    });
  }

  it('on the node, a capability that cannot be had is a failed precondition', async () => {
    const request = { volumeId, targetPath: '/x', volumeCapability: block };
    await assert.rejects(node.nodePublishVolume(request), { code: 'FAILED_PRECONDITION' });
    assert.deepEqual(seen, []);
  });
});

describe('one operation at a time on a volume', () => {
  const stuck = () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    let calls = 0;
    const clients = (options: Partial<DriverServicesOptions>) =>
      connect(
        {
          node: nodeWith({
            nodePublishVolume: () => {
              calls += 1;
              return calls === 1 ? promise : {};
            },
          }),
        },
        options,
      );
    return { clients, finish: () => resolve({}), calls: () => calls };
  };
  const request = (volumeId: string) => ({ volumeId, targetPath: '/x', volumeCapability: mount });

  it('answers ABORTED to the second, and not to another volume', async () => {
    const { clients, finish, calls } = stuck();
    const { node } = clients({});
    const first = node.nodePublishVolume(request('a'));
    await assert.rejects(node.nodePublishVolume(request('a')), {
      code: 'ABORTED',
      description: /volume a is in flight/,
    });
    await assert.rejects(node.nodeUnpublishVolume({ volumeId: 'a', targetPath: '/y' }), { code: 'ABORTED' });
    await node.nodePublishVolume(request('b'));
    finish();
    await first;
    await node.nodePublishVolume(request('a'));
    assert.equal(calls(), 3);
  });

  it('lets the second wait, if so configured, until its caller cancels', async () => {
    const { clients, finish, calls } = stuck();
    const { node } = clients({ whenBusy: 'wait' });
    const first = node.nodePublishVolume(request('a'));
    const gaveUp = new AbortController();
    const impatient = node.nodePublishVolume(request('a'), { signal: gaveUp.signal });
    const patient = node.nodePublishVolume(request('a'));
    gaveUp.abort();
    await assert.rejects(impatient, { code: 'CANCELLED' });
    assert.equal(calls(), 1);
    finish();
    await Promise.all([first, patient]);
    assert.equal(calls(), 2);
  });

  it('frees the volume when the operation fails', async () => {
    const { node } = connect({
      node: nodeWith({
        nodePublishVolume: () => {
          throw new Error('bug');
        },
      }),
    });
    await assert.rejects(node.nodePublishVolume(request('a')), { code: 'INTERNAL' });
    await assert.rejects(node.nodePublishVolume(request('a')), { code: 'INTERNAL' });
  });
});

describe('what goes wrong is told', () => {
  const failing = (error: unknown) =>
    connect({
      node: nodeWith({
        nodePublishVolume: () => {
          throw error;
        },
      }),
    });
  const call = { volumeId: 'v', targetPath: '/x', volumeCapability: mount };
  const cases: [string, string, RegExp][] = [
    ['ENOSPC', 'RESOURCE_EXHAUSTED', /disk is full/],
    ['EPERM', 'FAILED_PRECONDITION', /root/],
    ['EBUSY', 'FAILED_PRECONDITION', /still in use/],
    ['EIO', 'INTERNAL', /nodePublishVolume: kaputt/],
  ];
  for (const [code, expected, message] of cases) {
    it(`${code} as ${expected}`, async () => {
      const { node } = failing(Object.assign(new Error('kaputt'), { code }));
      await assert.rejects(node.nodePublishVolume(call), { code: expected, description: message });
    });
  }

  it('a bug goes to the log, not to the caller', async () => {
    const { node, log } = failing(new TypeError('undefined is not a volume'));
    await assert.rejects(
      node.nodePublishVolume(call),
      (error: Error) => !error.message.includes('undefined is not'),
    );
    assert.match(log.text(), /undefined is not a volume/);
  });

  it('Probe: ready, not yet, broken', async () => {
    assert.equal((await connect({}).identity.probe({})).ready, true);
    assert.equal((await connect({ probe: () => false }).identity.probe({})).ready, false);
    const broken = connect({
      probe: () => {
        throw new Error('no disk');
      },
    });
    await assert.rejects(broken.identity.probe({}), { code: 'FAILED_PRECONDITION', description: /no disk/ });
  });

  it('secrets do not show, in whatever way they are printed', async () => {
    let shown = '';
    const { node } = connect({
      node: nodeWith({
        nodePublishVolume: (request) => {
          shown = `${request.secrets} ${JSON.stringify(request)} ${inspect(request, { depth: 9, showHidden: true })}`;
          assert.equal(request.secrets.reveal().password, 'swordfish');
          return {};
        },
      }),
    });
    await node.nodePublishVolume({ ...call, secrets: { password: 'swordfish' } });
    assert.match(shown, /redacted/);
    assert.doesNotMatch(shown, /swordfish/);
  });
});

describe('a driver on its socket', () => {
  it('counts calls under the official name, and lets a call under way end when it stops', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-sdk-'));
    const metrics = createMetrics();
    const { promise: finish, resolve: finishNow } = Promise.withResolvers<object>();
    const begun = Promise.withResolvers<void>();
    const driver = defineDriver({
      name: 'test.berth',
      version: '1',
      node: nodeWith({
        nodePublishVolume: () => {
          begun.resolve();
          return finish;
        },
      }),
    });
    const endpoint = join(directory, 's');
    const server = await serveDriver(driver, { endpoint, clock: realClock, log: memoryLog(), metrics });
    const connection = connectCsi({ address: endpoint, clock: realClock, log: memoryLog() });
    const client = csiClient(Node, connection, { timeoutMs: 10_000 });
    await assert.rejects(client.nodeUnpublishVolume({}), { code: 'INVALID_ARGUMENT' });
    const underWay = client.nodePublishVolume({ volumeId: 'v', targetPath: '/x', volumeCapability: mount });
    await begun.promise;
    const stopped = server.stop(10_000);
    finishNow({});
    await underWay;
    await stopped;
    connection.close();
    const text = await metrics.text();
    const count = (method: string, code: string) =>
      new RegExp(
        `csi_plugin_operations_seconds_count\\{driver_name="test.berth",method_name="/csi.v1.Node/${method}",grpc_status_code="${code}"\\} 1`,
      );
    assert.match(text, count('NodeUnpublishVolume', 'InvalidArgument'));
    assert.match(text, count('NodePublishVolume', 'OK'));
    await rm(directory, { recursive: true });
  });
});

describe('answers keep to what is claimed', () => {
  const status = { publishedNodeIds: ['n1'], volumeCondition: { abnormal: true, message: 'bad' } };
  const controller = controllerWith({
    createVolume: () => ({ volume: { volumeId: 'v', accessibleTopology: [{ segments: { zone: 'z1' } }] } }),
    deleteVolume: () => ({}),
    listVolumes: () => ({ entries: [{ volume: { volumeId: 'v' }, status }] }),
    controllerGetVolume: () => ({ volume: { volumeId: 'v' }, status }),
  });

  it('published nodes, conditions and topology show only if claimed', async () => {
    const silent = connect({ controller });
    const talking = connect({
      controller,
      features: { publishedNodes: true, volumeCondition: true, topology: true },
    });
    for (const [clients, shows] of [
      [silent, false],
      [talking, true],
    ] as const) {
      const listed = (await clients.controller.listVolumes({})).entries[0]?.status;
      const got = (await clients.controller.controllerGetVolume({ volumeId: 'v' })).status;
      for (const found of [listed, got]) {
        assert.deepEqual(found?.publishedNodeIds, shows ? ['n1'] : []);
        assert.equal(found?.volumeCondition?.abnormal, shows ? true : undefined);
      }
      const made = await clients.controller.createVolume({ name: 'v', volumeCapabilities: [mount] });
      assert.equal(made.volume?.accessibleTopology.length, shows ? 1 : 0);
      assert.equal((await clients.node.nodeGetInfo({})).accessibleTopology !== undefined, shows);
    }
  });

  it('a capability that the driver lacks is not confirmed', async () => {
    const { controller: client } = connect({ controller, accessModes: ['SINGLE_NODE_WRITER'] });
    const ask = (mode: Mode) =>
      client.validateVolumeCapabilities({
        volumeId: 'v',
        volumeCapabilities: [{ ...mount, accessMode: { mode } }],
      });
    assert.ok((await ask(Mode.SINGLE_NODE_WRITER)).confirmed);
    const refused = await ask(Mode.MULTI_NODE_MULTI_WRITER);
    assert.equal(refused.confirmed, undefined);
    assert.match(refused.message, /MULTI_NODE_MULTI_WRITER/);
  });
});

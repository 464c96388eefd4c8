import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import {
  capability,
  codeOf,
  MiB,
  needsRoot,
  release,
  startHostpath,
  use,
  volumeRequest,
} from './testing/hostpath-fixture.ts';

describe('hostpath answers with the codes of the spec', { skip: needsRoot }, () => {
  it('CreateVolume', async (t) => {
    const { controller, contents } = await startHostpath(t, { maxVolumeBytes: 64n * MiB });
    const create = (overrides: Parameters<typeof volumeRequest>[0]) =>
      codeOf(controller.createVolume(volumeRequest(overrides)));
    const volumeId = (await controller.createVolume(volumeRequest())).volume?.volumeId ?? '';
    const block = [capability({ type: 'block' })];
    const cases: [string, Parameters<typeof volumeRequest>[0], string][] = [
      ['the same again', {}, 'OK'],
      ['larger than it is', { capacityRange: { requiredBytes: 17n * MiB } }, 'ALREADY_EXISTS'],
      ['a limit it fits', { capacityRange: { requiredBytes: 1n, limitBytes: 16n * MiB } }, 'OK'],
      [
        'a limit it does not fit',
        { capacityRange: { requiredBytes: 1n, limitBytes: MiB } },
        'ALREADY_EXISTS',
      ],
      ['another backing', { parameters: { backing: 'image' } }, 'ALREADY_EXISTS'],
      ['another access type', { volumeCapabilities: block }, 'ALREADY_EXISTS'],
      [
        'another source',
        { volumeContentSource: { type: { case: 'volume', value: { volumeId: 'other' } } } },
        'ALREADY_EXISTS',
      ],
      ['too large', { name: 'n', capacityRange: { requiredBytes: 65n * MiB } }, 'OUT_OF_RANGE'],
      ['an unknown backing', { name: 'n', parameters: { backing: 'tape' } }, 'INVALID_ARGUMENT'],
      [
        'raw block in a directory',
        { name: 'n', parameters: { backing: 'directory' }, volumeCapabilities: block },
        'INVALID_ARGUMENT',
      ],
      [
        'raw block and filesystem',
        { name: 'n', volumeCapabilities: [...block, capability()] },
        'INVALID_ARGUMENT',
      ],
      [
        'an unknown filesystem',
        { name: 'n', parameters: { backing: 'image' }, volumeCapabilities: [capability({ fsType: 'zfs' })] },
        'INVALID_ARGUMENT',
      ],
      [
        'a source that does not exist',
        { name: 'n', volumeContentSource: { type: { case: 'volume', value: { volumeId: 'nope' } } } },
        'NOT_FOUND',
      ],
      [
        'a snapshot that does not exist',
        {
          name: 'n',
          volumeContentSource: { type: { case: 'snapshot', value: { snapshotId: '../../etc' } } },
        },
        'NOT_FOUND',
      ],
      [
        'a source of another backing',
        {
          name: 'n',
          parameters: { backing: 'image' },
          volumeContentSource: { type: { case: 'volume', value: { volumeId } } },
        },
        'INVALID_ARGUMENT',
      ],
      [
        'an unknown mutable parameter',
        { name: 'n', mutableParameters: { colour: 'red' } },
        'INVALID_ARGUMENT',
      ],
    ];
    for (const [name, overrides, expected] of cases) assert.equal(await create(overrides), expected, name);
    assert.deepEqual((await contents()).volumes, [volumeId]);
    await controller.deleteVolume({ volumeId });
  });

  it('a name is a name, not a path', async (t) => {
    const { controller, contents } = await startHostpath(t);
    const names = [
      '../../../tmp/escape',
      '/etc/passwd',
      '..',
      'a\nb',
      'ü'.repeat(64),
      "'; DROP TABLE volumes; --",
    ];
    for (const name of names) {
      const { volume } = await controller.createVolume(volumeRequest({ name }));
      assert.deepEqual((await contents()).volumes, [volume?.volumeId]);
      await controller.deleteVolume({ volumeId: volume?.volumeId ?? '' });
    }
    await controller.deleteVolume({ volumeId: '../state.db' });
    await controller.deleteSnapshot({ snapshotId: '../volumes' });
  });

  it('ControllerPublishVolume', async (t) => {
    const driver = await startHostpath(t, { node: { nodeId: 'node-1', maxVolumesPerNode: 2 } });
    driver.addNode({ nodeId: 'node-2' });
    const { controller } = driver;
    const create = async (name: string) =>
      (await controller.createVolume(volumeRequest({ name }))).volume?.volumeId ?? '';
    const [single, shared, third] = [await create('single'), await create('shared'), await create('third')];
    const publish = (volumeId: string, nodeId: string, mode = 'SINGLE_NODE_WRITER', readonly = false) =>
      codeOf(
        controller.controllerPublishVolume({
          volumeId,
          nodeId,
          volumeCapability: capability({ mode: mode as 'SINGLE_NODE_WRITER' }),
          readonly,
        }),
      );
    const steps: [string, string][] = [
      [await publish('nope', 'node-1'), 'NOT_FOUND'],
      [await publish(single, 'nope'), 'NOT_FOUND'],
      [await publish(single, 'node-1'), 'OK'],
      [await publish(single, 'node-1'), 'OK'],
      [await publish(single, 'node-1', 'SINGLE_NODE_WRITER', true), 'ALREADY_EXISTS'],
      [await publish(single, 'node-1', 'MULTI_NODE_MULTI_WRITER'), 'ALREADY_EXISTS'],
      [await publish(single, 'node-2'), 'FAILED_PRECONDITION'],
      [await publish(single, 'node-2', 'MULTI_NODE_MULTI_WRITER'), 'FAILED_PRECONDITION'],
      [await publish(shared, 'node-1', 'MULTI_NODE_SINGLE_WRITER'), 'OK'],
      [await publish(shared, 'node-2', 'MULTI_NODE_SINGLE_WRITER'), 'FAILED_PRECONDITION'],
      [await publish(shared, 'node-2', 'MULTI_NODE_SINGLE_WRITER', true), 'OK'],
      [await publish(third, 'node-1'), 'RESOURCE_EXHAUSTED'],
      [await publish(third, 'node-2'), 'OK'],
      [await codeOf(controller.deleteVolume({ volumeId: third })), 'FAILED_PRECONDITION'],
    ];
    for (const [at, [found, expected]] of steps.entries()) assert.equal(found, expected, `step ${at}`);
    const { entries } = await controller.listVolumes({});
    const nodesOf = (id: string) =>
      entries.find(({ volume }) => volume?.volumeId === id)?.status?.publishedNodeIds;
    assert.deepEqual(nodesOf(shared), ['node-1', 'node-2']);
    // An empty node ID means all nodes.
    await controller.controllerUnpublishVolume({ volumeId: shared });
    await controller.controllerUnpublishVolume({ volumeId: single, nodeId: 'node-1' });
    await controller.controllerUnpublishVolume({ volumeId: third, nodeId: 'node-2' });
    for (const volumeId of [single, shared, third]) await controller.deleteVolume({ volumeId });
  });

  it('NodeStageVolume and NodePublishVolume', async (t) => {
    const driver = await startHostpath(t);
    const { controller, node, path } = driver;
    const volumeId = (await controller.createVolume(volumeRequest())).volume?.volumeId ?? '';
    const staging = path('staging');
    const stage = (overrides = {}) =>
      codeOf(
        node.nodeStageVolume({
          volumeId,
          stagingTargetPath: staging,
          volumeCapability: capability(),
          ...overrides,
        }),
      );
    const publish = (overrides = {}) =>
      codeOf(
        node.nodePublishVolume({
          volumeId,
          stagingTargetPath: staging,
          targetPath: path('pods/t'),
          volumeCapability: capability(),
          ...overrides,
        }),
      );
    await writeFile(path('file'), 'somebody else’s');
    await symlink('/etc', path('link'));
    const asBlock = { volumeCapability: capability({ type: 'block' }) };
    const singleWriter = { volumeCapability: capability({ mode: 'SINGLE_NODE_SINGLE_WRITER' }) };

    assert.equal(await stage({ volumeId: 'nope' }), 'NOT_FOUND');
    assert.equal(await stage(), 'FAILED_PRECONDITION', 'not attached');
    await controller.controllerPublishVolume({ volumeId, nodeId: 'node-1', volumeCapability: capability() });
    assert.equal(await stage(asBlock), 'FAILED_PRECONDITION', 'a filesystem as raw block');
    assert.equal(
      await stage({ stagingTargetPath: path('file') }),
      'INVALID_ARGUMENT',
      'staging path is a file',
    );
    assert.equal(await publish(), 'FAILED_PRECONDITION', 'not staged');
    assert.equal(await stage(), 'OK');
    assert.equal(await stage(), 'OK');
    assert.equal(await stage({ volumeCapability: capability({ mountFlags: ['noexec'] }) }), 'ALREADY_EXISTS');
    assert.equal(await stage({ stagingTargetPath: path('elsewhere') }), 'ALREADY_EXISTS');

    assert.equal(await publish({ volumeId: 'nope' }), 'NOT_FOUND');
    assert.equal(await publish({ stagingTargetPath: '' }), 'FAILED_PRECONDITION');
    assert.equal(await publish({ targetPath: path('file') }), 'INVALID_ARGUMENT', 'target is a file');
    assert.equal(await publish({ targetPath: path('link') }), 'INVALID_ARGUMENT', 'target is a link');
    assert.equal(await publish(), 'OK');
    assert.equal(await publish(), 'OK');
    assert.equal(await publish({ readonly: true }), 'ALREADY_EXISTS');
    assert.equal(await publish({ ...singleWriter, targetPath: path('pods/u') }), 'FAILED_PRECONDITION');
    await mkdir(path('pods/existing'));
    assert.equal(await publish({ targetPath: path('pods/existing') }), 'OK', 'an empty directory will do');

    assert.equal(await codeOf(node.nodeGetVolumeStats({ volumeId, volumePath: path('nope') })), 'NOT_FOUND');
    assert.equal(await codeOf(node.nodeExpandVolume({ volumeId, volumePath: path('nope') })), 'NOT_FOUND');
    assert.equal(
      await codeOf(node.nodeGetVolumeStats({ volumeId: 'nope', volumePath: path('pods/t') })),
      'NOT_FOUND',
    );
    assert.equal(await codeOf(controller.deleteVolume({ volumeId })), 'FAILED_PRECONDITION', 'in use');
    // A file that the driver did not create is not removed.
    assert.equal(
      await codeOf(node.nodeUnpublishVolume({ volumeId, targetPath: path('file') })),
      'FAILED_PRECONDITION',
    );

    await node.nodeUnpublishVolume({ volumeId, targetPath: path('pods/existing') });
    await release(driver, { volumeId, staging, target: path('pods/t') });
    await node.nodeUnpublishVolume({ volumeId: 'nope', targetPath: path('nope') });
    await node.nodeUnstageVolume({ volumeId: 'nope', stagingTargetPath: path('nope') });
    await controller.deleteVolume({ volumeId });
  });

  it('snapshots and group snapshots', async (t) => {
    const { controller, group } = await startHostpath(t);
    const create = async (name: string) =>
      (await controller.createVolume(volumeRequest({ name }))).volume?.volumeId ?? '';
    const [a, b] = [await create('a'), await create('b')];
    assert.equal(await codeOf(controller.createSnapshot({ name: 's', sourceVolumeId: 'nope' })), 'NOT_FOUND');
    const { snapshot } = await controller.createSnapshot({ name: 's', sourceVolumeId: a });
    assert.equal(await codeOf(controller.createSnapshot({ name: 's', sourceVolumeId: b })), 'ALREADY_EXISTS');
    assert.equal(await codeOf(controller.getSnapshot({ snapshotId: 'nope' })), 'NOT_FOUND');

    const both = { name: 'g', sourceVolumeIds: [a, b] };
    const missing = group.createVolumeGroupSnapshot({ name: 'm', sourceVolumeIds: [a, 'nope'] });
    assert.equal(await codeOf(missing), 'NOT_FOUND');
    const { groupSnapshot } = await group.createVolumeGroupSnapshot(both);
    const groupSnapshotId = groupSnapshot?.groupSnapshotId ?? '';
    assert.equal(
      (await group.createVolumeGroupSnapshot(both)).groupSnapshot?.groupSnapshotId,
      groupSnapshotId,
    );
    const other = group.createVolumeGroupSnapshot({ ...both, sourceVolumeIds: [a] });
    assert.equal(await codeOf(other), 'ALREADY_EXISTS');
    const snapshotIds = groupSnapshot?.snapshots.map(({ snapshotId }) => snapshotId) ?? [];
    assert.equal(snapshotIds.length, 2);
    assert.ok(groupSnapshot?.snapshots.every((member) => member.groupSnapshotId === groupSnapshotId));
    assert.equal(
      await codeOf(controller.deleteSnapshot({ snapshotId: snapshotIds[0] ?? '' })),
      'INVALID_ARGUMENT',
    );
    assert.equal(await codeOf(group.getVolumeGroupSnapshot({ groupSnapshotId, snapshotIds })), 'OK');
    const mismatch = { groupSnapshotId, snapshotIds: ['nope'] };
    assert.equal(await codeOf(group.getVolumeGroupSnapshot(mismatch)), 'INVALID_ARGUMENT');
    assert.equal(await codeOf(group.deleteVolumeGroupSnapshot(mismatch)), 'INVALID_ARGUMENT');
    assert.equal(await codeOf(group.getVolumeGroupSnapshot({ groupSnapshotId: 'nope' })), 'NOT_FOUND');
    assert.equal((await controller.listSnapshots({})).entries.length, 3);
    assert.equal((await controller.listSnapshots({ sourceVolumeId: a })).entries.length, 2);
    await group.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
    await group.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
    assert.equal((await controller.listSnapshots({})).entries.length, 1);
    await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? '' });
    for (const volumeId of [a, b]) await controller.deleteVolume({ volumeId });
  });

  it('one volume at a time, however many ask', async (t) => {
    const driver = await startHostpath(t);
    const { controller } = driver;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        controller.createVolume(volumeRequest()).then(
          ({ volume }) => volume?.volumeId ?? '',
          (error: { code: string }) => error.code,
        ),
      ),
    );
    const ids = new Set(answers.filter((answer) => answer !== 'ABORTED'));
    assert.equal(ids.size, 1, String([...ids]));
    const [volumeId = ''] = ids;
    const place = { volumeId, staging: driver.path('staging'), target: driver.path('pods/t') };
    await use(driver, place);
    const calls = await Promise.all([
      ...Array.from({ length: 5 }, () =>
        codeOf(driver.node.nodeUnpublishVolume({ volumeId, targetPath: place.target })),
      ),
      ...Array.from({ length: 5 }, () =>
        codeOf(driver.node.nodeUnstageVolume({ volumeId, stagingTargetPath: place.staging })),
      ),
    ]);
    assert.ok(
      calls.every((code) => code === 'OK' || code === 'ABORTED'),
      String(calls),
    );
    await release(driver, place);
    await controller.deleteVolume({ volumeId });
  });
});

// Our client and a driver written in Go: the official hostpath driver, over its socket.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  Controller,
  connectCsi,
  csiClient,
  Identity,
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
  probe,
} from '../../src/csi/index.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking, missingPeers, peerPath } from '../capabilities.ts';
import { mountsBelow, temporaryDirectory } from '../e2e/up-process.ts';

const skip = missingPeers('hostpathplugin') || lacking('root');
const volumeCapability = {
  accessType: { case: 'mount' as const, value: { mountFlags: ['noatime'] } },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
};

test('a driver written in Go answers all kinds of calls', { skip }, async (t) => {
  const directory = await temporaryDirectory(t);
  const socket = join(directory, 's');
  const start = () => {
    const flags = ['--nodeid=go', '--enable-attach=true', `--statedir=${directory}/state`];
    return spawn(peerPath('hostpathplugin') ?? '', [`--endpoint=unix://${socket}`, ...flags], {
      stdio: 'ignore',
    });
  };
  let driver = start();
  t.after(() => driver.kill('SIGKILL'));
  const connection = connectCsi({ address: socket, clock: realClock, log: silentLog });
  t.after(() => connection.close());
  await connection.waitForReady();
  const controller = csiClient(Controller, connection, { timeoutMs: 20_000 });
  const node = csiClient(Node, connection, { timeoutMs: 20_000 });
  assert.equal(await probe(connection, { timeoutMs: 5000 }), true);
  const { capabilities } = await controller.controllerGetCapabilities({});
  assert.ok(capabilities.length > 5);

  const create = async (name: string) => {
    const { volume } = await controller.createVolume({
      name,
      capacityRange: { requiredBytes: 1n << 20n },
      volumeCapabilities: [volumeCapability],
    });
    assert.equal(volume?.capacityBytes, 1n << 20n);
    return volume?.volumeId ?? '';
  };
  const ids = await Promise.all(Array.from({ length: 100 }, (_, at) => create(`volume-${at}`)));
  assert.equal(new Set(ids).size, 100);
  assert.equal((await controller.listVolumes({})).entries.length, 100);
  const page = await controller.listVolumes({ maxEntries: 7 });
  assert.equal(page.entries.length, 7);

  const [volumeId = ''] = ids;
  const stagingTargetPath = join(directory, 'staging');
  const targetPath = join(directory, 'target');
  await mkdir(stagingTargetPath);
  await controller.controllerPublishVolume({ volumeId, nodeId: 'go', volumeCapability });
  await node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability });
  await node.nodePublishVolume({ volumeId, stagingTargetPath, targetPath, volumeCapability });
  assert.deepEqual(mountsBelow(directory), [targetPath]);
  await node.nodeUnpublishVolume({ volumeId, targetPath });
  await node.nodeUnstageVolume({ volumeId, stagingTargetPath });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: 'go' });

  // Its errors, with their texts.
  await assert.rejects(controller.createVolume({ name: '' }), { code: 'INVALID_ARGUMENT', uncertain: false });
  await assert.rejects(
    controller.controllerPublishVolume({ volumeId: 'none', nodeId: 'go', volumeCapability }),
    {
      code: 'NOT_FOUND',
    },
  );
  await assert.rejects(
    csiClient(Identity, connection, { timeoutMs: 5 }).probe({}, { signal: AbortSignal.abort() }),
    {
      code: 'CANCELLED',
    },
  );
  // A request larger than any window, and larger than it takes.
  const long = { 'x-long': 'y'.repeat(3 << 20) };
  await assert.rejects(controller.createVolume({ name: '', parameters: long }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(controller.createVolume({ name: '', parameters: { ...long, more: long['x-long'] } }), {
    code: 'RESOURCE_EXHAUSTED',
  });

  await Promise.all(ids.map((id) => controller.deleteVolume({ volumeId: id })));
  assert.deepEqual((await controller.listVolumes({})).entries, []);

  // Restarted, it is found again.
  const exited = once(driver, 'exit');
  const lost = new Promise<void>((resolve) => {
    connection.onStateChange((state) => state !== 'ready' && resolve());
  });
  driver.kill('SIGTERM');
  await exited;
  await lost;
  driver = start();
  await connection.waitForReady();
  assert.equal(await probe(connection, { timeoutMs: 5000 }), true);
  const ended = once(driver, 'exit');
  driver.kill('SIGTERM');
  await ended;
});

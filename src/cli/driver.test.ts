import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  Controller,
  connectCsi,
  csiClient,
  GroupController,
  Identity,
  Node,
  SnapshotMetadata,
} from '../csi/index.ts';
import {
  capability,
  cleanUp,
  codeOf,
  type HostpathClients,
  leftovers,
  needsRoot,
  release,
  use,
  volumeRequest,
} from '../driver/hostpath/testing/hostpath-fixture.ts';
import { silentLog } from '../runtime/log/log.ts';
import { realClock } from '../runtime/time/clock.ts';

const berth = fileURLToPath(new URL('../../bin/berth', import.meta.url));

describe('berth driver hostpath', { skip: needsRoot }, () => {
  it('says ready, serves, and stops cleanly, leaving mounts and volumes as they are', async (t) => {
    const root = await temporaryRoot(t);
    const first = await start(root, 'n1');
    const info = await first.identity.getPluginInfo({});
    assert.equal(info.name, 'hostpath.csi.berth');
    const volumeId = (await first.controller.createVolume(volumeRequest())).volume?.volumeId ?? '';
    const place = { volumeId, nodeId: 'n1', staging: join(root, 'staging'), target: join(root, 'target') };
    await use(first, place);
    await writeFile(join(place.target, 'file'), 'kept');
    await first.stop();
    assert.equal(await readFile(join(place.target, 'file'), 'utf8'), 'kept');
    const second = await start(root, 'n1');
    await use(second, place);
    await release(second, place);
    await second.controller.deleteVolume({ volumeId });
    await second.stop();
  });

  it('is one driver in several processes: two nodes of one machine share their volumes', async (t) => {
    const root = await temporaryRoot(t);
    const [one, two] = await Promise.all([start(root, 'n1'), start(root, 'n2')]);
    const shared = capability({ mode: 'MULTI_NODE_MULTI_WRITER' });
    // Both create at once, of the same name: one volume.
    const request = volumeRequest({ parameters: { backing: 'image' }, volumeCapabilities: [shared] });
    const create = async ({ controller }: HostpathClients): Promise<string> => {
      for (;;) {
        try {
          return (await controller.createVolume(request)).volume?.volumeId ?? '';
        } catch (error) {
          if ((error as { code?: string }).code !== 'ABORTED') throw error;
        }
      }
    };
    const ids = await Promise.all([create(one), create(two)]);
    assert.equal(ids[0], ids[1]);
    const [volumeId = ''] = ids;
    const place = (nodeId: string) => ({
      volumeId,
      nodeId,
      staging: join(root, `s-${nodeId}`),
      target: join(root, `t-${nodeId}`),
      capability: shared,
    });
    // At the same moment: one loop device, formatted once, one filesystem.
    await Promise.all([use(one, place('n1')), use(two, place('n2'))]);
    await writeFile(join(place('n1').target, 'file'), 'from n1');
    assert.equal(await readFile(join(place('n2').target, 'file'), 'utf8'), 'from n1');
    const { entries } = await two.controller.listVolumes({});
    assert.deepEqual(entries[0]?.status?.publishedNodeIds, ['n1', 'n2']);
    await release(one, place('n1'));
    await writeFile(join(place('n2').target, 'file'), 'still there');
    assert.equal(await codeOf(one.controller.deleteVolume({ volumeId })), 'FAILED_PRECONDITION');
    await release(two, place('n2'));
    await one.controller.deleteVolume({ volumeId });
    await Promise.all([one.stop(), two.stop()]);
  });

  const mistakes: [string, string[], RegExp][] = [
    ['no driver', ['--endpoint=/x', '--node-id=n', '--state-dir=/x'], /expected hostpath/],
    ['another driver', ['nfs', '--endpoint=/x', '--node-id=n', '--state-dir=/x'], /there is no driver nfs/],
    ['no endpoint', ['hostpath', '--node-id=n', '--state-dir=/x'], /endpoint/],
    [
      'a bad size',
      ['hostpath', '--endpoint=/x', '--node-id=n', '--state-dir=/x', '--capacity=big'],
      /--capacity/,
    ],
    [
      'an unknown capability',
      ['hostpath', '--endpoint=/x', '--node-id=n', '--state-dir=/x', '--without=magic'],
      /magic/,
    ],
    [
      'an unknown service',
      ['hostpath', '--endpoint=/x', '--node-id=n', '--state-dir=/x', '--services=web'],
      /web/,
    ],
  ];
  for (const [name, args, message] of mistakes) {
    it(`refuses ${name}`, async () => {
      const child = spawn(process.execPath, [berth, 'driver', ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let text = '';
      child.stderr.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      const [code] = await once(child, 'close');
      assert.equal(code, 2, text);
      assert.match(text, message);
    });
  }
});

async function temporaryRoot(t: TestContext): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'berth-cli-')));
  t.after(async () => {
    const left = await leftovers(root);
    await cleanUp(root);
    await rm(root, { recursive: true, force: true });
    assert.deepEqual(left, []);
  });
  return root;
}

async function start(root: string, nodeId: string): Promise<HostpathClients & { stop(): Promise<void> }> {
  const socket = join(root, nodeId);
  const args = [`--endpoint=unix://${socket}`, `--node-id=${nodeId}`, `--state-dir=${root}/state`];
  const child: ChildProcess = spawn(process.execPath, [berth, 'driver', 'hostpath', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  assert.ok(child.stdout);
  const first = await Promise.race([once(createInterface(child.stdout), 'line'), exited]);
  assert.deepEqual(first, [`ready unix://${socket}`]);
  const connection = connectCsi({ address: socket, clock: realClock, log: silentLog });
  const defaults = { timeoutMs: 20_000 };
  return {
    identity: csiClient(Identity, connection, defaults),
    controller: csiClient(Controller, connection, defaults),
    group: csiClient(GroupController, connection, defaults),
    metadata: csiClient(SnapshotMetadata, connection, defaults),
    node: csiClient(Node, connection, defaults),
    async stop() {
      connection.close();
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
    },
  };
}

// docs/writing-a-driver.md, file by file: what stands there is what runs here.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { Controller, connectCsi, csiClient, Identity, Node } from '../csi/index.ts';
import { realClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { openLinuxMounter } from '../runtime/mount/linux-mounter.ts';
import { capability, codeOf, MiB, needsRoot } from './hostpath/testing/hostpath-fixture.ts';

const page = new URL('../../docs/writing-a-driver.md', import.meta.url);
const sdk = new URL('./index.ts', import.meta.url);

/** The page's files: a name in backquotes, then a block of TypeScript. */
async function filesOfThePage(): Promise<Map<string, string>> {
  const text = await readFile(page, 'utf8');
  const blocks = text.matchAll(/^`(?<name>[\w-]+\.ts)`:\n\n```ts\n(?<body>.*?)^```$/gms);
  return new Map([...blocks].map(({ groups }) => [groups?.name ?? '', groups?.body ?? '']));
}

describe('the tutorial', { skip: needsRoot }, () => {
  it('has every file that the driver is made of', async () => {
    assert.deepEqual(
      [...(await filesOfThePage()).keys()],
      ['volumes.ts', 'controller.ts', 'node.ts', 'main.ts'],
    );
  });

  it('makes a driver that provisions, stages, publishes, grows and forgets nothing', async () => {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'berth-tut-')));
    for (const [name, body] of await filesOfThePage()) {
      await writeFile(join(root, name), body.replaceAll("'berth/driver'", JSON.stringify(sdk.href)));
    }
    await writeFile(join(root, 'package.json'), '{ "type": "module" }');
    try {
      let driver = await start(root);
      const connection = connectCsi({ address: join(root, 's'), clock: realClock, log: silentLog });
      const defaults = { timeoutMs: 10_000 };
      const controller = csiClient(Controller, connection, defaults);
      const node = csiClient(Node, connection, defaults);
      assert.equal(
        (await csiClient(Identity, connection, defaults).getPluginInfo({})).name,
        'memory.example.com',
      );

      const request = {
        name: 'claim',
        capacityRange: { requiredBytes: 8n * MiB },
        volumeCapabilities: [capability()],
      };
      const volumeId = (await controller.createVolume(request)).volume?.volumeId ?? '';
      assert.equal(
        await codeOf(controller.createVolume({ ...request, capacityRange: { requiredBytes: 9n * MiB } })),
        'ALREADY_EXISTS',
      );
      assert.equal(
        await codeOf(
          controller.createVolume({
            ...request,
            name: 'x',
            volumeCapabilities: [capability({ mode: 'MULTI_NODE_MULTI_WRITER' })],
          }),
        ),
        'INVALID_ARGUMENT',
      );

      const place = { volumeId, stagingTargetPath: join(root, 'staging'), volumeCapability: capability() };
      const targetPath = join(root, 'pods/target');
      await mkdir(join(root, 'pods'));
      assert.equal(await codeOf(node.nodePublishVolume({ ...place, targetPath })), 'FAILED_PRECONDITION');
      await node.nodeStageVolume(place);
      await node.nodePublishVolume({ ...place, targetPath });
      await writeFile(join(targetPath, 'file'), 'in memory');

      // kill -9: the volume is still known, and still mounted.
      const died = once(driver, 'exit');
      driver.kill('SIGKILL');
      await died;
      driver = await start(root);
      assert.equal((await controller.createVolume(request)).volume?.volumeId, volumeId);
      await node.nodeStageVolume(place);
      await node.nodePublishVolume({ ...place, targetPath });
      assert.equal(await readFile(join(targetPath, 'file'), 'utf8'), 'in memory');

      const capacityRange = { requiredBytes: 16n * MiB };
      const grown = await controller.controllerExpandVolume({ volumeId, capacityRange });
      assert.equal(grown.capacityBytes, 16n * MiB);
      await node.nodeExpandVolume({ volumeId, volumePath: targetPath, capacityRange });
      assert.equal((await (await openLinuxMounter()).usage(targetPath)).totalBytes, 16n * MiB);

      await node.nodeUnpublishVolume({ volumeId, targetPath });
      await node.nodeUnstageVolume(place);
      await controller.deleteVolume({ volumeId });
      assert.deepEqual((await controller.listVolumes({})).entries, []);
      connection.close();
      const stopped = once(driver, 'exit');
      driver.kill('SIGTERM');
      assert.deepEqual(await stopped, [0, null]);
      const left = (await (await openLinuxMounter()).list()).filter(({ mountPoint }) =>
        mountPoint.startsWith(root),
      );
      assert.deepEqual(left, []);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});

async function start(root: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(root, 'main.ts'), join(root, 's'), join(root, 'state.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), once(child, 'exit')]);
  assert.equal(line, `ready unix://${join(root, 's')}`);
  return child;
}

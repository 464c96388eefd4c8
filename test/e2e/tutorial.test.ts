// docs/writing-a-driver.md, step by step: what stands there is what runs here. Its files are taken out of the page, its
// commands run in a shell; only the directory, and where `berth` comes from, are the test's own.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { Controller, connectCsi, csiClient, Identity, Node } from '../../src/csi/index.ts';
import { capability, codeOf, MiB } from '../../src/driver/hostpath/testing/hostpath-fixture.ts';
import { silentLog } from '../../src/runtime/log/log.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking, peerPath, programPath } from '../capabilities.ts';
import { BERTH, mountsBelow, run, startUp, temporaryDirectory } from './up-process.ts';

const page = await readFile(new URL('../../docs/writing-a-driver.md', import.meta.url), 'utf8');
const sdk = new URL('../../src/driver/index.ts', import.meta.url);
const testing = new URL('../../src/test-cluster/index.ts', import.meta.url);
/** Where the page's commands have the driver's socket and state. */
const PAGE_DIRECTORY = '/tmp/memory-driver';

/** The page's files: a name in backquotes, then a block. */
const files = new Map(
  [...page.matchAll(/^`(?<name>[\w.-]+\.\w+)`:\n\n```\w+\n(?<body>.*?)^```$/gms)].map(({ groups }) => [
    groups?.name ?? '',
    groups?.body ?? '',
  ]),
);

/** The commands below the heading that begins so, block by block. */
function commandsOf(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading));
  assert.ok(section, `the page has no step ${heading}`);
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
}

async function project(t: TestContext, importing: string, importingTests = testing.href): Promise<string> {
  const directory = await realpath(await temporaryDirectory(t));
  for (const [name, body] of files) {
    const own = body
      .replaceAll("'berth/driver'", JSON.stringify(importing))
      .replaceAll("'berth/testing'", JSON.stringify(importingTests));
    await writeFile(join(directory, name), own);
  }
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  return directory;
}

/** Killed after the test, if it still runs. */
async function startDriver(t: TestContext, directory: string): Promise<ChildProcess> {
  const socket = join(directory, 'csi.sock');
  const args = [join(directory, 'main.ts'), `unix://${socket}`, join(directory, 'state.db')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), once(child, 'exit')]);
  assert.equal(line, `ready unix://${socket}`);
  return child;
}

async function stopDriver(driver: ChildProcess): Promise<void> {
  const stopped = once(driver, 'exit');
  driver.kill('SIGTERM');
  assert.deepEqual(await stopped, [0, null]);
}

describe('the tutorial', () => {
  it('has every file that the driver is made of', () => {
    assert.deepEqual(
      [...files.keys()],
      ['volumes.ts', 'controller.ts', 'node.ts', 'driver.ts', 'main.ts', 'pod.yaml', 'memory.test.ts'],
    );
  });

  it('type-checks as strictly as can be', async (t) => {
    const directory = await project(t, 'berth/driver', 'berth/testing');
    const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      skipLibCheck: true,
      target: 'esnext',
      module: 'nodenext',
      allowImportingTsExtensions: true,
      typeRoots: [join(modules, '@types')],
      types: ['node'],
      paths: { 'berth/driver': [fileURLToPath(sdk)], 'berth/testing': [fileURLToPath(testing)] },
    };
    await writeFile(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['main.ts', 'memory.test.ts'] }),
    );
    const checked = await run(process.execPath, [join(modules, '.bin/tsc'), '-p', directory]);
    assert.deepEqual([checked.code, checked.stdout], [0, '']);
  });

  const skip = lacking('root');

  it('makes a driver that provisions, stages, publishes, grows and forgets nothing', { skip }, async (t) => {
    const root = await project(t, sdk.href);
    const before = await startDriver(t, root);
    const connection = connectCsi({ address: join(root, 'csi.sock'), clock: realClock, log: silentLog });
    t.after(() => connection.close());
    const defaults = { timeoutMs: 10_000 };
    const controller = csiClient(Controller, connection, defaults);
    const node = csiClient(Node, connection, defaults);
    const { name } = await csiClient(Identity, connection, defaults).getPluginInfo({});
    assert.equal(name, 'memory.example.com');

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
    const shared = [capability({ mode: 'MULTI_NODE_MULTI_WRITER' })];
    assert.equal(
      await codeOf(controller.createVolume({ ...request, name: 'x', volumeCapabilities: shared })),
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
    const died = once(before, 'exit');
    before.kill('SIGKILL');
    await died;
    const after = await startDriver(t, root);
    await connection.waitForReady();
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
    await stopDriver(after);
    assert.deepEqual(mountsBelow(root), []);
  });

  it('makes a driver that csi-sanity passes', { skip: lacking('root', 'csi-sanity') }, async (t) => {
    const root = await project(t, sdk.href);
    const driver = await startDriver(t, root);
    const [commands = ''] = commandsOf('5.');
    const suite = commands.split('\n').find((line) => line.startsWith('csi-sanity ')) ?? '';
    assert.ok(suite.includes(PAGE_DIRECTORY));
    const program = programPath('csi-sanity') ?? peerPath('csi-sanity');
    const places = `--csi.mountdir=${root}/m --csi.stagingdir=${root}/t`;
    const script = `${suite.replaceAll(PAGE_DIRECTORY, root).replace('csi-sanity', program ?? '')} ${places}`;
    const { code, stdout, stderr } = await run('bash', ['-c', script]);
    assert.equal(code, 0, stdout + stderr);
    const [, passed] = /(\d+) Passed/.exec(stripVTControlCharacters(stdout)) ?? [];
    assert.ok(Number(passed) > 40, stdout);
    await stopDriver(driver);
    assert.deepEqual(mountsBelow(root), []);
  });

  it('[BYO-4] has a test in under 30 lines that passes', { skip }, async (t) => {
    assert.ok((files.get('memory.test.ts')?.split('\n').length ?? 0) <= 30);
    const root = await project(t, sdk.href);
    // Not as a part of this run: it would report to this runner instead of printing.
    const { code, stdout, stderr } = await run(process.execPath, [join(root, 'memory.test.ts')], {
      env: { NODE_TEST_CONTEXT: '' },
    });
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /pass 1$/m);
    assert.deepEqual(mountsBelow(root), []);
  });

  it('ends with its volume mounted by berth up for a pod', { skip }, async (t) => {
    const root = await project(t, sdk.href);
    const driver = await startDriver(t, root);
    const [start = '', ...steps] = commandsOf('6.').map((block) => block.replaceAll(PAGE_DIRECTORY, root));
    const [, args] = /^npx berth up (.*)\n$/.exec(start) ?? [];
    assert.ok(args, `the step begins with something else: ${start}`);
    const up = await startUp(t, join(root, 'd'), args.split(' '));
    const shell = (script: string) =>
      run('bash', ['-c', `set -eo pipefail; npx() { shift; "$NODE" "$BERTH" "$@"; }; ${script}`], {
        env: { NODE: process.execPath, BERTH, KUBECONFIG: up.kubeconfig },
      });
    const { code, stdout, stderr } = await shell(`cd ${root}; ${steps.join('\n')}`);
    assert.equal(code, 0, `${stdout}\n${stderr}\n${up.output().stderr}`);
    for (const call of ['CreateVolume', 'NodeStageVolume', 'NodePublishVolume']) {
      assert.match(stdout, new RegExp(`${call} .*→ OK`));
    }
    assert.match(stdout, /^memory-[\w-]+ +16384 .*\/mount$/m, 'df shows a tmpfs of 16 MiB');
    // Nothing tells when a volume that is not attached has been unstaged.
    while (mountsBelow(root).length > 0) await realClock.sleep(10);
    assert.equal(await up.stop(), 0);
    await stopDriver(driver);
  });
});

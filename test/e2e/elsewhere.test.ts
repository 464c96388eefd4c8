// What docs/macos-and-windows.md and the dev container rely on, as far as Linux can show it.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { standardFlags } from '../../src/cli/command.ts';
import { commands } from '../../src/cli/commands.ts';
import { parseFlags } from '../../src/runtime/flags/parse-flags.ts';
import { lacking } from '../capabilities.ts';
import { run, startUp, temporaryDirectory } from './up-process.ts';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('every berth command line of the guide is accepted, and its files exist', async () => {
  const text = await readFile(at('docs/macos-and-windows.md'), 'utf8');
  const lines = [...text.matchAll(/^(?:.*\bnpx (?:--yes )?berth| {2}berth:\S+) (up [^#\n]*)/gm)].map(
    ([, line = '']) => line,
  );
  assert.equal(lines.length, 3);
  for (const line of lines) {
    const [name = '', ...argv] = line.trim().split(/\s+/);
    const row = commands[name];
    assert(row, line);
    parseFlags({ table: { ...(await row.load()).command.flags, ...standardFlags }, argv });
  }
  for (const [path] of text.matchAll(/(?:examples|test\/e2e)\/[\w.-]+/g)) assert(existsSync(at(path)), path);
});

test('a server for all addresses is used through the loopback address, and the page stays on it', {
  skip: lacking('root', 'kubectl'),
}, async (t) => {
  const [port, pagePort] = [await freePort(), await freePort()];
  const up = await startUp(t, join(await temporaryDirectory(t), 'd'), [
    ...['--host', '0.0.0.0', '--port', String(port), '--dashboard-port', String(pagePort)],
  ]);
  const { code, stdout, stderr } = await run('kubectl', [
    ...['--kubeconfig', up.kubeconfig, '--server', `https://127.0.0.1:${port}`],
    ...['get', 'nodes', '-o', 'name'],
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^node\/node-1$/m);
  while (!up.output().stdout.includes('page ')) await new Promise(setImmediate);
  assert.match(up.output().stdout, new RegExp(`page +http://127\\.0\\.0\\.1:${pagePort}/`));
  const { stdout: listening } = await run('cat', ['/proc/net/tcp', '/proc/net/tcp6']);
  const hex = (value: number) => value.toString(16).toUpperCase().padStart(4, '0');
  const addresses = (of: number) =>
    [...listening.matchAll(new RegExp(`: ([0-9A-F]+):${hex(of)} [0-9A-F]+:0000 0A`, 'g'))].map(
      ([, address]) => address,
    );
  assert.deepEqual(addresses(pagePort), ['0100007F']);
  assert.deepEqual(addresses(port), ['00000000']);
});

test('the dev container forwards the page, keeps the data directory, and finds its kubeconfig', async () => {
  const container = JSON.parse(await readFile(at('.devcontainer/devcontainer.json'), 'utf8'));
  assert(existsSync(at(join('.devcontainer', container.build.dockerfile))));
  const { command } = (await commands.up?.load()) ?? {};
  assert.deepEqual(container.forwardPorts, [command?.flags['dashboard-port'].default]);
  const [mount] = container.mounts;
  const directory = /target=([^,]+)/.exec(mount)?.[1] ?? '';
  assert.match(command?.flags['data-dir'].help ?? '', new RegExp(`default ${directory} for root`));
  assert.equal(container.containerEnv.KUBECONFIG, `${directory}/kubeconfig`);
  assert.equal(container.privileged, true);
});

// A cluster in use is upgraded from an older Berth to this one and back: sidecars, snapshot controller and driver. Each crashes once on
// the way.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../apiserver/server-process.ts';
import { missingPeers } from '../capabilities.ts';
import { temporaryDirectory, undoAfter } from '../e2e/up-process.ts';
import { startKubeApiserver } from './kube-apiserver.ts';
import { followHandles, startLoad } from './move-load.ts';
import { type BerthOf, createMoveWorld, type MoveServer } from './move-world.ts';
import { berth } from './processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** There is no release yet to upgrade from: a commit with everything that the load uses, and another record of its work since. */
const OLDER = 'b82f62b4d1ef33288739234c8996911536826983';
const LIVES = 24;

const SERVERS: Record<string, (directory: string) => Promise<MoveServer>> = {
  'the embedded API server': async (directory) => {
    const { kubeconfig, end } = await startServer({ dir: directory });
    return { kubeconfig, stop: () => end('SIGKILL').then(() => {}) };
  },
  'kube-apiserver': startKubeApiserver,
};

for (const [name, server] of Object.entries(SERVERS)) {
  const skip = name === 'kube-apiserver' && missingPeers('etcd', 'kube-apiserver');
  test(`[DEP-3] a cluster in use is upgraded and downgraded on ${name}, and nothing is lost, doubled or leaked`, {
    skip: skip || withoutOlder(),
    timeout: 580_000,
  }, async (t) => {
    const directory = await temporaryDirectory(t);
    const older = olderTree(directory);
    const world = await createMoveWorld(directory, { startServer: server, firstDriver: older });
    undoAfter(t, () => world.stop());
    await upgradeAndBack(t, world, older);
  });
}

async function upgradeAndBack(
  t: TestContext,
  world: Awaited<ReturnType<typeof createMoveWorld>>,
  older: BerthOf,
): Promise<void> {
  const handles = followHandles(world);
  const before = await world.startStack(older);
  const load = startLoad(world, { lives: LIVES, atOnce: 6 });
  const said = (what: string) => t.diagnostic(`${load.underWay()} lives under way: ${what}`);
  await load.ended(4);
  const leases = await world.leaseNames();

  said('the new ones start as standbys, the older ones are killed, and the driver is exchanged');
  const after = await world.startStack('berth');
  await before.stop('SIGKILL');
  await world.replaceDriver(berth, 'SIGKILL');
  await load.ended(10);

  said('the new ones are told to stop, and the older ones are back, with the driver');
  const back = await world.startStack(older);
  await after.stop('SIGTERM');
  await world.replaceDriver(older, 'SIGTERM');
  await load.ended(16);

  said('the older ones are killed, and the new ones take over');
  await back.stop('SIGKILL');
  await world.startStack('berth');
  await world.replaceDriver(berth, 'SIGTERM');
  await load.all;

  assert.deepEqual(await world.left(), {});
  assert.equal(handles.size, 2 * LIVES);
  assert.deepEqual([...new Set([...handles.values()].map(({ size }) => size))], [1]);
  assert.deepEqual(await world.leaseNames(), leases);
}

function withoutOlder(): string | false {
  try {
    execFileSync('git', ['cat-file', '-e', `${OLDER}^{tree}`], { cwd: ROOT, stdio: 'ignore' });
    return false;
  } catch {
    return `the history has no commit ${OLDER.slice(0, 10)} to upgrade from`;
  }
}

/** The source tree of then, with the packages of now, which are the same. */
function olderTree(directory: string): BerthOf {
  const tree = join(directory, 'older');
  mkdirSync(tree);
  const files = execFileSync('git', ['archive', OLDER, 'bin', 'src', 'proto', 'deploy', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 1 << 28,
  });
  execFileSync('tar', ['-x', '-C', tree], { input: files });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return (command) => [process.execPath, join(tree, 'bin', 'berth'), ...command.split(' ')];
}

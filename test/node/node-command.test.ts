// `berth node` as people start it: a process, a kubeconfig, a root directory.

import assert from 'node:assert/strict';
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodes } from '../../src/api/kinds.ts';
import { ANN_PUBLISHED_VOLUMES } from '../../src/api/well-known.ts';
import { issueKubeconfig, writeKubeconfig } from '../../src/apiserver/auth/kubeconfig.ts';
import { nodeUser } from '../../src/apiserver/auth/users.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { driverServices } from '../../src/driver/driver-services.ts';
import { createHostpath } from '../../src/driver/hostpath/create-hostpath.ts';
import { NodeWorld } from '../../src/node/testing/node-world.ts';
import { memoryLog } from '../../src/runtime/log/log.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking } from '../capabilities.ts';

const BERTH = new URL('../../bin/berth', import.meta.url).pathname;
const DRIVER = 'hostpath.csi.berth';

async function start(args: string[], options: SpawnOptions = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, [BERTH, 'node', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  assert.equal(String(line), 'ready n1\n');
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
}

test('a stopped node leaves its mounts alone, and goes on with them when it is started again', {
  skip: lacking('root'),
}, async (t) => {
  const server = await testServer(t, { listen: true });
  const directory = await mkdtemp(join(tmpdir(), 'nc-'));
  const world = new NodeWorld(t, server, directory, await openLinuxMounter(), realClock);
  t.after(() => world.end());
  const kubeconfig = join(directory, 'kubeconfig');
  const user = nodeUser('n1');
  await writeKubeconfig(kubeconfig, issueKubeconfig({ server: server.url ?? '', pki: server.pki, user }));
  const log = memoryLog();
  const ports = { clock: realClock, random: realRandom, log, mounter: world.mounter };
  const hostpath = await createHostpath({ ...ports, stateDir: join(directory, 'state') });
  t.after(() => hostpath.close());
  const services = driverServices(hostpath.driver({ node: { nodeId: 'id-1' } }), { log });
  await world.driverObject(DRIVER, { volumeLifecycleModes: ['Ephemeral'] });
  await world.register('n1', { name: DRIVER, services });
  const args = ['--kubeconfig', kubeconfig, '--hostname-override=n1', '--root-dir', world.root('n1')];

  const first = await start(args);
  const pod = await world.untilRunning(await world.pod('p', [{ name: 'scratch', csi: { driver: DRIVER } }]));
  const path = JSON.parse(pod.metadata.annotations?.[ANN_PUBLISHED_VOLUMES] ?? '{}').scratch;
  await stop(first);
  assert.ok(await world.mounter.isMountPoint(path));
  const second = await start(args);
  await world.deletePod(pod);
  await world.untilGone(pod);
  assert.ok(!(await world.mounter.isMountPoint(path)));
  await stop(second);
});

test('without root it runs in a user and mount namespace of its own', {
  skip: lacking('root'),
}, async (t) => {
  const server = await testServer(t, { listen: true });
  const directory = await mkdtemp(join(tmpdir(), 'nu-'));
  const world = new NodeWorld(t, server, directory, await openLinuxMounter(), realClock);
  t.after(() => world.end());
  const kubeconfig = join(directory, 'kubeconfig');
  const user = nodeUser('n1');
  await writeKubeconfig(kubeconfig, issueKubeconfig({ server: server.url ?? '', pki: server.pki, user }));
  const nobody = { uid: 65_534, gid: 65_534 };
  await chmod(directory, 0o755);
  await mkdir(world.root('n1'));
  for (const path of [kubeconfig, world.root('n1')]) await chown(path, nobody.uid, nobody.gid);
  const trial = `test -w ${world.root('n1')} && unshare --user --map-root-user --mount true`;
  if (spawnSync('sh', ['-c', trial], nobody).status !== 0) {
    t.skip('user namespaces are not to be had here, or the temporary directory is closed to others');
    return;
  }
  const args = ['--kubeconfig', kubeconfig, '--hostname-override=n1', '--root-dir', world.root('n1')];
  const child = await start(args, nobody);
  assert.ok(await world.exists(nodes, 'n1'));
  await stop(child);
});

// The node agent killed with -9 at every boundary of its work, again and again, while pods come and go: at the end the
// mount table, the disk and the API agree.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Pod, pods } from '../../src/api/kinds.ts';
import { keyOf } from '../../src/api/object.ts';
import { issueKubeconfig, writeKubeconfig } from '../../src/apiserver/auth/kubeconfig.ts';
import { nodeUser } from '../../src/apiserver/auth/users.ts';
import { testServer } from '../../src/apiserver/testing/test-server.ts';
import { csiClient } from '../../src/csi/client/csi-client.ts';
import { loopbackTransport } from '../../src/csi/client/loopback-transport.ts';
import { Controller } from '../../src/csi/generated/csi/v1/csi_pb.ts';
import { volumeCapability } from '../../src/csi/messages/volume-capability.ts';
import { driverServices } from '../../src/driver/driver-services.ts';
import { createHostpath } from '../../src/driver/hostpath/create-hostpath.ts';
import { NodeWorld } from '../../src/node/testing/node-world.ts';
import { memoryLog } from '../../src/runtime/log/log.ts';
import { openLinuxMounter } from '../../src/runtime/mount/linux-mounter.ts';
import { realRandom } from '../../src/runtime/random.ts';
import { realClock } from '../../src/runtime/time/clock.ts';
import { lacking } from '../capabilities.ts';

const DRIVER = 'hostpath.csi.berth';
const PROGRAM = new URL('./crashing-node.ts', import.meta.url).pathname;
const TESTS = 20;
const ROUNDS = 5;

async function prepare(t: TestContext) {
  const server = await testServer(t, { listen: true });
  const directory = await mkdtemp(join(tmpdir(), 'nr-'));
  const world = new NodeWorld(t, server, directory, await openLinuxMounter(), realClock);
  t.after(() => world.end());
  const kubeconfig = join(directory, 'kubeconfig');
  await writeKubeconfig(
    kubeconfig,
    issueKubeconfig({ server: server.url ?? '', pki: server.pki, user: nodeUser('n1') }),
  );
  const log = memoryLog();
  const hostpath = await createHostpath({
    stateDir: join(directory, 'state'),
    clock: realClock,
    random: realRandom,
    log,
    mounter: world.mounter,
    capabilities: { attach: false },
  });
  t.after(() => hostpath.close());
  const services = driverServices(hostpath.driver({ controller: true, node: { nodeId: 'id-1' } }), {
    log,
    whenBusy: 'wait',
  });
  await world.driverObject(DRIVER, {
    attachRequired: false,
    volumeLifecycleModes: ['Persistent', 'Ephemeral'],
  });
  await world.register('n1', { name: DRIVER, services });
  const controller = csiClient(Controller, loopbackTransport(services, { clock: realClock, log }), {
    timeoutMs: 10_000,
  });
  const makeVolume = async (name: string): Promise<string> => {
    const capability = volumeCapability({ accessModes: ['ReadWriteOnce'], singleNodeMultiWriter: true });
    return (await controller.createVolume({ name, volumeCapabilities: [capability] })).volume?.volumeId ?? '';
  };
  return { world, kubeconfig, makeVolume };
}

function start(kubeconfig: string, root: string, dieBefore: number, after: boolean): ChildProcess {
  return spawn(process.execPath, [PROGRAM, kubeconfig, root, 'n1', String(dieBefore), after ? 'after' : ''], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Together a hundred rounds, each test with kill points of its own. */
for (let part = 0; part < TESTS; part++) {
  test(`[MNT-4] killed with -9 at operation boundaries, ${ROUNDS} rounds (${part + 1} of ${TESTS}): mount table, disk and API agree at the end`, {
    skip: lacking('root'),
  }, async (t) => {
    const { world, kubeconfig, makeVolume } = await prepare(t);
    const root = world.root('n1');
    const made = ['a', 'b'];
    for (const name of made) await world.volume({ name, driver: DRIVER, handle: await makeVolume(name) });
    let previous: Pod[] = [];
    let kills = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const current = await Promise.all(
        made.map((claimName) =>
          world.pod(`p-${round}-${claimName}`, [
            { name: 'data', persistentVolumeClaim: { claimName } },
            { name: 'scratch', csi: { driver: DRIVER } },
          ]),
        ),
      );
      await Promise.all(previous.map((pod) => world.deletePod(pod, round % 2)));
      const node = start(kubeconfig, root, 1 + part + round * 14, part % 2 === 1);
      const signal = await untilKilled(world, node, current);
      assert.equal(signal, 'SIGKILL');
      kills += 1;
      // Those that were never torn down stay for the next round together with the new ones.
      previous = (await world.admin.list(pods, { namespace: 'default' })).items;
    }
    assert.equal(kills, ROUNDS);
    for (const pod of previous) await world.deletePod(pod, 0);
    const last = start(kubeconfig, root, 0, false);
    try {
      await Promise.all(previous.map((pod) => world.until(pods, keyOf(pod), (now) => now === undefined)));
      await world.untilInUse('n1', []);
      await untilEmpty(world, root);
    } finally {
      last.kill('SIGKILL');
      await once(last, 'exit');
    }
  });
}

/** By itself at its boundary; or by us, once it has done all that there is to do. */
async function untilKilled(world: NodeWorld, node: ChildProcess, current: readonly Pod[]): Promise<unknown> {
  const exited = once(node, 'exit');
  while (node.exitCode === null && node.signalCode === null) {
    const { items } = await world.admin.list(pods, { namespace: 'default' });
    const isDone =
      items.length === current.length && items.every(({ status }) => status?.phase === 'Running');
    if (isDone) node.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const [, signal] = await exited;
  return signal;
}

/** No mount below the root, no pod directory, no record. */
async function untilEmpty(world: NodeWorld, root: string): Promise<void> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const mounts = (await world.mounter.list()).filter(({ mountPoint }) => mountPoint.startsWith(`${root}/`));
    const podDirectories = await entriesBelow(join(root, 'pods'));
    const staged = await entriesBelow(join(root, 'plugins/kubernetes.io/csi', DRIVER));
    if (mounts.length + podDirectories.length + staged.length === 0) return;
    if (Date.now() > deadline)
      assert.deepEqual({ mounts, podDirectories, staged }, { mounts: [], podDirectories: [], staged: [] });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What is being removed while it is read counts as there: it is looked at again. */
async function entriesBelow(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return [];
  return readdir(directory, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ['(being removed)'];
    throw error;
  });
}
